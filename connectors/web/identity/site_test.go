package identity

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"parley/internal/require"
)

// sign returns a token of the account ada, with the id of a key.
func sign(t *testing.T, method jwt.SigningMethod, key any, id string, critical ...string) string {
	t.Helper()
	token := jwt.NewWithClaims(method, jwt.MapClaims{"sub": "ada", "aud": "shop", "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()})
	token.Header["kid"] = id
	if len(critical) > 0 {
		token.Header["crit"] = critical
	}
	text := require.Value(token.SignedString(key))(t)
	return text
}

// A public key verifies what its private key has signed, and no token that uses the public key as a secret.
func TestPublicKeys(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	written := base64.StdEncoding.EncodeToString(public)
	site := require.Value(NewSite(SiteConfig{PublicKey: written, Audience: "shop"}))(t)
	if is, err := site.Verify(t.Context(), sign(t, jwt.SigningMethodEdDSA, private, "")); err != nil || is.Subject != "ada" {
		t.Errorf("%+v, %v", is, err)
	}
	if _, err := site.Verify(t.Context(), sign(t, jwt.SigningMethodEdDSA, private, "", "b64")); !errors.Is(err, ErrUnknown) {
		t.Errorf("a token with an unknown extension is accepted: %v", err)
	}
	for _, secret := range [][]byte{public, []byte(written)} {
		if _, err := site.Verify(t.Context(), sign(t, jwt.SigningMethodHS256, secret, "")); !errors.Is(err, ErrUnknown) {
			t.Errorf("the public key signs: %v", err)
		}
	}
	if _, err := NewSite(SiteConfig{PublicKey: "AAAA"}); err == nil {
		t.Error("a short key is accepted")
	}
}

func rsaKey(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key := require.Value(rsa.GenerateKey(rand.Reader, 2048))(t)
	return key
}

// A key of a set is found by its id. A new one is found later, but the set is not read for each unknown id. A removed one is refused
// ten minutes after the set was read. Known keys work while the set can't be read, which is tried every half minute.
func TestKeySets(t *testing.T) {
	keys := map[string]*ecdsa.PrivateKey{}
	for _, id := range []string{"a", "b"} {
		key := require.Value(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
		keys[id] = key
	}
	shown, reads, away := []string{"a"}, 0, false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if reads++; away {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		var set struct {
			Keys []map[string]string `json:"keys"`
		}
		for _, id := range shown {
			raw, _ := keys[id].PublicKey.Bytes()
			set.Keys = append(set.Keys, map[string]string{"kid": id, "kty": "EC", "crv": "P-256",
				"x": base64.RawURLEncoding.EncodeToString(raw[1:33]), "y": base64.RawURLEncoding.EncodeToString(raw[33:])})
		}
		_ = json.NewEncoder(w).Encode(set)
	}))
	defer server.Close()
	site := require.Value(NewSite(SiteConfig{JWKS: server.URL, Audience: "shop"}))(t)
	verify := func(what, id string, want error, readsNow int) {
		t.Helper()
		if _, err := site.Verify(t.Context(), sign(t, jwt.SigningMethodES256, keys[id], id)); !errors.Is(err, want) || reads != readsNow {
			t.Errorf("%s: %v after %d reads; want %v after %d", what, err, reads, want, readsNow)
		}
	}
	verify("the first", "a", nil, 1)
	raw, _ := keys["a"].PublicKey.Bytes()
	for _, secret := range [][]byte{raw, raw[1:]} {
		if _, err := site.Verify(t.Context(), sign(t, jwt.SigningMethodHS256, secret, "a")); !errors.Is(err, ErrUnknown) {
			t.Errorf("a key of the set is accepted as a secret: %v", err)
		}
	}
	for _, other := range []struct {
		method jwt.SigningMethod
		key    any
	}{{jwt.SigningMethodEdDSA, ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))}, {jwt.SigningMethodRS256, rsaKey(t)}} {
		if _, err := site.Verify(t.Context(), sign(t, other.method, other.key, "a")); !errors.Is(err, ErrUnknown) {
			t.Errorf("%s is accepted for a key of ES256: %v", other.method.Alg(), err)
		}
	}
	verify("a new one at once", "b", ErrUnknown, 1)
	shown = []string{"a", "b"}
	pass := func(d time.Duration) { site.read, site.tried = site.read.Add(-d), site.tried.Add(-d) }
	pass(jwksPause)
	verify("a new one later", "b", nil, 2)
	away = true
	pass(jwksFresh)
	verify("while the set is away", "a", nil, 3)
	verify("at once after that", "a", nil, 3)
	away, shown = false, []string{"b"}
	pass(jwksPause)
	verify("a removed one, with the set back", "a", ErrUnknown, 4)
	shown = []string{"a"}
	pass(jwksFresh - time.Second)
	verify("a removed one before ten minutes", "b", nil, 4)
	pass(time.Second)
	verify("a removed one after ten minutes", "b", ErrUnknown, 5)
}
