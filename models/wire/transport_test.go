package wire

import (
	"bytes"
	"io"
	"net/http"
	"parley/internal/require"
	"runtime"
	"strings"
	"testing"
	"weak"
)

// The prompt is not kept while the answer is read, although the transport keeps its request. It is kept while it can be
// sent again, or is still being sent.
func TestRequestIsForgottenOnceAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		sent   bool
		status int
		keeps  bool
	}{
		"an answer":                {true, 200, false},
		"an answer before the end": {false, 200, true},
		"a refusal":                {true, 500, true},
	} {
		t.Run(name, func(t *testing.T) {
			prompt := new([1 << 20]byte)
			kept := weak.Make(prompt)
			req := require.Value(http.NewRequest("POST", "http://127.0.0.1/", bytes.NewReader(prompt[:])))(t)
			prompt = nil
			_, _ = Refuse(req, func(req *http.Request) (*http.Response, error) {
				if c.sent {
					if n, err := io.Copy(io.Discard, req.Body); n != 1<<20 || err != nil {
						t.Errorf("%d bytes are sent: %v", n, err)
					}
				}
				return &http.Response{StatusCode: c.status, Body: io.NopCloser(strings.NewReader("x"))}, nil
			})
			runtime.GC()
			if got := kept.Value() != nil; got != c.keeps {
				t.Errorf("the prompt is kept: %v; want %v", got, c.keeps)
			}
			if again, err := req.GetBody(); (err == nil) != c.keeps || c.keeps && again == nil {
				t.Errorf("it can be sent again: %v", err)
			}
			require.NoError(t, req.Body.Close())
			runtime.KeepAlive(req)
		})
	}
}
