// Package upkeep removes what has expired from the store, a little at a time.
package upkeep

import (
	"context"
	"log/slog"
	"time"

	"parley/core/chat"
	"parley/core/storage"
)

const (
	every     = 30 * time.Second
	mostSteps = 50 // of the store, each time: after a long pause the rest waits, so that messages don't
)

// How long things are kept that nothing refers to any more.
const (
	keepMarks   = 48 * time.Hour // the ids of accepted messages: platforms redeliver for a day at most
	keepUploads = time.Hour      // files that no message names: a page sends the message right after the upload
	keepRest    = 30 * 24 * time.Hour
)

// Run has the store remove what has expired every half minute, until ctx is done. What an error leaves behind the next time removes.
func Run(ctx context.Context, store storage.Upkeep, log *slog.Logger) {
	tick := time.NewTicker(every)
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

// expire does a bounded part of the work.
func expire(ctx context.Context, store storage.Upkeep, log *slog.Logger) {
	for range mostSteps {
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
