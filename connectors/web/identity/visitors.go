// Package identity tells who sends a request to the web chat: an anonymous visitor by a token of the gateway, a visitor with an
// account by a JSON Web Token of the site, or a program by an API key. None of them can be the owner.
package identity

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"parley/connectors/web/login"
)

const (
	// VisitorPrefix begins the tokens of anonymous visitors.
	VisitorPrefix = "visitor_"
	// VisitorTime is how long such a token is valid. Clients renew it long before.
	VisitorTime = 180 * 24 * time.Hour

	secretName  = "web/identity secret" // of the stored secret; it must not change
	visitorSize = 16                    // bytes of an id
)

var (
	// ErrUnknown means that a token is not valid, and never will be.
	ErrUnknown = errors.New("the token is not valid")
	// ErrExpired means that a token was valid.
	ErrExpired = errors.New("the token has expired")
)

// Visitors mints and verifies the tokens of anonymous visitors: a random id and the end of its validity, with a MAC. All
// processes with one store accept the same tokens. It is safe for concurrent use.
type Visitors struct {
	Store login.Store

	mu     sync.Mutex
	secret string
}

// Mint returns a token for a visitor; an empty id is a new one. It fails if the secret can't be read from the store.
func (v *Visitors) Mint(ctx context.Context, id string) (token string, ends time.Time, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(id)
	if id == "" || err != nil || len(raw) != visitorSize {
		raw = make([]byte, visitorSize)
		_, _ = rand.Read(raw) // never fails
	}
	ends = time.Now().Add(VisitorTime).Truncate(time.Second)
	body := binary.BigEndian.AppendUint64(raw, uint64(ends.Unix()))
	mac, err := v.MAC(ctx, "visitor", body)
	return VisitorPrefix + base64.RawURLEncoding.EncodeToString(append(body, mac...)), ends, err
}

// Verify returns the id of the visitor with a token, and when the token ends. It fails with [ErrUnknown], with [ErrExpired], or
// if the secret can't be read from the store.
func (v *Visitors) Verify(ctx context.Context, token string) (id string, ends time.Time, err error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(strings.TrimPrefix(token, VisitorPrefix))
	if err != nil || len(raw) != visitorSize+8+sha256.Size {
		return "", ends, ErrUnknown
	}
	body := raw[:visitorSize+8]
	mac, err := v.MAC(ctx, "visitor", body)
	if err != nil {
		return "", ends, err
	}
	ends = time.Unix(int64(binary.BigEndian.Uint64(body[visitorSize:])), 0)
	switch {
	case !hmac.Equal(mac, raw[visitorSize+8:]):
		return "", ends, ErrUnknown
	case !time.Now().Before(ends):
		return "", ends, ErrExpired
	}
	return base64.RawURLEncoding.EncodeToString(raw[:visitorSize]), ends, nil
}

// MAC returns a code for data that only the gateway can make; it differs for each use. It fails like Mint.
func (v *Visitors) MAC(ctx context.Context, use string, data []byte) ([]byte, error) {
	secret, err := v.read(ctx)
	if err != nil {
		return nil, err
	}
	h := hmac.New(sha256.New, []byte(use+" "+secret))
	h.Write(data) // never fails
	return h.Sum(nil), nil
}

// Cipher returns the cipher of tokens for one use, which clients can't read. It fails like Mint.
func (v *Visitors) Cipher(ctx context.Context, use string) (cipher.AEAD, error) {
	key, err := v.MAC(ctx, use, nil)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("make the cipher of tokens: %w", err)
	}
	return cipher.NewGCM(block)
}

// read returns the secret, and makes it once.
func (v *Visitors) read(ctx context.Context) (secret string, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.secret == "" {
		if secret, err = login.Once(ctx, v.Store, secretName, rand.Text()); err != nil {
			return "", fmt.Errorf("read the secret of visitors' tokens: %w", err)
		}
		v.secret = secret
	}
	return v.secret, nil
}
