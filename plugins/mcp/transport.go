package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/plugins/mcp/oauth"
)

const (
	maxMessage = 16 << 20        // bytes of one message of a server
	exitGrace  = 3 * time.Second // that a process has to end after its input was closed
)

// transport returns the connection to the server. stop ends its process or its idle connections.
func (c *client) transport(ctx context.Context) (sdk.Transport, func(), error) {
	if c.cfg.URL != "" {
		t, idle, err := c.remote()
		return t, idle, err
	}
	return c.start(ctx)
}

// start runs the command. Its working folder is empty and its own, unless one is configured.
func (c *client) start(ctx context.Context) (sdk.Transport, func(), error) {
	dir, remove := c.cfg.Dir, func() {}
	if dir == "" {
		made, err := os.MkdirTemp("", "parley-mcp-")
		if err != nil {
			return nil, nil, fmt.Errorf("make a working folder: %w", err)
		}
		dir, remove = made, func() { _ = os.RemoveAll(made) }
	}
	command, err := found(c.cfg.Command, dir)
	if err != nil {
		remove()
		return nil, nil, err
	}
	command = c.cfg.Limits.limited(command)
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Env = dir, c.environment(dir)
	errs := &tail{}
	cmd.Stderr = errs
	ownGroup(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		remove()
		return nil, nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		remove()
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		remove()
		return nil, nil, fmt.Errorf("start %s: %w", c.cfg.Command[0], reason(err))
	}
	// Closing the input asks the program to end. After a while it is killed, together with its child processes.
	stop := func() {
		_ = stdin.Close()
		done := make(chan struct{})
		go func() { defer close(done); _ = cmd.Wait() }()
		select {
		case <-done:
		case <-time.After(exitGrace):
		}
		kill(cmd) // and its child processes
		<-done
		remove()
		if said := errs.String(); said != "" && ctx.Err() == nil {
			c.log.Info("last output of the MCP server", "stderr", c.redact(said))
		}
	}
	out := newMessages(stdout, func(line string) {
		c.setStray(line)
		c.log.Warn("an MCP server writes lines to its standard output that are no messages; they are skipped", "first", c.redact(line))
	})
	return &sdk.IOTransport{Reader: out, Writer: stdin, MaxLineLength: maxMessage}, stop, nil
}

// reason returns why a program can't be started, without its path.
func reason(err error) error {
	if inner := (*exec.Error)(nil); errors.As(err, &inner) {
		return inner.Err
	}
	return err
}

// environment returns all that the program gets of ours: no token of the gateway is in it.
func (c *client) environment(dir string) []string {
	env := []string{"HOME=" + dir}
	for _, name := range []string{"PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "SystemRoot"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	for name, v := range c.cfg.Env {
		env = append(env, name+"="+v)
	}
	return env
}

// tail keeps the last bytes written to it, which explain a crash. It is safe for concurrent use.
type tail struct {
	mu   sync.Mutex
	last []byte
}

const maxTail = 2 << 10

// Write implements [io.Writer].
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, p[max(0, len(p)-maxTail):]...)
	t.last = t.last[max(0, len(t.last)-maxTail):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.last))
}

// remote returns the connection to the URL, which is configured by the owner and so may be an internal address.
func (c *client) remote() (sdk.Transport, func(), error) {
	u, err := url.Parse(c.cfg.URL)
	if err != nil {
		return nil, nil, errors.New("its URL can't be read")
	}
	inner := &http.Transport{
		DialContext: c.o.Dial, MaxResponseHeaderBytes: 64 << 10, TLSHandshakeTimeout: 10 * time.Second, ForceAttemptHTTP2: true,
		DisableCompression: true, // otherwise a small response could grow beyond the limit in memory
	}
	if c.o.Dial == nil {
		inner.Proxy = http.ProxyFromEnvironment
	}
	hc := &http.Client{Transport: &origin{inner: inner, scheme: u.Scheme, host: u.Host, headers: c.cfg.Headers, tokens: c.tokens}}
	t := &sdk.StreamableClientTransport{Endpoint: c.cfg.URL, HTTPClient: hc, MaxEventSize: maxMessage, MaxRetries: 2}
	return t, inner.CloseIdleConnections, nil
}

// origin sends requests to one origin only, redirects included, with the headers of the configuration, which are
// secrets, and limits the responses.
type origin struct {
	inner        http.RoundTripper
	scheme, host string
	headers      map[string]string
	tokens       *oauth.Tokens // nil without OAuth
}

var errElsewhere = errors.New("it redirects to another server")

// RoundTrip implements [http.RoundTripper].
func (o *origin) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != o.scheme || r.URL.Host != o.host {
		return nil, errElsewhere
	}
	r = r.Clone(r.Context())
	for name, value := range o.headers {
		r.Header.Set(name, value)
	}
	if o.tokens != nil {
		return o.authorized(r)
	}
	return o.send(r)
}

// authorized sends a request with a token. If the server rejects it, the request is sent once more with another one. If
// it rejects that as well, the server counts as one that needs a login, for a while.
func (o *origin) authorized(r *http.Request) (*http.Response, error) {
	token, err := o.tokens.Token(r.Context(), "")
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	res, err := o.send(r)
	if err == nil && res.StatusCode != http.StatusUnauthorized {
		o.tokens.Accept(r.Context(), token)
	}
	if err != nil || res.StatusCode != http.StatusUnauthorized || r.Body != nil && r.GetBody == nil {
		return res, err
	}
	_ = res.Body.Close()
	if token, err = o.tokens.Token(r.Context(), token); err != nil {
		return nil, err
	}
	again := r.Clone(r.Context())
	if r.GetBody != nil {
		if again.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
	}
	again.Header.Set("Authorization", "Bearer "+token)
	if res, err = o.send(again); err != nil {
		return nil, err
	}
	if res.StatusCode == http.StatusUnauthorized {
		_ = res.Body.Close()
		return nil, o.tokens.Reject(r.Context(), token)
	}
	o.tokens.Accept(r.Context(), token)
	return res, nil
}

// send sends a request, and limits the response.
func (o *origin) send(r *http.Request) (*http.Response, error) {
	res, err := o.inner.RoundTrip(r)
	// The events of a stream are limited one by one, by the library.
	if err != nil || strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		return res, err
	}
	res.Body = &limited{ReadCloser: res.Body, left: maxMessage}
	return res, nil
}

// limited fails when more is read than allowed.
type limited struct {
	io.ReadCloser
	left int64
}

// Read implements [io.Reader].
func (l *limited) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, fmt.Errorf("the response is larger than %d MiB", maxMessage>>20)
	}
	return n, err
}
