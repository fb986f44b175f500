package modelfake_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"parley/internal/require"
	"parley/models/modelfake"
	"parley/sim"
)

const (
	ask       = `{"model":"m","messages":[{"role":"user","content":"hi there"}]}`
	askStream = `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi there"}]}`
	askUsage  = `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi there"}]}`
)

// endpoint is where a server can be reached.
type endpoint struct {
	*modelfake.Server
	stop   func()
	client *http.Client
	base   string
}

// inBubble runs test against a server on a network in memory, where time is the bubble's.
func inBubble(t *testing.T, o modelfake.Options, test func(*testing.T, endpoint)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n, srv := sim.NewNet(), modelfake.New(o)
		l := require.Value(n.Listen("tcp", "model.test:80"))(t)
		stop := srv.Serve(l)
		transport := &http.Transport{DialContext: n.Dial}
		t.Cleanup(func() {
			transport.CloseIdleConnections()
			stop()
		})
		test(t, endpoint{srv, stop, &http.Client{Transport: transport}, "http://model.test"})
	})
}

// onLoopback gives a server on a real socket.
func onLoopback(t *testing.T, o modelfake.Options) endpoint {
	t.Helper()
	srv := modelfake.New(o)
	web := httptest.NewServer(srv)
	t.Cleanup(web.Close)
	return endpoint{srv, web.Close, web.Client(), web.URL}
}

func (s endpoint) post(ctx context.Context, t *testing.T, body string) (*http.Response, error) {
	t.Helper()
	req := require.Value(http.NewRequestWithContext(ctx, http.MethodPost, s.base+"/v1/chat/completions", strings.NewReader(body)))(t)
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(req)
	if err == nil {
		t.Cleanup(func() { resp.Body.Close() })
	}
	return resp, err
}

// say gives the status and the body of the answer, and what broke it off.
func (s endpoint) say(t *testing.T, body string) (*http.Response, string, error) {
	t.Helper()
	resp, err := s.post(t.Context(), t, body)
	if err != nil {
		return nil, "", err
	}
	got, err := io.ReadAll(resp.Body)
	return resp, string(got), err
}

// events gives the data events and the number of comments of a stream.
func events(body string) (data []string, comments int) {
	lines := bufio.NewScanner(strings.NewReader(body))
	for lines.Scan() {
		if payload, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			data = append(data, payload)
		} else if strings.HasPrefix(lines.Text(), ":") {
			comments++
		}
	}
	return data, comments
}
