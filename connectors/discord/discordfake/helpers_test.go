package discordfake_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"parley/connectors/discord/discordfake"
	"parley/internal/require"
)

const agent = "DiscordBot (https://example.com/bot, 1.0)"

// answer is a response, read whole.
type answer struct {
	status int
	header http.Header
	text   string
	json   map[string]any
}

func (a answer) code() int {
	n, _ := a.json["code"].(float64)
	return int(n)
}

func (a answer) id() string {
	id, _ := a.json["id"].(string)
	return id
}

func newRequest(t *testing.T, s *discordfake.Server, method, path, body string) *http.Request {
	t.Helper()
	r := require.Value(http.NewRequest(method, "http://discord.test/api/v10"+path, strings.NewReader(body)))(t)
	r.Header.Set("Authorization", "Bot "+s.Token())
	r.Header.Set("User-Agent", agent)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// send calls the handler without a network.
func send(t *testing.T, s *discordfake.Server, method, path, body string) answer {
	t.Helper()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, newRequest(t, s, method, path, body))
	return readAnswer(w.Result())
}

func readAnswer(r *http.Response) answer {
	raw, _ := io.ReadAll(r.Body)
	a := answer{status: r.StatusCode, header: r.Header, text: string(raw)}
	_ = json.Unmarshal(raw, &a.json) // lists and HTML stay text
	return a
}

// post creates a message that is expected to succeed, and returns its id.
func post(t *testing.T, s *discordfake.Server, channel, body string) string {
	t.Helper()
	a := send(t, s, "POST", "/channels/"+channel+"/messages", body)
	if a.status != http.StatusOK {
		t.Fatalf("create %s: %d %s; want %d", body, a.status, a.text, http.StatusOK)
	}
	return a.id()
}

// room is a server with a guild, a channel and a person.
func room(t *testing.T, opts ...discordfake.Option) (s *discordfake.Server, channel, ann string) {
	t.Helper()
	s = discordfake.New(opts...)
	t.Cleanup(s.Close)
	channel = s.AddChannel(s.AddGuild("guild"), "general")
	return s, channel, s.AddUser("ann")
}

// memNet is a listener over in-memory pipes, and the way to dial it.
type memNet struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newMemNet() *memNet { return &memNet{conns: make(chan net.Conn), done: make(chan struct{})} }

func (m *memNet) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.done:
		return nil, net.ErrClosed
	}
}

func (m *memNet) Close() error {
	m.once.Do(func() { close(m.done) })
	return nil
}

func (m *memNet) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

func (m *memNet) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case m.conns <- theirs:
		return ours, nil
	case <-m.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// serve runs s on an in-memory network until the test ends.
func serve(t *testing.T, s *discordfake.Server) *memNet {
	t.Helper()
	mem := newMemNet()
	stopped := make(chan error, 1)
	go func() { stopped <- s.Serve(mem) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-stopped; err != http.ErrServerClosed {
			t.Errorf("Serve: %v; want %v", err, http.ErrServerClosed)
		}
	})
	return mem
}

func httpClient(t *testing.T, mem *memNet) *http.Client {
	t.Helper()
	transport := &http.Transport{DialContext: mem.Dial}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func sendRequest(s *discordfake.Server, r *http.Request) answer {
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return readAnswer(w.Result())
}
