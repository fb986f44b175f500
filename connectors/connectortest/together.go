package connectortest

import (
	"context"
	"sync"
)

// FirstReads is a [Memory] whose readers find nothing until all of them have read, so that they then write at the same
// moment. Readers is set to their number before use.
type FirstReads struct {
	Memory
	Readers sync.WaitGroup
}

// Kept implements [parley/connectors.StateStore].
func (m *FirstReads) Kept(ctx context.Context, name string) (string, error) {
	kept, err := m.Memory.Kept(ctx, name)
	if kept == "" {
		m.Readers.Done()
		m.Readers.Wait()
	}
	return kept, err
}
