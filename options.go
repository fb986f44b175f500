package parley

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net"

	"parley/backends/sqlite"
	"parley/connectors"
	"parley/core"
	"parley/core/event"
)

// Env is the world outside: every socket comes through it, so that a whole gateway can run in memory. Nil functions
// mean the real thing; without Dial the environment's proxy counts.
type Env struct {
	Listen func(network, address string) (net.Listener, error)
	Dial   connectors.Dialer
	Rand   *rand.Rand // jitter
	Log    *slog.Logger
	// PDF takes the text out of what other people sent; nil leaves PDFs unread.
	PDF       func(ctx context.Context, document []byte) (string, error)
	Observers []event.Observer // hear what happens, beside those of plugins: for metrics
	// Wrap stands between the runtime and its store; tests let processes die there.
	Wrap func(core.Store) core.Store
	// OpenStore opens the store; tests let it fail. Nil is sqlite.Open.
	OpenStore func(ctx context.Context, path string, o sqlite.Options) (*sqlite.Store, error)
}

func (e Env) filled() Env {
	if e.Listen == nil {
		e.Listen = net.Listen
	}
	if e.Log == nil {
		e.Log = slog.New(slog.DiscardHandler)
	}
	if e.Wrap == nil {
		e.Wrap = func(s core.Store) core.Store { return s }
	}
	if e.OpenStore == nil {
		e.OpenStore = sqlite.Open
	}
	return e
}
