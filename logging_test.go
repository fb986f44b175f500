package parley

import (
	"sync"
	"testing"

	"parley/connectors/connectortest"
	"parley/connectors/web"
)

// Gateways that start at the same moment with a new store hide a conversation behind the same hash.
func TestGatewaysShareTheKeyOfTheLog(t *testing.T) {
	const gateways = 3
	m := &connectortest.FirstReads{}
	m.Readers.Add(gateways)
	keys := make([]string, gateways)
	var work sync.WaitGroup
	for i := range gateways {
		work.Go(func() {
			var err error
			if keys[i], err = storedKey(t.Context(), m, web.LogKey); err != nil {
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
