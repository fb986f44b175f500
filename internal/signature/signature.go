// Package signature signs the requests of the gateway to programs of the owner, so that these can refuse others, and the addresses
// that it gives to them.
package signature

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
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

// Seal returns payload, encrypted and signed with a secret, as a part of an address.
func Seal(secret string, payload []byte) string {
	return base64.RawURLEncoding.EncodeToString(sealer(secret).Seal(nil, nil, payload, nil))
}

// Open returns the payload of [Seal] with the same secret, or false for any other text.
func Open(secret, sealed string) (payload []byte, ok bool) {
	data, err := base64.RawURLEncoding.DecodeString(sealed)
	if err == nil {
		payload, err = sealer(secret).Open(nil, nil, data, nil)
	}
	return payload, err == nil
}

func sealer(secret string) cipher.AEAD {
	key := sha256.Sum256([]byte(secret))
	block, _ := aes.NewCipher(key[:])                // never fails for keys of 32 bytes
	sealer, _ := cipher.NewGCMWithRandomNonce(block) // nor for AES
	return sealer
}
