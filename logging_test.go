package parley

import (
	"context"
	"sync"
	"testing"

	"parley/connectors/connectortest"
)

// firstReads is a store that all gateways have read before one of them writes.
type firstReads struct {
	connectortest.Memory
	readers sync.WaitGroup
}

func (m *firstReads) Kept(ctx context.Context, name string) (string, error) {
	kept, err := m.Memory.Kept(ctx, name)
	if kept == "" {
		m.readers.Done()
		m.readers.Wait()
	}
	return kept, err
}

// Gateways that start at the same moment with a new store hide a conversation behind the same hash.
func TestGatewaysShareTheKeyOfTheLog(t *testing.T) {
	const gateways = 3
	m := &firstReads{}
	m.readers.Add(gateways)
	keys := make([]string, gateways)
	var work sync.WaitGroup
	for i := range gateways {
		work.Go(func() {
			var err error
			if keys[i], err = logKey(t.Context(), m); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	for _, key := range keys {
		if key == "" || key != keys[0] {
			t.Fatalf("the keys are %q", keys)
		}
	}
}
