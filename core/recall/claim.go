package recall

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ClaimKey is the name of the plugin's state with the model that embeds messages.
const ClaimKey = "embedding model"

// claimTries is the number of attempts to claim the messages while other replicas do.
const claimTries = 3

// claimTime is the validity of a model's claim after a replica has looked for new messages, which each does every
// lookAgain.
const claimTime = 25 * time.Minute

// claim is the value of ClaimKey: a model, the length of its vectors, and the end of its claim.
type claim struct {
	model  string
	length int // 0: not known yet
	until  time.Time
}

func (c claim) String() string { return fmt.Sprintf("%d/%d %s", c.until.Unix(), c.length, c.model) }

// rivals reports whether c excludes vectors of a model and length, which is 0 if it is not known yet.
func (c claim) rivals(model string, length int, now time.Time) bool {
	return c.until.After(now) && (c.model != model || c.length != 0 && length != 0 && c.length != length)
}

// Claimant returns the model of a running gateway that embeds messages at now, as stored under [ClaimKey]; "" if
// there is none.
func Claimant(value string, now time.Time) string {
	if c := parseClaim(value); c.until.After(now) {
		return c.model
	}
	return ""
}

func parseClaim(value string) claim {
	numbers, model, _ := strings.Cut(value, " ")
	seconds, length, _ := strings.Cut(numbers, "/")
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return claim{}
	}
	dimensions, _ := strconv.Atoi(length) // earlier versions stored none
	return claim{model, dimensions, time.Unix(n, 0)}
}

// claims reports whether this replica can embed messages. Each message has one vector. Replicas with different models
// would replace each other's vectors without end. Therefore the first model claims the messages until none of its
// replicas looks for new ones; the others search by words only, and log that once. The same is true of vectors of
// different lengths under one model name, for example of servers with different settings. A replica with a store of its
// own has no rivals: a claim of another model is then one of its own from before a restart. It fails with the error of
// the store.
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

// claim tries once to claim the messages. done is false if another replica changed the claim meanwhile. It fails with
// the error of the store.
func (w *worker) claim(ctx context.Context) (done, ours bool, err error) {
	old, err := w.state.Kept(ctx, ClaimKey)
	if err != nil {
		return false, false, fmt.Errorf("read which model embeds messages: %w", err)
	}
	c, now := parseClaim(old), time.Now()
	length := int(w.length.Load())
	if w.Several && c.rivals(w.Model, length, now) {
		w.yieldTo(c)
		return true, false, nil
	}
	if length == 0 && c.model == w.Model {
		length = c.length
	}
	if c.model != w.Model || c.length != length || c.until.Before(now.Add(claimTime/2)) {
		won, err := w.state.Swap(ctx, ClaimKey, old, claim{w.Model, length, now.Add(claimTime)}.String())
		if err != nil {
			return false, false, fmt.Errorf("save which model embeds messages: %w", err)
		}
		if !won { // another replica was faster, perhaps one with the same model
			return false, false, nil
		}
	}
	w.claimed = length
	w.yielded.Store(false)
	return true, true, nil
}

// yieldTo records that another gateway embeds the messages, with one warning.
func (w *worker) yieldTo(to claim) {
	if !w.yielded.Swap(true) {
		w.Log.Warn("another gateway with this store embeds messages with another model or vectors of another length; this one searches them by words only until all have the same models.embedding",
			"model", w.Model, "length", w.length.Load(), "other", to.model, "other_length", to.length)
	}
}

// comparable reports whether a question's vector can be compared with those of messages. It can't while another gateway
// stores vectors of another length under the same model: the store would treat them as damaged, and the gateways would
// replace each other's vectors without end. It fails with the error of the store.
func (w *worker) comparable(ctx context.Context, length int) (bool, error) {
	if w.state == nil || !w.Several {
		return true, nil
	}
	value, err := w.state.Kept(ctx, ClaimKey)
	if err != nil {
		return false, fmt.Errorf("read which model embeds messages: %w", err)
	}
	w.length.Store(int64(length))
	if c := parseClaim(value); c.rivals(w.Model, length, time.Now()) {
		w.yieldTo(c)
		return false, nil
	}
	return true, nil
}
