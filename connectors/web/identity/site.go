package identity

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	// MaxLifetime is how long a token of a site can be valid.
	MaxLifetime = time.Hour

	skew       = time.Minute      // the difference of clocks
	maxSubject = 128              // bytes
	maxJWKS    = 1 << 20          // bytes
	jwksFresh  = 10 * time.Minute // after that, the keys are read again
	jwksPause  = 30 * time.Second // at least, between two attempts
)

// SiteConfig names the key that signs the tokens of a site's accounts: one of Secret, PublicKey and JWKS.
type SiteConfig struct {
	Secret    string // HS256
	PublicKey string // EdDSA: PEM, or 32 bytes in base64
	JWKS      string // the address of a set of keys, of RS256, ES256 or EdDSA
	Audience  string
}

// Account is an account of a site, as a token names it.
type Account struct {
	Subject string
	Name    string // the display name; can be empty
	Ends    time.Time
}

// Site verifies the tokens of a site. The algorithm is that of the key: a token can't choose it. It is safe for concurrent use.
type Site struct {
	config     SiteConfig
	algorithms []string // of the key, or of the keys in the set: each of those has only one
	fixed      any      // the key, unless there is a set of them
	client     *http.Client

	mu    sync.Mutex
	set   map[string]any // keys by their ids
	read  time.Time      // when the set was read
	tried time.Time      // when that was last attempted
}

// NewSite fails if the configured key can't be read. It asks the address of JWKS when it first needs a key.
func NewSite(c SiteConfig) (*Site, error) {
	s := &Site{config: c, algorithms: []string{"RS256", "ES256", "EdDSA"}, client: &http.Client{Timeout: 10 * time.Second}}
	switch {
	case c.Secret != "":
		s.algorithms, s.fixed = []string{"HS256"}, []byte(c.Secret)
	case c.PublicKey != "":
		key, err := publicKey(c.PublicKey)
		if err != nil {
			return nil, err
		}
		s.algorithms, s.fixed = []string{"EdDSA"}, key
	}
	return s, nil
}

// publicKey reads an Ed25519 key.
func publicKey(text string) (ed25519.PublicKey, error) {
	if block, _ := pem.Decode([]byte(text)); block != nil {
		key, err := x509.ParsePKIXPublicKey(block.Bytes)
		if ed, ok := key.(ed25519.PublicKey); ok && err == nil {
			return ed, nil
		}
		return nil, errors.New("read the public key: it is not an Ed25519 key in PEM")
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(raw) != ed25519.PublicKeySize {
		return nil, errors.New("read the public key: it is neither PEM nor 32 bytes in base64")
	}
	return ed25519.PublicKey(raw), nil
}

// claims are the parts of a token that are used.
type claims struct {
	jwt.RegisteredClaims
	Name string `json:"name"`
}

// Verify returns the account of a token. It fails with [ErrExpired], with [ErrUnknown] and the reason, or with another error if
// the keys can't be read.
func (s *Site) Verify(ctx context.Context, token string) (Account, error) {
	var c claims
	var unread error
	parser := jwt.NewParser(jwt.WithValidMethods(s.algorithms), jwt.WithAudience(s.config.Audience),
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(skew))
	_, err := parser.ParseWithClaims(token, &c, func(t *jwt.Token) (any, error) {
		if t.Header["crit"] != nil { // extensions that a reader must know (RFC 7515, section 4.1.11); this one knows none
			return nil, jwt.ErrTokenUnverifiable
		}
		if s.fixed != nil {
			return s.fixed, nil
		}
		id, _ := t.Header["kid"].(string)
		key, err := s.key(ctx, id)
		if !errors.Is(err, ErrUnknown) {
			unread = err
		}
		return key, err
	})
	switch {
	case unread != nil:
		return Account{}, unread
	case errors.Is(err, jwt.ErrTokenExpired):
		return Account{}, ErrExpired
	case err != nil:
		return Account{}, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	begins := time.Now()
	if c.IssuedAt != nil {
		begins = c.IssuedAt.Time
	}
	switch {
	case c.ExpiresAt.Sub(begins) > MaxLifetime+skew:
		return Account{}, fmt.Errorf("%w: it is valid for more than an hour", ErrUnknown)
	case c.Subject == "" || len(c.Subject) > maxSubject:
		return Account{}, fmt.Errorf("%w: its sub has not 1 to %d bytes", ErrUnknown, maxSubject)
	}
	return Account{c.Subject, c.Name, c.ExpiresAt.Add(skew)}, nil
}

// key returns the key of the set with an id, or the only one. A set that lacks it is read again, but not all the time.
func (s *Site) key(ctx context.Context, id string) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, ok := s.find(id)
	age := time.Since(s.read)
	if ok && age < jwksFresh || time.Since(s.tried) < jwksPause {
		if !ok {
			return nil, ErrUnknown
		}
		return key, nil
	}
	s.tried = time.Now()
	set, err := s.fetch(ctx)
	if err != nil {
		if ok { // the known key is used while the set can't be read
			return key, nil
		}
		return nil, err
	}
	s.set, s.read = set, s.tried
	if key, ok = s.find(id); !ok {
		return nil, ErrUnknown
	}
	return key, nil
}

func (s *Site) find(id string) (any, bool) {
	if id == "" && len(s.set) == 1 {
		for _, key := range s.set {
			return key, true
		}
	}
	key, ok := s.set[id]
	return key, ok
}

// jwk is a key of a set.
type jwk struct{ Kid, Kty, Crv, X, Y, N, E string }

// fetch reads the set of keys. Keys of other kinds than the pinned algorithm are left out.
func (s *Site) fetch(ctx context.Context) (map[string]any, error) {
	r, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodGet, s.config.JWKS, nil)
	var resp *http.Response
	if err == nil {
		resp, err = s.client.Do(r)
	}
	if err != nil {
		return nil, fmt.Errorf("read the site's keys: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read the site's keys: status %d", resp.StatusCode)
	}
	var body struct{ Keys []jwk }
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxJWKS)).Decode(&body); err != nil {
		return nil, fmt.Errorf("read the site's keys: %w", err)
	}
	set := map[string]any{}
	for _, k := range body.Keys {
		if key := k.public(); key != nil {
			set[k.Kid] = key
		}
	}
	return set, nil
}

// public returns the key, whose type decides on the algorithm, or nil.
func (k jwk) public() any {
	number := func(text string) []byte {
		raw, _ := base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "=")) // an empty one is no key
		return raw
	}
	switch {
	case k.Kty == "RSA":
		key := &rsa.PublicKey{N: new(big.Int).SetBytes(number(k.N)), E: int(new(big.Int).SetBytes(number(k.E)).Int64())}
		if key.N.BitLen() < 2048 || key.E < 3 {
			return nil
		}
		return key
	case k.Kty == "EC" && k.Crv == "P-256":
		point := append(append([]byte{4}, number(k.X)...), number(k.Y)...)
		key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
		if err != nil {
			return nil
		}
		return key
	case k.Kty == "OKP" && k.Crv == "Ed25519" && len(number(k.X)) == ed25519.PublicKeySize:
		return ed25519.PublicKey(number(k.X))
	}
	return nil
}
