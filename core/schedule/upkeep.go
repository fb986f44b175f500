package schedule

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"parley/core/chat"
	"parley/core/storage"
)

const (
	expireEvery = 30 * time.Second
	expireSteps = 50 // calls of the store, each time: after a long pause the rest waits, so that messages don't
)

// Retention of unreferenced data.
const (
	keepMarks   = 48 * time.Hour // the ids of accepted messages: platforms redeliver for a day at most
	keepUploads = time.Hour      // files that no message names: a page sends the message right after the upload
	keepRecords = 30             // days
)

// Retention is the number of days that data is kept.
type Retention struct {
	Messages int // and their answers; 0 is until they are deleted
	Files    int // the contents of files, as Messages
	Records  int // of ended runs and approvals, empty rooms and unknown users; 0 is 30
}

// at returns the limits of age at a time. Messages and files expire at midnight, UTC: with them go the summaries of their rooms, which
// would otherwise be made again after each of them.
func (r Retention) at(now time.Time) chat.Expiry {
	days := func(n int) time.Time {
		if n == 0 {
			return time.Time{}
		}
		return now.UTC().Truncate(24*time.Hour).AddDate(0, 0, -n)
	}
	return chat.Expiry{
		Messages: days(r.Messages), Files: days(r.Files), Marks: now.Add(-keepMarks), Uploads: now.Add(-keepUploads),
		Rest: now.AddDate(0, 0, -cmp.Or(r.Records, keepRecords)),
	}
}

// Upkeep deletes expired data from the store every half minute, a bounded part each time, until ctx is done. keep returns the
// current retention. Errors are logged; the next
// time deletes the rest.
func Upkeep(ctx context.Context, store storage.Upkeep, keep func() Retention, log *slog.Logger) {
	tick := time.NewTicker(expireEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			expire(ctx, store, keep(), log)
		case <-ctx.Done():
			return
		}
	}
}

// expire deletes a bounded part of the expired data.
func expire(ctx context.Context, store storage.Upkeep, keep Retention, log *slog.Logger) {
	for range expireSteps {
		more, err := store.Expire(ctx, keep.at(time.Now()))
		if err != nil && ctx.Err() == nil {
			log.Error("can't delete expired data from the store; it will be retried", "err", err)
		}
		if err != nil || !more {
			return
		}
	}
}
