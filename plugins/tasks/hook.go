package tasks

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"sync"
	"time"

	"parley/core/chat"
)

// Hook is a task for when another program calls it.
type Hook struct {
	Name      string
	Secret    string
	PerMinute int  // calls that are accepted; more are refused
	Drop      bool // calls in quiet hours are left out; otherwise they wait
	What           // with variables: see [expand]
}

// hook is a Hook at work.
type hook struct {
	Hook
	mu   sync.Mutex
	full time.Time // when as many calls are allowed again as in a minute
}

// Authorized reports whether token is the secret of the hook name. It takes as long for a wrong token as for an unknown
// hook, so that neither names nor secrets can be guessed from the time. A hook without a secret can't be called.
func (t *Tasks) Authorized(name, token string) bool { return authorized(t.hooks, name, token) }

func authorized(all map[string]*hook, name, token string) bool {
	want, given := sha256.Sum256(nil), sha256.Sum256([]byte(token))
	h, known := all[name]
	if known {
		want = sha256.Sum256([]byte(h.Secret))
	}
	return subtle.ConstantTimeCompare(want[:], given[:]) == 1 && known && h.Secret != ""
}

// Receive gives the agent the task of a hook, with a body of JSON, which can be empty. Calls with the same key are one.
// Accepted names no run if the task is left out. It fails with [chat.ErrTooMany] if there are too many calls, and with
// [chat.ErrNotFound] or [chat.ErrUnreached] if the room is not known; after any other error the call is not accepted
// and must come again. It returns when the task is stored.
func (t *Tasks) Receive(ctx context.Context, name, key string, body []byte) (chat.Accepted, error) {
	h := t.hooks[name]
	if h == nil {
		return chat.Accepted{}, chat.ErrNotFound
	}
	now := time.Now()
	if !h.allow(now) {
		return chat.Accepted{}, chat.ErrTooMany
	}
	awake := t.Quiet.Until(now)
	if h.Drop && awake.After(now) {
		return chat.Accepted{}, nil
	}
	room, err := t.room(ctx, h.Room)
	if err != nil {
		return chat.Accepted{}, err
	}
	if key == "" {
		key = rand.Text()
	}
	task := chat.Task{
		Room: room.ID, By: chat.EntityID(chat.HookPrefix + name), Name: "Hook " + name, Text: expand(h.Text, body, h.Speak), Speak: h.Speak,
		Key: key, NotBefore: awake,
	}
	if len(body) > 0 && !h.Speak {
		task.Files = []chat.Attachment{{Name: "body.json", Type: "application/json", Size: int64(len(body)), Text: readable(body)}}
	}
	return t.services.Task(ctx, task)
}

// allow counts a call, and reports whether it is within the rate. The budget is that of this process.
func (h *hook) allow(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := h.full
	if at.Before(now) {
		at = now
	}
	if at = at.Add(time.Minute / time.Duration(max(1, h.PerMinute))); at.After(now.Add(time.Minute)) {
		return false
	}
	h.full = at
	return true
}

// readable returns body with its values on lines of their own, which models read better.
func readable(body []byte) string {
	var value any
	if json.Unmarshal(body, &value) != nil {
		return string(body)
	}
	lines, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return string(body)
	}
	return string(lines)
}
