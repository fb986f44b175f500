package relay

import (
	"context"
	"encoding/json"
	"fmt"

	"parley/core/answer"
	"parley/core/chat"
)

// Shown is what people see of a run that is parked. It is a part of its continuation, as JSON.
type Shown struct {
	Changes []answer.Change `json:"changes"`
}

// showParked fills the answer of a run that no process holds because it is parked, unless it has changed hands
// meanwhile.
func (l *Registry) showParked(ctx context.Context, run chat.Run, r *liveRun) error {
	data, err := l.store.Continuation(ctx, run.ID)
	if err != nil {
		return chat.Unless(err, chat.ErrNotFound) // it was just woken
	}
	var shown Shown
	if err := json.Unmarshal(data, &shown); err != nil {
		return fmt.Errorf("read what the parked run %s has shown: %w", run.ID, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.held || r.epoch != 0 {
		return nil
	}
	r.epoch = run.Epoch
	for _, c := range shown.Changes {
		r.answer.Apply(c)
	}
	return nil
}
