package core

import (
	"context"
	"time"

	"parley/core/chat"
)

const (
	upkeepEvery = 30 * time.Second
	upkeepSteps = 50             // of the store, at most, each time
	keepMarks   = 48 * time.Hour // platforms redeliver for a day at most
	keepUploads = time.Hour      // a message names them soon
	keepRest    = 30 * 24 * time.Hour
)

// upkeep has the store remove what has expired, until ctx is done.
func (rt *Runtime) upkeep(ctx context.Context) {
	tick := time.NewTicker(upkeepEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			rt.expire(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// expire does a bounded part of the work. What is left, also by an error, the next one does.
func (rt *Runtime) expire(ctx context.Context) {
	for range upkeepSteps {
		now := time.Now()
		more, err := rt.stores.upkeep.Expire(ctx, chat.Expiry{Marks: now.Add(-keepMarks), Uploads: now.Add(-keepUploads), Rest: now.Add(-keepRest)})
		if err != nil && ctx.Err() == nil {
			rt.cfg.Log.Error("can't delete expired data from the store; it will be retried", "err", err)
		}
		if err != nil || !more {
			return
		}
	}
}
