package oauth

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Key encrypts stored logins. It is not in the store.
type Key struct{ aead cipher.AEAD }

const keySize = 32 // AES-256

// ParseKey reads a key: 32 bytes in base64, as `openssl rand -base64 32` writes them. It fails for anything else.
func ParseKey(written string) (Key, error) {
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(written))
	if err != nil || len(raw) != keySize {
		return Key{}, errors.New("the key is not 32 bytes in base64; openssl rand -base64 32 makes one")
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return Key{}, fmt.Errorf("use the key: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	return Key{aead}, err
}

// login is the result of a login. It is stored encrypted.
type login struct {
	URL, Resource, Issuer, TokenURL, ClientID, ClientSecret, Method string
	Access, Refresh                                                 string
	Expires                                                         time.Time // of the access token; zero: unknown
}

// entry is the stored form of a login.
type entry struct {
	Sealed  string
	Holder  string    `json:",omitempty"` // who renews the token
	Until   time.Time `json:",omitzero"`  // no one else does before then
	Refused bool      `json:",omitempty"` // the authorization server gives no more tokens
	// Rejected is the number of fresh tokens in a row that the MCP server has rejected. No other is requested before
	// Retry.
	Rejected int       `json:",omitempty"`
	Retry    time.Time `json:",omitzero"`
}

// seal encrypts l, bound to its name in the store.
func (k Key) seal(l login, name string) (string, error) {
	plain, err := json.Marshal(l)
	if err != nil {
		return "", err
	}
	nonce := make([]byte, k.aead.NonceSize())
	_, _ = rand.Read(nonce) // it never fails
	return base64.StdEncoding.EncodeToString(k.aead.Seal(nonce, nonce, plain, []byte(name))), nil
}

func (k Key) open(sealed, name string) (l login, err error) {
	data, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil || len(data) < k.aead.NonceSize() {
		return l, errors.New("the stored login is damaged")
	}
	plain, err := k.aead.Open(nil, data[:k.aead.NonceSize()], data[k.aead.NonceSize():], []byte(name))
	if err != nil {
		return l, errors.New("the stored login can't be decrypted with this key")
	}
	return l, json.Unmarshal(plain, &l)
}

// write returns e as it is stored.
func (e entry) write() (string, error) {
	data, err := json.Marshal(e)
	return string(data), err
}
