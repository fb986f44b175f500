package discord

import (
	"slices"
	"sync"
	"time"
)

const (
	disorder  = 10 * time.Second // messages of different channels arrive in any order
	clockSkew = time.Minute      // between Discord's clock and ours
)

// session holds what a resume requires: the login, and how far its events have been received or accepted. It is stored,
// so its JSON is a format.
type session struct {
	ID      string    `json:"id"`
	Seq     int64     `json:"seq"`
	URL     string    `json:"url"`     // where to resume
	Intents int       `json:"intents"` // those of the login
	At      time.Time `json:"at"`      // when event Seq was received
	Last    uint64    `json:"last"`    // the latest message id so far; 0 if there was none
}

// since returns the first message id that s may not have delivered.
func (s session) since() uint64 {
	switch {
	case s.Last > 0:
		return idAt(when(s.Last).Add(-disorder))
	case s.At.IsZero():
		return 0
	}
	return idAt(s.At.Add(-clockSkew))
}

// watermark tracks which events are stored. Events are accepted out of order, channel by channel, so the stored
// sequence number is that of the last event before the first pending one. It continues across sessions: events of a new
// session don't count while an old one's are pending.
type watermark struct {
	mu   sync.Mutex
	open []*ticket // in the order of arrival; the first is never done
	safe session
	// changed holds a token if safe has advanced since the last receive.
	changed chan struct{}
}

// ticket is one event's entry in a watermark.
type ticket struct {
	of      session // the state to store once this event and all earlier ones are done
	holders int
}

func newWatermark(safe session) *watermark {
	return &watermark{safe: safe, changed: make(chan struct{}, 1)}
}

// begin registers an event with one hold by the caller.
func (w *watermark) begin(of session) *ticket {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.open); n > 1 && w.open[n-1].holders == 0 {
		w.open = w.open[:n-1] // the new one stands for both
	}
	t := &ticket{of: of, holders: 1}
	w.open = append(w.open, t)
	return t
}

// hold adds a holder to t. A nil t belongs to no event.
func (w *watermark) hold(t *ticket) {
	if t == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	t.holders++
}

// release removes one holder. An event that is never released never counts as stored.
func (w *watermark) release(t *ticket) {
	if t == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if t.holders--; t.holders > 0 {
		return
	}
	if last := len(w.open) - 1; t != w.open[0] {
		if i := slices.Index(w.open, t); i < last { // a later one stands for both
			w.open = slices.Delete(w.open, i, i+1)
		}
		return
	}
	for len(w.open) > 0 && w.open[0].holders == 0 {
		w.safe, w.open = w.open[0].of, w.open[1:]
	}
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// reached returns the state to store.
func (w *watermark) reached() session {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.safe
}
