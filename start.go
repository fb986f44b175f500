package parley

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	stores "parley/backends"
	"parley/backends/redis"
	"parley/config"
	programs "parley/core/turn"
	"parley/internal/version"
)

const (
	firstWait = time.Second      // pause before the store is opened again; it doubles each time
	longWait  = 30 * time.Second // longest pause
	sayAgain  = 10 * time.Minute // how often the log repeats that it waits
)

// Start builds a gateway like [New]. If the store can't be opened for a reason that can pass, such as a full disk or a
// database that starts, it retries, logs the reason, and answers 503 on web.listen meanwhile, so that probes and
// clients learn it. It gives up when ctx ends, and with every other error.
func Start(ctx context.Context, cfg config.Config, env Env) (*Gateway, error) {
	env = env.filled()
	g, err := New(cfg, env)
	reason, waits := waitsForStore(err)
	if !waits {
		return g, err
	}
	var told time.Time
	for wait := firstWait; waits; wait = min(2*wait, longWait) {
		if time.Since(told) >= sayAgain {
			told = time.Now()
			env.Log.Error("the store can't be opened; waiting", "reason", reason, "store", cfg.Store, "err", err)
		}
		if err := sayUnready(ctx, cfg, env, reason, wait); err != nil {
			return nil, err
		}
		g, err = New(cfg, env)
		reason, waits = waitsForStore(err)
	}
	if err == nil {
		env.Log.Info("the store is open again")
	}
	return g, err
}

// waitsForStore reports whether err of [New] is one of the store that can pass, with the reason.
func waitsForStore(err error) (reason string, waits bool) {
	var taken *listenError
	if errors.As(err, &taken) { // an error of a listener looks like one of a connection to a database
		return "", false
	}
	return stores.Unavailable(err)
}

// listenError means that an address of the web chat can't be listened on.
type listenError struct {
	address string
	advice  string
	err     error
}

// Error implements error.
func (e *listenError) Error() string {
	return fmt.Sprintf("listen on %s: %v; %s", e.address, e.err, e.advice)
}

// Unwrap returns the cause.
func (e *listenError) Unwrap() error { return e.err }

// listen listens on web.listen. Its error is a [*listenError].
func listen(cfg config.Config, env Env) (net.Listener, error) {
	l, err := env.Listen("tcp", cfg.Web.Listen)
	if err != nil {
		return nil, &listenError{cfg.Web.Listen, "choose another address with --listen or web.listen", err}
	}
	return l, nil
}

// sayUnready answers 503 for the duration of a pause. The listener is closed after it, as New opens the same address.
func sayUnready(ctx context.Context, cfg config.Config, env Env, reason string, wait time.Duration) error {
	l, err := listen(cfg, env)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: unready(reason), ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-time.After(wait):
	}
	closing := server.Close()
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		closing = errors.Join(closing, served)
	}
	if closing != nil {
		env.Log.Warn("can't report on web.listen that the gateway is waiting", "err", closing)
	}
	return err
}

// limitedBy returns a check that explains in plain words the limits of the gateway while Redis is away. It does not make a gateway
// unready: all of them would be, although they accept and answer messages.
func limitedBy(shared *redis.Backend) func() string {
	return func() string {
		if shared.Unreachable() {
			return "Redis can't be reached, so each gateway uses its share of the request budgets, and learns of the others' turns late"
		}
		return ""
	}
}

// unready answers 503 to all requests except liveness probes: restarting the process would not help.
func unready(reason string) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" {
			_, _ = rw.Write([]byte("alive\n"))
			return
		}
		rw.Header().Set("Retry-After", "10")
		http.Error(rw, "not ready: "+reason, http.StatusServiceUnavailable)
	})
}

// readiness returns a check that explains in plain words why the store can't be written. Details stay in the log, as
// /readyz can be public.
func readiness(store stores.Store) func(context.Context) error {
	return func(ctx context.Context) error {
		err := store.Ping(ctx)
		if err == nil {
			return nil
		}
		if reason, ok := stores.Unavailable(err); ok {
			return errors.New(reason)
		}
		return errors.New("the store can't be read")
	}
}

// about returns the data about this gateway for commands such as /model and /status.
func (g *Gateway) about(e *edition) programs.Program {
	a := programs.Program{Version: version.Current().Short(), Models: []programs.Model{{Work: "answers", Name: e.models.name}}}
	cfg, models := e.cfg.Models, e.models.Models
	for _, s := range slotsOf(&cfg, &models) {
		if s.config.Model != "" {
			a.Models = append(a.Models, programs.Model{Work: s.task, Name: s.config.Model})
		}
	}
	a.Health = func(ctx context.Context) []programs.Service {
		all := []programs.Service{{Name: "Store", Err: g.backends.ready(ctx)}}
		if g.backends.shared != nil {
			all = append(all, programs.Service{Name: "Redis", Err: g.backends.shared(ctx)})
		}
		return all
	}
	return a
}
