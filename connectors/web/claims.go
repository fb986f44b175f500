package web

import (
	"context"
	"fmt"
	"sync"
	"time"

	"parley/connectors"
	"parley/connectors/web/login"
)

const (
	// claimTime is how long conversations that were opened without a token can be read with their ids alone.
	claimTime = 30 * 24 * time.Hour
	// sinceName is the key of the stored time when visitors were first identified. It must not change.
	sinceName = Name + "/identity since"
)

// claims is the end of the time when ids alone open conversations: browsers that stored one become its reader until then. It is
// safe for concurrent use.
type claims struct {
	memo  connectors.SharedState
	until time.Time // as configured; zero: [claimTime] after the first start

	mu    sync.Mutex
	found time.Time
}

// end returns the time. It stores when it was first asked, for all processes. It fails if the store does.
func (c *claims) end(ctx context.Context) (time.Time, error) {
	if !c.until.IsZero() {
		return c.until, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.found.IsZero() {
		return c.found, nil
	}
	kept, err := login.Once(ctx, c.memo, sinceName, time.Now().UTC().Format(time.RFC3339))
	var since time.Time
	if err == nil {
		since, err = time.Parse(time.RFC3339, kept)
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("read since when visitors are identified: %w", err)
	}
	c.found = since.Add(claimTime)
	return c.found, nil
}
