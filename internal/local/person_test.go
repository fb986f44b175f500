package local

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"parley/backends"
	"parley/backends/sqlite/sqlitetest"
	"parley/core/chat"
	"parley/core/quota"
	"parley/internal/require"
)

// meter has usage in memory, as a gateway without limits has for ten seconds.
type meter struct {
	Runtime
	store   Store
	pending []quota.Charge
	err     error
}

func (m *meter) SaveUsage(ctx context.Context) error {
	_, err := m.store.(quota.UsageStore).Spend(ctx, time.Now().UTC().Format(time.DateOnly), m.pending...)
	m.pending = nil
	return errors.Join(err, m.err)
}

// Usage that a gateway has not stored yet is exported, and deleted with the rest: it does not come back when the gateway stores it.
func TestPendingUsageIsExportedAndDeleted(t *testing.T) {
	store := require.Value(backends.Open(t.Context(), "sqlite:"+sqlitetest.Path(t), backends.Options{}))(t)
	defer store.Close()
	sections := func(rt Runtime) (names []string) {
		t.Helper()
		reply := require.Value(personAt(t.Context(), store, rt, personRequest{Account: "telegram:7"}))(t)
		if len(reply.Page.Records) > 0 {
			names = append(names, reply.Page.Section)
		}
		return names
	}
	used := []quota.Charge{{Bucket: "person/telegram/7", Cost: quota.Cost{Tokens: 9}}}
	rt := &meter{store: store, pending: used}
	if got := sections(rt); !slices.Equal(got, []string{"usage"}) {
		t.Errorf("exported is %q", got)
	}
	rt.pending = used
	reply, err := personAt(t.Context(), store, rt, personRequest{Account: "telegram:7", Delete: true})
	if err != nil || reply.Deleted.Deleted["usage"] == 0 {
		t.Errorf("deleted is %+v, %v", reply.Deleted, err)
	}
	if err := rt.SaveUsage(t.Context()); err != nil { // as ten seconds later
		t.Fatal(err)
	}
	if got := sections(nil); len(got) > 0 {
		t.Errorf("after the deletion there is still %q", got)
	}
	rt.err = chat.ErrTimeout
	if _, err := personAt(t.Context(), store, rt, personRequest{Account: "telegram:7", Delete: true}); !errors.Is(err, chat.ErrTimeout) {
		t.Errorf("usage that can't be stored is passed over: %v", err)
	}
}
