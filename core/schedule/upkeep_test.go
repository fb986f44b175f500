package schedule

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/core/chat"
)

// expiries are the calls of a store, with the time of the first one.
type expiries struct {
	at  time.Time
	all []chat.Expiry
}

func (e *expiries) Expire(_ context.Context, before chat.Expiry) (bool, error) {
	if e.all = append(e.all, before); len(e.all) == 1 {
		e.at = time.Now()
	}
	return false, nil
}

// Messages and files expire at midnight, and only if a retention is set.
func TestRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, keep := range []Retention{{}, {Messages: 90, Files: 7, Records: 5}} {
			ctx, cancel := context.WithCancel(t.Context())
			var store expiries
			go Upkeep(ctx, &store, func() Retention { return keep }, nil)
			time.Sleep(time.Minute)
			cancel()
			synctest.Wait()
			day := store.at.UTC().Truncate(24 * time.Hour)
			want := chat.Expiry{Marks: store.at.Add(-keepMarks), Uploads: store.at.Add(-keepUploads), Rest: store.at.AddDate(0, 0, -30)}
			if keep.Messages > 0 {
				want.Messages, want.Files, want.Rest = day.AddDate(0, 0, -90), day.AddDate(0, 0, -7), store.at.AddDate(0, 0, -5)
			}
			if diff := cmp.Diff(want, store.all[0]); diff != "" {
				t.Errorf("with %+v (-want +got):\n%s", keep, diff)
			}
		}
	})
}
