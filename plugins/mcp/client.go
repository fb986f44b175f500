package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/core/action"
	"parley/core/text"
	"parley/internal/redact"
	"parley/internal/rest"
	"parley/internal/version"
	"parley/plugins/mcp/oauth"
)

const (
	startLimit  = 30 * time.Second // to connect and to list the tools
	pingLimit   = 10 * time.Second // after a call that took too long
	firstPause  = time.Second      // before a server is started again; it doubles
	longPause   = time.Minute
	settled     = time.Minute // a server that lasted this long begins with the first pause again
	refreshRest = time.Second // between two refreshes

	maxTools     = 128
	maxResources = 200
)

// client keeps one server connected. run is its only goroutine that connects; the other methods are called by turns,
// and are safe for concurrent use.
type client struct {
	cfg Server
	o   Options
	log *slog.Logger
	// secrets are those of the configuration, which the server can repeat.
	secrets redact.Redactor

	tokens *oauth.Tokens // nil without OAuth

	changed chan struct{} // the server has announced other tools
	suspect chan struct{} // a call took too long

	born  time.Time
	tried chan struct{} // closed when the first attempt to connect has ended

	// mu guards the fields below. It is not held during requests to a server.
	mu    sync.Mutex
	state state
	moved chan struct{}      // closed when state is replaced
	calls map[string]running // by their tokens
	shown map[string]string  // their last progress
	count int
	stray string // a line of the standard output that is no message
}

// newClient returns a client that is not connected.
func newClient(s Server, o Options) *client {
	c := &client{
		cfg: s, o: o, log: o.Log.With("mcp", s.Name), secrets: secretsOf(s), changed: make(chan struct{}, 1), suspect: make(chan struct{}, 1),
		calls: map[string]running{}, shown: map[string]string{}, moved: make(chan struct{}),
		born: time.Now(), tried: make(chan struct{}),
		state: state{err: errors.New("it has not been started yet"), since: time.Now()},
	}
	if s.OAuth != nil {
		c.tokens = oauth.NewTokens(*s.OAuth, o.Key, oauth.NewClient(o.Dial), c.log)
	}
	return c
}

// view returns the present state.
func (c *client) view() state {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// setStray notes a line that was skipped.
func (c *client) setStray(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stray = line
}

// set replaces the state, and wakes those that wait in connected. since is kept over failed attempts.
func (c *client) set(s state) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.since = c.state.since; s.session == nil && c.state.session != nil {
		s.since = time.Now()
	}
	c.state = s
	select {
	case <-c.tried:
	default:
		close(c.tried)
	}
	close(c.moved)
	c.moved = make(chan struct{})
}

// available reports whether a turn can use the server.
func (c *client) available(s action.TurnContext) bool {
	return c.cfg.Available == nil || c.cfg.Available(s)
}

// run connects the server again and again, until ctx is done. The pause grows while the server does not last. For one
// that needs a login, an attempt only reads the store.
func (c *client) run(ctx context.Context) {
	said := ""
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, longPause) {
		begun := time.Now()
		err := c.serve(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(begun) > settled {
			pause = firstPause
		}
		c.set(state{err: err})
		// Who has to log in reads that once: it can take days.
		if why := c.redact(err.Error()); why != said || !errors.Is(err, oauth.ErrLogin) {
			c.log.Warn("an MCP server is not connected; trying again", "pause", pause, "err", why)
			said = why
		}
		_ = rest.For(ctx, pause)
	}
}

// serve connects the server, and returns why the connection ended. A server is asked for a sign of life only when a
// call took too long: then it may hang, and would make every later call wait.
func (c *client) serve(ctx context.Context) error {
	session, end, err := c.connect(ctx)
	if err != nil {
		return err
	}
	defer end()
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	if err := c.refresh(ctx, session); err != nil {
		return err
	}
	c.log.Info("an MCP server is connected", "tools", len(c.view().tools))
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-ended:
			return fmt.Errorf("the connection ended: %w", errOr(err, errors.New("the server closed it")))
		case <-c.changed:
			if err := c.refresh(ctx, session); err != nil {
				return err
			}
			select { // a server that announces changes all the time is not asked all the time
			case <-time.After(refreshRest):
			case <-ctx.Done():
			}
		case <-c.suspect:
			if _, err := within(ctx, pingLimit, func(ctx context.Context) (struct{}, error) { return struct{}{}, session.Ping(ctx, nil) }); err != nil {
				return fmt.Errorf("it no longer responds: %w", err)
			}
		}
	}
}

