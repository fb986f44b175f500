package main_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The exit code is that of a health check: 0 only if the gateway can accept messages.
func TestHealth(t *testing.T) {
	full := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		http.Error(rw, "not ready: the disk is full", http.StatusServiceUnavailable)
	}))
	defer full.Close()
	g := start(t, command(t, nil, "--listen", "127.0.0.1:0"))
	address := strings.TrimPrefix(g.url, "http://")
	_, port, _ := net.SplitHostPort(address)
	for name, c := range map[string]struct {
		config string
		args   []string
		code   int
		says   string
	}{
		"ready":                     {"", []string{"--listen", address}, 0, "ready"},
		"listens on all interfaces": {"", []string{"--listen", "0.0.0.0:" + port}, 0, "ready"},
		"of the configuration":      {"web: {listen: " + address + "}\n", nil, 0, "ready"},
		"not ready":                 {"", []string{"--listen", strings.TrimPrefix(full.URL, "http://")}, 1, "not ready: the disk is full"},
		"no gateway":                {"", []string{"--listen", "127.0.0.1:1"}, 1, "no gateway answers at 127.0.0.1:1"},
		"a free port":               {"web: {listen: 127.0.0.1:0}\n", nil, 1, "name it with --listen"},
		"no address":                {"", []string{"--listen", "8080"}, 1, "HOST:PORT"},
	} {
		t.Run(name, func(t *testing.T) {
			check := command(t, []string{"HTTP_PROXY=http://127.0.0.1:1"}, append([]string{"health"}, c.args...)...)
			if c.config != "" {
				configure(t, check, c.config)
			}
			out, err := check.CombinedOutput()
			if code := status(t, err); code != c.code || !strings.Contains(string(out), c.says) {
				t.Errorf("it ended with %d and wrote %s", code, out)
			}
		})
	}
	_ = g.Process.Kill()
	g.wait(t)
}
