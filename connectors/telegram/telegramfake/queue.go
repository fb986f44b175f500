package telegramfake

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// updateLife is how long an update waits for the bot; a callback query has less.
const (
	updateLife   = 24 * time.Hour
	callbackLife = 150 * time.Second
	idleWeek     = 7 * 24 * time.Hour
)

// Update is one that the bot has not confirmed. Body is as it is on the wire.
type Update struct {
	ID   int64
	Kind string
	Body json.RawMessage

	expires time.Time
	again   bool // not to be confirmed before it was told once more
}

// MarshalJSON returns Body.
func (u Update) MarshalJSON() ([]byte, error) { return u.Body, nil }

// queue holds the updates and what getUpdates remembers between calls.
type queue struct {
	pending []Update
	all     []Update
	next    int64 // id of the next update
	last    time.Time
	allowed map[string]bool
	poll    *poll
	hook    chan struct{} // wakes CallWebhook; nil if it does not run
	refused time.Time     // when the next conflict may be told without a delay
}

// updateKinds are those of the API; true is what a bot gets that never asked (TR-22).
func updateKinds() map[string]bool {
	return map[string]bool{
		"message": true, "edited_message": true, "channel_post": true, "edited_channel_post": true,
		"business_connection": true, "business_message": true, "edited_business_message": true,
		"deleted_business_messages": true, "guest_message": true, "inline_query": true, "chosen_inline_result": true,
		"callback_query": true, "shipping_query": true, "pre_checkout_query": true, "purchased_paid_media": true,
		"poll": true, "poll_answer": true, "my_chat_member": true, "chat_join_request": true, "chat_boost": true,
		"removed_chat_boost": true, "managed_bot": true, "subscription": true, "stopped_message_generation": true,
		"chat_member": false, "message_reaction": false, "message_reaction_count": false,
	}
}

func defaultUpdates() map[string]bool {
	all := updateKinds()
	maps.DeleteFunc(all, func(_ string, byDefault bool) bool { return !byDefault })
	return all
}

// enqueue adds an update if the bot asked for its kind, and wakes a waiting poll. Kinds are chosen when an update
// happens: a later change does not touch those that wait. The life of an edit counts from the edit.
func (s *Server) enqueue(kind string, payload any) {
	q := &s.queue
	if !q.allowed[kind] {
		return
	}
	now, life := time.Now(), updateLife
	if kind == "callback_query" {
		life = callbackLife
	}
	q.expire(now)
	if s.idleJump && !q.last.IsZero() && now.Sub(q.last) >= idleWeek {
		q.next = 1 + s.luck.Int64N(q.next-1)
	}
	q.last = now
	u := Update{ID: q.next, Kind: kind, expires: now.Add(life)}
	q.next++
	body, err := json.Marshal(map[string]any{"update_id": u.ID, kind: payload})
	if err != nil {
		panic("telegramfake: encode update: " + err.Error()) // our own maps and structs
	}
	u.Body = body
	q.pending = append(q.pending, u)
	q.all = append(q.all, u)
	q.wake()
}

func (q *queue) expire(now time.Time) {
	q.pending = slices.DeleteFunc(q.pending, func(u Update) bool { return !u.expires.After(now) })
}

// confirm forgets the updates before offset (TR-17). A negative one keeps that many of the last. One that lies
// further ahead than the server could have told is ignored.
func (q *queue) confirm(offset int64) {
	switch {
	case offset < 0:
		q.pending = q.pending[max(0, len(q.pending)+int(offset)):]
	case offset > 0 && offset <= q.next+10:
		q.pending = slices.DeleteFunc(q.pending, func(u Update) bool { return u.ID < offset && !u.again })
	}
}

func (q *queue) first(limit int) []Update {
	q.expire(time.Now())
	return append([]Update{}, q.pending[:min(limit, len(q.pending))]...)
}

// take is first for the bot, which may now confirm what it got.
func (q *queue) take(limit int) []Update {
	batch := q.first(limit)
	for i := range batch {
		q.pending[i].again = false
	}
	return batch
}

// Unconfirmed returns the updates that the bot has not confirmed and that have not expired.
func (s *Server) Unconfirmed() []Update {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queue.first(len(s.queue.pending))
}

// Updates returns every update since the start, in order.
func (s *Server) Updates() []Update {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.queue.all)
}

// Redeliver puts an update that was confirmed before the others, once more, whatever offset the bot names: what a
// bot sees that the server did not hear. It panics if there never was such an update.
func (s *Server) Redeliver(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := &s.queue
	i := slices.IndexFunc(q.all, func(u Update) bool { return u.ID == id })
	u := q.all[i]
	u.again = true
	q.pending = append([]Update{u}, q.pending...)
	q.wake()
}

func (q *queue) wake() {
	if q.poll != nil {
		q.poll.signal()
	}
	select {
	case q.hook <- struct{}{}:
	default: // no webhook is called, or it was woken already
	}
}
