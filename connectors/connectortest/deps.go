package connectortest

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"unicode/utf8"

	"parley/connectors"
)

// Deps returns what a connector needs: no log, and a state that ends with the process.
func Deps(dial connectors.Dialer) connectors.Deps {
	return connectors.Deps{Log: slog.New(slog.DiscardHandler), Dial: dial, Memo: &Memory{}}
}

// Memory is a [connectors.SharedState] in memory. Its zero value is empty. Like the stores, it refuses text that is not
// valid UTF-8.
type Memory struct {
	mu   sync.Mutex
	kept map[string]string
	down error
}

// Fail makes all calls fail with err; nil ends that.
func (m *Memory) Fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down = err
}

// Stored returns the stored values by their names.
func (m *Memory) Stored() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.kept)
}

// Keep implements [connectors.StateStore].
func (m *Memory) Keep(_ context.Context, name, value string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.set(name, value)
}

// set stores a value. m.mu is held.
func (m *Memory) set(name, value string) error {
	if m.down != nil {
		return m.down
	} else if !utf8.ValidString(name + value) {
		return fmt.Errorf("save %q: the text is not valid UTF-8", name)
	}
	if m.kept == nil {
		m.kept = map[string]string{}
	}
	m.kept[name] = value
	return nil
}

// Kept implements [connectors.StateStore].
func (m *Memory) Kept(_ context.Context, name string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kept[name], m.down
}

// Swap implements [connectors.SharedState].
func (m *Memory) Swap(_ context.Context, name, old, value string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept[name] != old {
		return false, m.down
	}
	err := m.set(name, value)
	return err == nil, err
}
