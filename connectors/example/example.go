// Package example is the platform that docs/add-a-platform.md adds. It is complete, but its server exists only in tests.
package example

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"parley/connectors"
	"parley/core/chat"
)

// Name identifies this platform in addresses, ids, the configuration and the log.
const Name = "example"

// Example is one bot.
type Example struct {
	*client
	log *slog.Logger
}

var (
	_ connectors.Connector = (*Example)(nil)
	_ connectors.Poster    = (*Example)(nil)
	_ connectors.Checker   = (*Example)(nil)
)

// New returns a bot without making a request.
func New(c Config, d connectors.Deps) *Example {
	return &Example{newClient(c, d), d.Log.With("connector", Name)}
}

// Name implements [connectors.Connector].
func (e *Example) Name() string { return Name }

// Run implements [connectors.Connector].
func (e *Example) Run(ctx context.Context, h connectors.Handler) error {
	defer e.http.CloseIdleConnections()
	accepted := 0
	for ctx.Err() == nil {
		err := e.poll(ctx, &accepted, h)
		switch {
		case err == nil || ctx.Err() != nil:
			continue
		case errors.Is(err, errToken):
			return connectors.Fatal{Err: err}
		}
		e.log.Warn("events can't be read or stored; trying again", "err", err)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
	return nil
}

// poll hands over all events after the last accepted one. The server keeps events that were not accepted, so they are
// delivered again after an error, and after a restart.
func (e *Example) poll(ctx context.Context, accepted *int, h connectors.Handler) error {
	var events []event
	if err := e.do(ctx, "GET", fmt.Sprintf("/events?after=%d", *accepted), nil, &events); err != nil {
		return err
	}
	for _, ev := range events {
		if _, err := h(ctx, ev.message()); err != nil && !errors.Is(err, chat.ErrTooLarge) {
			return fmt.Errorf("hand over event %d: %w", ev.Number, err)
		}
		*accepted = ev.Number
	}
	return nil
}

// Check implements [connectors.Checker].
func (e *Example) Check(ctx context.Context) (found connectors.CheckResult, err error) {
	defer e.http.CloseIdleConnections()
	if err := e.do(ctx, "GET", "/me", nil, &struct{}{}); err != nil {
		return found, err
	}
	return connectors.CheckResult{Text: e.url + " accepts the token"}, nil
}

// Close closes idle connections. Its error is always nil.
func (e *Example) Close() error {
	e.http.CloseIdleConnections()
	return nil
}
