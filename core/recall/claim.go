package recall

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ClaimKey is the name of the plugin's state that says which model messages are embedded with.
const ClaimKey = "embedding model"

// claimTries is how often a replica tries to claim the messages while others do.
const claimTries = 3

// claimTime is how long a model has the messages for itself after a replica has looked for new ones, which each does every
// lookAgain.
const claimTime = 25 * time.Minute

// claim is what is stored under ClaimKey: a model, and until when others leave the messages to it.
type claim struct {
	model string
	until time.Time
}

func (c claim) String() string { return fmt.Sprintf("%d %s", c.until.Unix(), c.model) }

// Claimant returns the model that messages are embedded with at now by a gateway that runs, or ran a moment ago, as stored
// under [ClaimKey]; "" if there is none.
func Claimant(value string, now time.Time) string {
	if c := parseClaim(value); c.until.After(now) {
		return c.model
	}
	return ""
}

func parseClaim(value string) claim {
	seconds, model, _ := strings.Cut(value, " ")
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return claim{}
	}
	return claim{model, time.Unix(n, 0)}
}

// claims reports whether this replica can embed messages. Each message has one vector. Replicas that are configured with
// different models would replace each other's vectors without end, so the model that came first has the messages until
// none of its replicas looks for new ones; the others search by words only, and say so once. A replica that has the store
// for itself has no rivals: a claim of another model is then one of its own from before a restart.
func (w *worker) claims(ctx context.Context) (bool, error) {
	if w.state == nil {
		return true, nil
	}
	for range claimTries {
		done, ours, err := w.claim(ctx)
		if done || err != nil {
			return ours, err
		}
	}
	return false, nil // the next look tries again
}

// claim looks once at what is claimed. It is not done if another replica changed that meanwhile.
func (w *worker) claim(ctx context.Context) (done, ours bool, err error) {
	old, err := w.state.Kept(ctx, ClaimKey)
	if err != nil {
		return false, false, fmt.Errorf("read which model embeds messages: %w", err)
	}
	c, now := parseClaim(old), time.Now()
	if w.Several && c.model != w.Model && c.until.After(now) {
		if !w.yielded {
			w.Log.Warn("another gateway with this store embeds messages with another model; this one searches them by words only until all have the same models.embedding",
				"model", w.Model, "other", c.model)
		}
		w.yielded = true
		return true, false, nil
	}
	if c.model != w.Model || c.until.Before(now.Add(claimTime/2)) {
		won, err := w.state.Swap(ctx, ClaimKey, old, claim{w.Model, now.Add(claimTime)}.String())
		if err != nil {
			return false, false, fmt.Errorf("save which model embeds messages: %w", err)
		}
		if !won { // another replica was faster, perhaps one with the same model
			return false, false, nil
		}
	}
	w.yielded = false
	return true, true, nil
}
