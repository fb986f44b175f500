package openai

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/core/llm"
	"parley/models/modelfake"
	"parley/models/wire"
	"parley/sim"
)

// answering is a handler with one answer to everything.
func answering(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// TestRefusals covers LM-01: each status, with and without a header, is the failure that people and retries need.
func TestRefusals(t *testing.T) {
	said := func(code, message string) string {
		return fmt.Sprintf(`{"error":{"message":%q,"code":%q}}`, message, code)
	}
	type failure struct {
		Kind  llm.FailureKind
		Retry bool
		After time.Duration
		Says  string
	}
	tests := map[string]struct {
		handler http.Handler
		want    failure
	}{
		"wrong key":          {answering(401, said("invalid_api_key", "Incorrect API key")), failure{llm.NoProvider, false, 0, "401 Unauthorized: Incorrect API key (invalid_api_key)"}},
		"forbidden":          {answering(403, ""), failure{llm.NoProvider, false, 0, "403 Forbidden"}},
		"unknown model":      {answering(404, said("model_not_found", "no model x")), failure{llm.NoModel, false, 0, "no model x"}},
		"Ollama's shape":     {answering(404, `{"error":"model 'x' not found"}`), failure{llm.NoModel, false, 0, "model 'x' not found"}},
		"FastAPI's shape":    {answering(404, `{"detail":"Not Found"}`), failure{llm.NoModel, false, 0, "404 Not Found"}},
		"Google's shape":     {answering(400, `[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT"}}]`), failure{llm.NoProvider, false, 0, "API key not valid. (INVALID_ARGUMENT)"}},
		"OpenRouter's shape": {answering(502, `{"error":{"code":502,"message":"Provider returned error","metadata":{"raw":"upstream down"}}}`), failure{llm.ProviderIssue, true, 0, "Provider returned error: upstream down"}},
		"no credit":          {answering(402, ""), failure{llm.InsufficientCredits, false, 0, "402 Payment Required"}},
		"quota":              {playing(modelfake.NoQuota()), failure{llm.InsufficientCredits, false, 0, "insufficient_quota"}},
		"busy":               {playing(modelfake.RateLimit(0)), failure{llm.RateLimited, true, 0, "429"}},
		"busy, seconds":      {playing(modelfake.RateLimit(7 * time.Second)), failure{llm.RateLimited, true, 7 * time.Second, "429"}},
		"busy, milliseconds": {answering(429, "", "Retry-After-Ms", "1500", "Retry-After", "2"), failure{llm.RateLimited, true, 1500 * time.Millisecond, "429"}},
		"timeout":            {answering(408, ""), failure{llm.ProviderIssue, true, 0, "408"}},
		"bad request":        {answering(400, said("context_length_exceeded", "too long")), failure{llm.ConversationTooLong, false, 0, "too long"}},
		"prompt too long":    {answering(400, said("", "This model's maximum context length is 8192 tokens")), failure{llm.ConversationTooLong, false, 0, "8192"}},
		"unknown 4xx":        {answering(422, said("", "unknown field")), failure{llm.ProviderIssue, false, 0, "422"}},
		"a teapot":           {answering(418, ""), failure{llm.ProviderIssue, false, 0, "418"}},
		"the highest 4xx":    {answering(499, ""), failure{llm.ProviderIssue, false, 0, "499"}},
		"its own mistake":    {answering(500, said("invalid_request_error", "no such field")), failure{llm.ProviderIssue, false, 0, "no such field"}},
		"in conflict":        {answering(409, ""), failure{llm.ProviderIssue, true, 0, "409"}},
		"server error":       {answering(500, ""), failure{llm.ProviderIssue, true, 0, "500"}},
		"unavailable":        {answering(503, "", "Retry-After", "3"), failure{llm.ProviderIssue, true, 3 * time.Second, "503"}},
		"overloaded":         {answering(529, ""), failure{llm.ProviderIssue, true, 0, "529"}},
		"proxy page":         {playing(modelfake.BadGateway()), failure{llm.ProviderIssue, true, 0, "502 Bad Gateway: a web page"}},
		"page with a title":  {answering(502, "<html><title>502\n Bad</title>"), failure{llm.ProviderIssue, true, 0, "a web page instead of JSON: 502 Bad"}},
		"page with a 200":    {answering(200, "<html>login</html>", "Content-Type", "text/html"), failure{llm.WrongAddress, false, 0, "a web page"}},
		"labelled a page":    {answering(200, "Welcome", "Content-Type", "text/html"), failure{llm.WrongAddress, false, 0, "Welcome"}},
		"error with a 200":   {answering(200, said("insufficient_quota", "empty"), "Content-Type", "application/json"), failure{llm.InsufficientCredits, false, 0, "empty"}},
		"no stream":          {answering(200, `{"choices":[]}`, "Content-Type", "application/json"), failure{llm.ProviderIssue, true, 0, "instead of a stream"}},
		"page for a path":    {answering(404, "<html><title>Not Found</title>"), failure{llm.WrongAddress, false, 0, "404 Not Found: a web page"}},
		"TLS is wanted":      {answering(400, "Client sent an HTTP request to an HTTPS server.\n"), failure{llm.WrongAddress, false, 0, "400"}},
		"no such model, 400": {answering(400, said("", "Model Not Exist")), failure{llm.NoModel, false, 0, "Model Not Exist"}},
		"moved":              {answering(301, "", "Location", "https://elsewhere.test/"), failure{llm.WrongAddress, false, 0, "301 Moved Permanently: the address has moved"}},
		"in the stream":      {playing(modelfake.Text("x"), modelfake.ErrorEvent("rate_limit_exceeded", "slow down")), failure{llm.RateLimited, true, 0, "within the stream: slow down (rate_limit_exceeded)"}},
		"status in a stream": {playing(modelfake.Raw(`{"error":{"code":503,"message":"down"},"choices":[]}`)), failure{llm.ProviderIssue, true, 0, "503 Service Unavailable: down"}},
		"error event":        {answering(200, "event: error\ndata: {\"message\":\"gone\",\"type\":\"overloaded_error\"}\n\n"), failure{llm.ProviderIssue, true, 0, "gone (overloaded_error)"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := collect(t.Context(), over(t, test.handler), hello)
			f, ok := errors.AsType[*llm.Failure](err)
			if !ok {
				t.Fatalf("error %v", err)
			}
			if !strings.Contains(f.Err.Error(), test.want.Says) {
				t.Errorf("says %q, want %q", f.Err, test.want.Says)
			}
			if diff := cmp.Diff(test.want, failure{f.Kind, f.Retry, f.After, test.want.Says}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestUnreachable: a server of the owner's own is another matter than one of the internet's.
func TestUnreachable(t *testing.T) {
	down := sim.NewNet() // without a server
	tests := map[string]llm.FailureKind{
		"http://127.0.0.1:11434/v1":          llm.LocalInference,
		"http://[::1]:11434/v1":              llm.LocalInference,
		"http://localhost:1234/v1":           llm.LocalInference,
		"http://192.168.1.7:8000/v1":         llm.LocalInference,
		"http://ollama:11434/v1":             llm.LocalInference,
		"http://host.docker.internal:1/v1":   llm.LocalInference,
		"https://api.openai.com/v1":          llm.ProviderIssue,
		"https://bob:sec@8.8.8.8/v1":         llm.ProviderIssue,
		"http://8.8.8.8/v1":                  llm.ProviderIssue,
		"gopher://127.0.0.1/v1":              llm.WrongAddress,
		"http://user:sec#ret@127.0.0.1:1/v1": llm.WrongAddress,
	}
	for base, want := range tests {
		_, err := collect(t.Context(), New(Options{BaseURL: base, Model: "m", Dial: down.Dial}), hello)
		f, ok := errors.AsType[*llm.Failure](err)
		if !ok || f.Kind != want || f.Retry != (want == llm.ProviderIssue) {
			t.Errorf("%s: %v", base, err)
		}
		if strings.Contains(err.Error(), "sec") || strings.Contains(err.Error(), "bob") {
			t.Errorf("%s is quoted: %v", base, err)
		}
	}
}

// TestFilterIsAnEnd covers LM-07: a request that the provider's filter refuses is an answer's end, which no retry mends.
func TestFilterIsAnEnd(t *testing.T) {
	m := over(t, answering(400, `{"error":{"code":"content_filter","message":"policy"}}`))
	got, err := collect(t.Context(), m, hello)
	if diff := cmp.Diff([]llm.Chunk{{Finish: llm.FinishFilter}}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// TestNoSecrets covers SE-02: whatever a server quotes and whatever breaks, no error holds the key, half of it, its
// base64 or the address's user info.
func TestNoSecrets(t *testing.T) {
	const user, password = "some-account-name", "pass word+of/the proxy"
	coded := base64.StdEncoding.EncodeToString
	secrets := []string{
		testKey, testKey[:len(testKey)/2], testKey[len(testKey)/2:],
		coded([]byte(testKey)), coded([]byte(testKey))[8:40], coded([]byte("Bearer " + testKey))[12:40],
		user, password, "pass%20word", coded([]byte(user + ":" + password))[8:30],
	}
	quote := strings.Join(secrets, " | ") + " " + coded([]byte(user+":"+password))
	quoted := fmt.Sprintf(`{"error":{"message":%q,"code":%q,"type":%q}}`, quote, quote, quote)
	handlers := map[string]http.Handler{
		"401":       answering(401, quoted),
		"429":       answering(429, quoted, "Retry-After", quote),
		"302":       answering(302, quoted, "Location", "https://"+testKey+".test/?key="+testKey),
		"page":      answering(502, "<html><title>"+quote+"</title>"),
		"text":      answering(500, quote),
		"in stream": answering(200, "data: "+quoted+"\n\n"),
		"200 JSON":  answering(200, quoted, "Content-Type", "application/json"),
		"bad event": answering(200, "data: {"+quote+"\n\n"),
		"cut":       playing(modelfake.Open(), modelfake.Cut()),
		"hang up":   http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }),
	}
	withUser := func(o *Options) {
		o.BaseURL = strings.Replace(o.BaseURL, "http://", "http://"+user+":pass%20word+of%2Fthe%20proxy@", 1)
	}
	for name, handler := range handlers {
		t.Run(name, func(t *testing.T) {
			m := over(t, handler, withUser)
			_, generated := collect(t.Context(), m, hello)
			_, listed := m.Models(t.Context())
			_, checked := m.Check(t.Context(), wire.Uses{})
			for _, err := range []error{generated, listed, checked} {
				if err == nil {
					continue // not every fault is one for each call
				}
				for e := err; e != nil; e = errors.Unwrap(e) {
					scan(t, fmt.Sprintf("%v %+v %#v", e, e, e), secrets)
				}
			}
			if generated == nil {
				t.Error("the request succeeded; want an error")
			}
		})
	}
}

func scan(t *testing.T, text string, secrets []string) {
	t.Helper()
	for _, s := range secrets {
		if strings.Contains(text, s) {
			t.Errorf("%q is in %s", s, text)
		}
	}
}
