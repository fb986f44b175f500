// Package signature signs the requests of the gateway to programs of the owner, so that these can refuse others.
package signature

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"time"
)

// The headers of a signed request: the time in Unix seconds, and "v1=" with the signature.
const (
	timestampHeader = "Parley-Timestamp"
	signatureHeader = "Parley-Signature"
)

// Add signs a request with body. The signature covers the time, so that a recorded request can be refused later. Without a
// secret it does nothing.
func Add(h http.Header, secret string, body []byte) {
	if secret == "" {
		return
	}
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	h.Set(timestampHeader, stamp)
	h.Set(signatureHeader, "v1="+Sign(secret, stamp, body))
}

// Sign returns the signature of a body: the HMAC-SHA256 of the timestamp, a dot and the body, in hexadecimal.
func Sign(secret, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = mac.Write([]byte(timestamp + "."))
	_, _ = mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}
