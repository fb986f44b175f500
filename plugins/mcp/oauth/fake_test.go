package oauth_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/internal/require"
	"parley/plugins/mcp/oauth"
	"parley/sim"
)

const (
	shopAt  = "127.0.0.1:81" // the MCP server
	loginAt = "127.0.0.1:82" // its authorization server
	shopURL = "http://" + shopAt + "/mcp"
	issuer  = "http://" + loginAt
	landing = "http://127.0.0.1:83/callback"
)

// server is an authorization server, with the MCP server that trusts it. It enforces what OAuth 2.1 demands of clients.
type server struct {
	*testing.T
	net *sim.Net

	mu       sync.Mutex
	clients  map[string]url.Values // with their redirect URIs
	secrets  map[string]string     // of the clients that were registered by hand
	methods  []string              // how clients prove that they have their secret; nil: not told, which means basic
	stubborn bool                  // the MCP server rejects every token
	requests int                   // to the MCP server
	codes    map[string]grantOf
	refresh  map[string]int    // the generation of each refresh token
	live     int               // the generation that counts
	access   map[string]string // the resource of each access token
	lasts    time.Duration     // an access token
	grants   []url.Values      // requests for tokens
	broken   int               // requests for tokens that are yet to fail with 503
	noPKCE   bool
	elsewhen map[string]string // Location of redirects, by path
}

type grantOf struct {
	query url.Values
	until time.Time
}

// newServer starts both.
func newServer(t *testing.T) *server {
	s := &server{T: t, net: sim.NewNet(), clients: map[string]url.Values{}, secrets: map[string]string{}, codes: map[string]grantOf{}, refresh: map[string]int{}, access: map[string]string{}, lasts: time.Hour, elsewhen: map[string]string{}}
	mux := http.NewServeMux()
	tools := tools()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		s.mu.Lock()
		_, valid := s.access[token]
		valid = valid && !s.stubborn
		s.requests++
		s.mu.Unlock()
		if valid {
			tools.ServeHTTP(w, r)
			return
		}
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="http://`+shopAt+`/meta", scope="orders"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	s.json(mux, "/meta", map[string]any{"resource": shopURL, "authorization_servers": []string{issuer}})
	s.serve(shopAt, mux)
	mux = http.NewServeMux()
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		about := map[string]any{
			"issuer": issuer, "authorization_endpoint": issuer + "/authorize?tenant=1", "token_endpoint": issuer + "/token", "registration_endpoint": issuer + "/register",
			"code_challenge_methods_supported": []string{"S256"}, "scopes_supported": []string{"orders", "offline_access"}, "response_types_supported": []string{"code"},
			"authorization_response_iss_parameter_supported": true,
		}
		if s.methods != nil {
			about["token_endpoint_auth_methods_supported"] = s.methods
		}
		if s.noPKCE {
			about["code_challenge_methods_supported"] = []string{"plain"}
		}
		_ = json.NewEncoder(w).Encode(about)
	})
	mux.HandleFunc("POST /register", s.register)
	mux.HandleFunc("GET /authorize", s.authorize)
	mux.HandleFunc("POST /token", s.token)
	s.serve(loginAt, mux)
	return s
}

func (s *server) json(mux *http.ServeMux, path string, v any) {
	mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	})
}

func (s *server) serve(address string, h http.Handler) {
	l := require.Value(s.net.Listen("tcp", address))(s)
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		to := s.elsewhen[r.URL.Path]
		s.mu.Unlock()
		if to != "" {
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
			return
		}
		h.ServeHTTP(w, r)
	})}
	go func() { _ = web.Serve(l) }()
	s.Cleanup(func() { _ = web.Close() })
}

