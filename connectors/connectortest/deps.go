package connectortest

import (
	"context"
	"log/slog"
	"sync"

	"parley/connectors"
)

// Deps returns what a connector needs: no log, and a state that ends with the process.
func Deps(dial connectors.Dialer) connectors.Deps {
	return connectors.Deps{Log: slog.New(slog.DiscardHandler), Dial: dial, Memo: &Memory{}}
}

// Memory is a [connectors.StateStore] in memory. Its zero value is empty.
type Memory struct{ kept sync.Map }

// Keep implements [connectors.StateStore].
func (m *Memory) Keep(_ context.Context, name, value string) error {
	m.kept.Store(name, value)
	return nil
}

// Kept implements [connectors.StateStore].
func (m *Memory) Kept(_ context.Context, name string) (string, error) {
	value, _ := m.kept.Load(name)
	text, _ := value.(string)
	return text, nil
}
