package discord_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"parley/connectors/connectortest"
	"parley/connectors/discord"
	"parley/connectors/discord/discordfake"
	"parley/core/chat"
	"parley/internal/require"
)

// behindProxy is set in the process whose only way to Discord is a proxy.
const behindProxy = "PARLEY_TEST_BEHIND_PROXY"

// The environment's proxy is used for requests and for the gateway. The environment is read once in a process, so that the bot
// runs in one of its own.
func TestProxy(t *testing.T) {
	if os.Getenv(behindProxy) != "" {
		hearThroughProxy(t)
		return
	}
	fake := discordfake.New(discordfake.WithToken(token), discordfake.WithGatewayURL("ws://gateway.discord.invalid"))
	defer fake.Close()
	channel, ann := fake.AddChannel(fake.AddGuild("guild"), "general"), fake.AddUser("ann")
	p := &recordingProxy{to: listen(t, fake.Handler())}
	ctx, cancel := context.WithCancel(t.Context())
	c := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestProxy$", "-test.v")
	c.Env = append(os.Environ(), behindProxy+"=1", "HTTP_PROXY=http://"+listen(t, p), "NO_PROXY=", "REQUEST_METHOD=")
	said := make(chan struct{})
	go func() {
		defer close(said)
		for tick := time.NewTicker(10 * time.Millisecond); fake.Sessions() == 0; <-tick.C {
			if ctx.Err() != nil {
				return
			}
		}
		fake.Say(channel, ann, "through the proxy")
	}()
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
	cancel()
	<-said
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.seen["discord.invalid"] || !p.seen["gateway.discord.invalid:80"] {
		t.Errorf("through the proxy went %v", p.seen)
	}
}

// hearThroughProxy returns once a message has come.
func hearThroughProxy(t *testing.T) {
	bot := discord.New(discord.Config{Token: token, APIURL: "http://discord.invalid"}, connectortest.Deps(nil))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	heard := ""
	err := bot.Run(ctx, func(_ context.Context, in chat.Inbound) (chat.Accepted, error) {
		if m, ok := in.(chat.Message); ok {
			heard = m.Text
			cancel()
		}
		return chat.Accepted{}, nil
	})
	if err != nil || heard != "through the proxy" {
		t.Errorf(`heard %q, %v; want "through the proxy"`, heard, err)
	}
}

// recordingProxy takes everything to one server.
type recordingProxy struct {
	to   string
	mu   sync.Mutex
	seen map[string]bool
}

func (p *recordingProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	if p.seen == nil {
		p.seen = map[string]bool{}
	}
	p.seen[r.Host] = true
	p.mu.Unlock()
	if r.Method == http.MethodConnect {
		p.tunnel(w)
		return
	}
	out := r.Clone(r.Context())
	out.RequestURI, out.URL.Host = "", p.to
	res, err := http.DefaultTransport.RoundTrip(out)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer res.Body.Close()
	for k, v := range res.Header {
		w.Header()[k] = v
	}
	w.WriteHeader(res.StatusCode)
	_, _ = io.Copy(w, res.Body)
}

func (p *recordingProxy) tunnel(w http.ResponseWriter) {
	there, err := net.Dial("tcp", p.to)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer there.Close()
	w.WriteHeader(http.StatusOK)
	here, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer here.Close()
	go func() {
		_, _ = io.Copy(there, io.MultiReader(io.LimitReader(buffered, int64(buffered.Reader.Buffered())), here))
	}()
	_, _ = io.Copy(here, there)
}

// listen serves h until the test ends, and returns where.
func listen(t *testing.T, h http.Handler) string {
	t.Helper()
	l := require.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	server := &http.Server{Handler: h}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return l.Addr().String()
}
