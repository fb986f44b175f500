package player

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"parley/internal/require"
	"slices"
	"sync"
	"testing"
)

// behindProxy is set in the process whose only way out is a proxy.
const behindProxy = "PARLEY_TEST_BEHIND_PROXY"

// The environment's proxy is used, but not where the embedding program opens connections. The environment is read once in a process,
// so that the player runs in one of its own.
func TestProxy(t *testing.T) {
	if os.Getenv(behindProxy) != "" {
		askThroughProxy(t)
		return
	}
	var mu sync.Mutex
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.Host)
	}))
	defer proxy.Close()
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProxy$", "-test.v")
	c.Env = append(os.Environ(), behindProxy+"=1", "HTTP_PROXY="+proxy.URL, "NO_PROXY=", "REQUEST_METHOD=")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(asked, []string{"music.invalid"}) {
		t.Errorf("through the proxy went %q", asked)
	}
}

func askThroughProxy(t *testing.T) {
	p := require.Value(New(Options{URLs: []string{"http://music.invalid/so_what.mp3"}}))(t)
	if err := p.Actions[0].(*player).ask(t.Context(), &url.URL{Scheme: "http", Host: "music.invalid", Path: "/so_what.mp3"}); err != nil {
		t.Error(err)
	}
	s := serve(t, func(http.ResponseWriter, *http.Request) {})
	if err := s.player(t).ask(t.Context(), &url.URL{Scheme: "http", Host: "music.test", Path: "/so_what.mp3"}); err != nil {
		t.Error(err)
	}
	if len(s.tries) != 1 {
		t.Errorf("the server was asked %d times directly; want 1", len(s.tries))
	}
}