func (s *server) register(w http.ResponseWriter, r *http.Request) {
	var c struct {
		RedirectURIs []string `json:"redirect_uris"`
	}
	_ = json.NewDecoder(r.Body).Decode(&c)
	s.mu.Lock()
	defer s.mu.Unlock()
	id := "client-" + rand.Text()
	s.clients[id] = url.Values{"redirect": c.RedirectURIs}
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(map[string]any{"client_id": id, "redirect_uris": c.RedirectURIs, "token_endpoint_auth_method": "none"})
}

// authorize logs in at once, as the person with the browser does.
func (s *server) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	s.mu.Lock()
	defer s.mu.Unlock()
	c, known := s.clients[q.Get("client_id")]
	if !known || !slices.Contains(c["redirect"], q.Get("redirect_uri")) || q.Get("tenant") != "1" || q.Get("response_type") != "code" ||
		q.Get("code_challenge_method") != "S256" || q.Get("resource") != shopURL || q.Get("scope") != "orders offline_access" {
		http.Error(w, "no", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	s.codes[code] = grantOf{q, time.Now().Add(time.Minute)}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": q["state"], "iss": {issuer}}.Encode(), http.StatusFound)
}

func (s *server) token(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grants = append(s.grants, r.PostForm)
	if s.broken > 0 {
		s.broken--
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if !s.proven(r) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"error":"invalid_client","error_description":"` + r.PostForm.Encode() + r.Header.Get("Authorization") + `"}`))
		return
	}
	if !s.valid(r.PostForm) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error":"invalid_grant","error_description":"` + r.PostForm.Encode() + `"}`))
		return
	}
	s.live++
	access, refresh := "access-"+rand.Text(), "refresh-"+rand.Text()
	s.access[access], s.refresh[refresh] = r.PostForm.Get("resource"), s.live
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": access, "refresh_token": refresh, "token_type": "bearer", "expires_in": int(s.lasts.Seconds())})
}

// proven reports whether a client that has a secret proves that, in the one way that the server takes, and others don't try.
func (s *server) proven(r *http.Request) bool {
	id, posted := r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	name, secret, basic := r.BasicAuth()
	name, _ = url.QueryUnescape(name)
	secret, _ = url.QueryUnescape(secret)
	want, known := s.secrets[id]
	switch {
	case !known || want == "":
		return !basic && posted == ""
	case slices.Contains(s.methods, "client_secret_post"):
		return !basic && posted == want
	}
	return basic && posted == "" && name == id && secret == want
}

// registered adds a client that was registered by hand, for any port of the redirect.
func (s *server) registered(id, secret string, methods ...string) oauth.Settings {
	s.change(func() {
		s.clients[id], s.secrets[id], s.methods = url.Values{"redirect": {landing}}, secret, methods
		s.elsewhen["/register"] = "http://127.0.0.1:84/register" // which fails the login
	})
	return oauth.Settings{Server: "shop", URL: shopURL, ClientID: id, ClientSecret: secret}
}

// valid reports whether tokens are given. A refresh token that was used before ends the whole login, as it was stolen
// then.
func (s *server) valid(form url.Values) bool {
	if form.Get("resource") != shopURL || s.clients[form.Get("client_id")] == nil {
		return false
	}
	if form.Get("grant_type") == "refresh_token" {
		generation, known := s.refresh[form.Get("refresh_token")]
		if known && generation != s.live {
			s.live += 1000
		}
		return known && generation == s.live
	}
	g, known := s.codes[form.Get("code")]
	delete(s.codes, form.Get("code"))
	sum := sha256.Sum256([]byte(form.Get("code_verifier")))
	return known && time.Now().Before(g.until) && g.query.Get("client_id") == form.Get("client_id") && g.query.Get("redirect_uri") == form.Get("redirect_uri") &&
		base64.RawURLEncoding.EncodeToString(sum[:]) == g.query.Get("code_challenge")
}

// change makes a change to the server.
func (s *server) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *server) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.grants)
}

// visit is a browser that ends at the callback.
func (s *server) visit(ctx context.Context, address string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	res, err := (&http.Transport{DialContext: s.net.Dial, DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	return res.Header.Get("Location"), nil
}
