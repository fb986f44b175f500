package web

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
)

// siteverify is Turnstile's and hCaptcha's end of the wire. Each good proof counts once.
type siteverify struct {
	asked []string // the addresses
	used  map[string]bool
}

func (s *siteverify) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked = append(s.asked, r.URL.String())
	_ = r.ParseForm()
	proof, reply := r.PostForm.Get("response"), `{"success":false,"error-codes":["invalid-input-response"]}`
	switch {
	case r.PostForm.Get("secret") != "secret":
		reply = `{"success":false,"error-codes":["invalid-input-secret"]}`
	case proof == "hangs":
		<-r.Context().Done()
		return nil, r.Context().Err()
	case proof == "html":
		reply = "<html>"
	case proof == "endless":
		reply = `{"success":` + strings.Repeat(" ", 1<<20) + `true}`
	case proof == "good" && s.used[proof]:
		reply = `{"success":false,"error-codes":["timeout-or-duplicate"]}`
	case proof == "good":
		s.used[proof], reply = true, `{"success":true,"hostname":"shop.example"}`
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(reply)), Request: r}, nil
}

// New anonymous visitors prove once to be people. Wrong, used and missing proofs are refused, and so is everything while the service does
// not answer. Accounts, renewals and known visitors need none.
func TestVerify(t *testing.T) {
	for key, service := range map[string]string{"0x4AAA": turnstileURL, "10000000-ffff-ffff-ffff-000000000001": hcaptchaURL} {
		fake := &siteverify{used: map[string]bool{}}
		s := newSite(t, func(o *Options) { o.Verify = Verify{key, "secret", &http.Client{Transport: fake}} })
		token := ""
		for _, c := range []struct {
			body   string
			status int
			code   string
		}{
			{"", http.StatusForbidden, codeUnproven},
			{"{}", http.StatusForbidden, codeUnproven},
			{`{"proof":"bad"}`, http.StatusForbidden, codeUnproven},
			{`{"proof":"` + strings.Repeat("x", maxProof+1) + `"}`, http.StatusForbidden, codeUnproven},
			{`[1]`, http.StatusBadRequest, "BAD_REQUEST"},
			{`{"proof":"html"}`, http.StatusServiceUnavailable, "UNAVAILABLE"},
			{`{"proof":"endless"}`, http.StatusServiceUnavailable, "UNAVAILABLE"},
			{`{"proof":"good"}`, http.StatusCreated, ""},
			{`{"proof":"good"}`, http.StatusForbidden, codeUnproven},
		} {
			status, reply := s.ask(http.MethodPost, "/api/visitors", "", c.body)
			if code, _ := reply["code"].(string); status != c.status || code != c.code {
				t.Errorf("%.40q: %d %v", c.body, status, reply)
			}
			if status == http.StatusCreated {
				token = reply["visitor"].(map[string]any)["token"].(string)
			}
		}
		if len(fake.asked) != 5 || fake.asked[0] != service {
			t.Errorf("asked %q", fake.asked)
		}
		for _, c := range []struct {
			method, path, token string
			status              int
		}{
			{http.MethodPost, "/api/visitors", token, http.StatusCreated}, // a renewal
			{http.MethodPost, "/api/conversations", token, http.StatusCreated},
			{http.MethodPost, "/api/conversations", "", http.StatusUnauthorized},
			{http.MethodPost, "/v1/chat/completions", "", http.StatusUnauthorized},
			{http.MethodPost, "/api/contact", "", http.StatusUnauthorized},
			{http.MethodPost, "/api/conversations", account(t, "ada", nil), http.StatusCreated},
		} {
			if status, reply := s.ask(c.method, c.path, c.token, ""); status != c.status {
				t.Errorf("%s %s with %.20q: %d %v", c.method, c.path, c.token, status, reply)
			}
		}
		page := httptest.NewRecorder()
		s.api.ServeHTTP(page, httptest.NewRequest(http.MethodGet, "https://shop.example/", http.NoBody))
		_, origins := s.web.opts.Verify.service()
		if policy := page.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "script-src 'self' "+origins+";") || !strings.Contains(policy, "frame-src "+origins+";") {
			t.Errorf("the policy is %q", policy)
		}
		script := httptest.NewRecorder()
		s.api.ServeHTTP(script, httptest.NewRequest(http.MethodGet, "https://shop.example/words.json?en", http.NoBody))
		if text := script.Body.String(); !strings.Contains(text, `"verify":"`+key+`"`) || strings.Contains(text, `"secret"`) {
			t.Errorf("words.json ends with %q", text[max(0, len(text)-200):])
		}
	}
}

// A service that does not answer, or that does not know the secret, is an error, and the log does not name the secret or the proof.
func TestVerifyFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := &http.Client{Transport: &siteverify{used: map[string]bool{}}}
		for proof, v := range map[string]Verify{"hangs": {"0x4AAA", "secret", fake}, "good": {"0x4AAA", "hush", fake}} {
			is, err := v.proven(context.Background(), proof)
			if is || err == nil || strings.Contains(err.Error(), proof) || strings.Contains(err.Error(), "hush") {
				t.Errorf("%s: %v, %v", proof, is, err)
			}
		}
	})
}
