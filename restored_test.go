package parley

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	stores "parley/backends"
	"parley/connectors/connectortest"
	"parley/core/action"
	"parley/core/chat"
	"parley/internal/require"
)

// After a restore, plugins that act by themselves wait for the owner, who is told so once it is possible. Others do not wait.
func TestInitiativeWaitsAfterARestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memo := &connectortest.Memory{}
		require.NoError(t, memo.Keep(t.Context(), stores.RestoredNote, "2026-11-26T00:00:00Z"))
		var keys, begun []string
		var mu sync.Mutex // guards these
		fails := true
		hold := restoredHold{memo: memo, log: slog.New(slog.DiscardHandler), tell: func(_ context.Context, key, text string) error {
			mu.Lock()
			defer mu.Unlock()
			if fails {
				return chat.ErrTimeout
			}
			keys = append(keys, key)
			if !strings.Contains(text, "gateway restore --confirm") {
				t.Errorf(`the owner reads %q; want it to contain "gateway restore --confirm"`, text)
			}
			return nil
		}}
		work := func(name string) func(context.Context) {
			return func(context.Context) {
				mu.Lock()
				defer mu.Unlock()
				begun = append(begun, name)
			}
		}
		plugins := hold.wrap([]action.Plugin{{Name: "tasks", Initiative: true, Work: work("tasks")}, {Name: "recall", Work: work("recall")}, {Name: "none", Initiative: true}})
		go plugins[0].Work(t.Context())
		plugins[1].Work(t.Context())
		time.Sleep(time.Minute)
		mu.Lock()
		fails = false
		mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(begun) != 1 || begun[0] != "recall" || len(keys) != 1 {
			t.Errorf("begun are %v, told was %v", begun, keys)
		}
		require.NoError(t, memo.Keep(t.Context(), stores.RestoredNote, ""))
		time.Sleep(confirmEvery)
		synctest.Wait()
		if len(begun) != 2 {
			t.Errorf("begun are %v after the confirmation; want 2", begun)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, memo.Keep(t.Context(), stores.RestoredNote, "again"))
		plugins[0].Work(ended)
		if len(begun) != 2 {
			t.Errorf("begun are %v after the end; want 2", begun)
		}
	})
}
