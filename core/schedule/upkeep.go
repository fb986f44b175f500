package schedule

import (
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
	keepRest    = 30 * 24 * time.Hour
)

// Upkeep deletes expired data from the store every half minute, a bounded part each time, until ctx is done. Errors are logged; the next
// time deletes the rest.
func Upkeep(ctx context.Context, store storage.Upkeep, log *slog.Logger) {
	tick := time.NewTicker(expireEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			expire(ctx, store, log)
		case <-ctx.Done():
			return
		}
	}
}

// expire deletes a bounded part of the expired data.
func expire(ctx context.Context, store storage.Upkeep, log *slog.Logger) {
	for range expireSteps {
		now := time.Now()
		more, err := store.Expire(ctx, chat.Expiry{Marks: now.Add(-keepMarks), Uploads: now.Add(-keepUploads), Rest: now.Add(-keepRest)})
		if err != nil && ctx.Err() == nil {
			log.Error("can't delete expired data from the store; it will be retried", "err", err)
		}
		if err != nil || !more {
			return
		}
	}
}