// connect initializes a session. end closes it, and ends the server's process; it must be called once.
func (c *client) connect(ctx context.Context) (session *sdk.ClientSession, end func(), err error) {
	// The library ties the connection to this context, so it must outlast the call of Connect.
	ctx, cancel := context.WithCancel(ctx)
	transport, stop, err := c.transport(ctx)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	session, err = within(ctx, startLimit, func(context.Context) (*sdk.ClientSession, error) { return c.sdk().Connect(ctx, transport, nil) })
	end = func() {
		if session != nil {
			_, _ = within(context.WithoutCancel(ctx), exitGrace, func(context.Context) (struct{}, error) { return struct{}{}, session.Close() })
		}
		cancel()
		stop()
	}
	if err != nil {
		session = nil
		end()
		return nil, nil, fmt.Errorf("it could not be initialized: %w", err)
	}
	return session, end, nil
}

// sdk returns a client that offers servers forms and addresses for their questions to users. It never samples: servers can't use the
// model, which would spend the owner's money on their prompts.
func (c *client) sdk() *sdk.Client {
	return sdk.NewClient(&sdk.Implementation{Name: "parley", Version: version.Release}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{
			Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{},
		}},
		ToolListChangedHandler:      func(context.Context, *sdk.ToolListChangedRequest) { c.signal(c.changed) },
		ResourceListChangedHandler:  func(context.Context, *sdk.ResourceListChangedRequest) { c.signal(c.changed) },
		PromptListChangedHandler:    func(context.Context, *sdk.PromptListChangedRequest) { c.signal(c.changed) },
		ProgressNotificationHandler: c.progress,
		ElicitationHandler:          c.elicit,
	})
}

// signal puts a token into a channel with room for one. It never blocks.
func (*client) signal(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// refresh lists the tools, resources and prompts of the server. A tool whose definition has not changed stays the same
// value, so that an approval of it holds.
func (c *client) refresh(ctx context.Context, session *sdk.ClientSession) error {
	next, err := within(ctx, startLimit, func(ctx context.Context) (state, error) { return c.list(ctx, session) })
	if err != nil {
		return fmt.Errorf("its tools can't be listed: %w", err)
	}
	old := c.view().tools
	for i, t := range next.tools {
		if j := slices.IndexFunc(old, func(o *tool) bool { return o.kind == t.kind && o.name == t.name && o.spec.Label == t.spec.Label }); j >= 0 {
			next.tools[i] = old[j]
		}
	}
	c.report(next)
	c.set(next)
	return nil
}

// redact hides secrets in s, which a server can repeat in its errors, and shortens s for the log.
func (c *client) redact(s string) string { return text.Brief(text.Visible(c.hide(s)), 300) }

// hide replaces the secrets of the configuration, and the tokens of its login. Every message of a server about a
// failure passes through it before users, the model or the log get it.
func (c *client) hide(s string) string {
	if c.tokens != nil {
		s = redact.New(c.tokens.Secrets()...).Clean(s)
	}
	return c.secrets.Clean(s)
}

// serverText returns a server's text about a call, for users and the model.
func (c *client) serverText(words string, limit int) string {
	return text.Brief(text.Clean(c.hide(words)), limit)
}

// state is a snapshot of a server's offers. It is not changed, but replaced, so that a turn that has read it has one
// consistent view.
type state struct {
	session   *sdk.ClientSession // nil while it is not connected
	tools     []*tool
	resources []*sdk.Resource
	prompts   []*sdk.Prompt
	odd       []string  // oddities of its lists
	err       error     // why it is not connected
	since     time.Time // when it was lost, or was to be started for the first time
}

func errOr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

var errSlow = errors.New("it took too long")

// within calls do, and waits no longer than limit: not every call of the library ends with its context. A call that is
// left behind ends with the connection; its result is dropped.
func within[T any](ctx context.Context, limit time.Duration, do func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errSlow)
	defer cancel()
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := do(ctx)
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		if r.err != nil && ctx.Err() != nil {
			r.err = context.Cause(ctx)
		}
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// secretsOf returns the redactor for the secrets of a configuration: the values of the environment and of the
// headers, the client's secret, and the secret parts of the server's address.
func secretsOf(s Server) redact.Redactor {
	values := slices.Concat(slices.Collect(maps.Values(s.Env)), slices.Collect(maps.Values(s.Headers)))
	var secrets []string
	if s.OAuth != nil {
		secrets = append(secrets, s.OAuth.ClientSecret)
	}
	if u, err := url.Parse(s.URL); err == nil {
		secrets = append(secrets, redact.Address(u)...)
	}
	return redact.Settings(values, secrets...)
}
