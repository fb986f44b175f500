package discord

import (
	"slices"
	"sync"
	"time"
)

const (
	disorder  = 10 * time.Second // messages of different channels are told of in any order
	clockSkew = time.Minute      // between Discord's clock and ours
)

// session is what a resume needs: a login, and how far its events have been received or accepted. It is stored, so its
// JSON is a format.
type session struct {
	ID      string    `json:"id"`
	Seq     int64     `json:"seq"`
	URL     string    `json:"url"`     // where to resume
	Intents int       `json:"intents"` // that it was begun with
	At      time.Time `json:"at"`      // when event Seq was received
	Last    uint64    `json:"last"`    // the id of the latest message until then, in Discord's time; 0 if there was none
}

// since is the first message id that s may not have told of.
func (s session) since() uint64 {
	switch {
	case s.Last > 0:
		return idAt(when(s.Last).Add(-disorder))
	case s.At.IsZero():
		return 0
	}
	return idAt(s.At.Add(-clockSkew))
}

// watermark tracks which events are safe. Events are accepted out of order, channel by channel, so the stored sequence is
// that of the last event before the first one that isn't safe. It continues across sessions: events of a new one don't
// count while an old one's are open.
type watermark struct {
	mu   sync.Mutex
	open []*ticket // in the order of arrival; the first is never done
	safe session
	// changed holds a token if safe has moved since it was taken.
	changed chan struct{}
}

// ticket is one event's part in a watermark.
type ticket struct {
	of      session // what is safe once this event and all before it are
	holders int
}

func newWatermark(safe session) *watermark {
	return &watermark{safe: safe, changed: make(chan struct{}, 1)}
}

// begin takes note of an event, which the caller holds.
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

// hold keeps t open for one more holder. A nil t is no event's.
func (w *watermark) hold(t *ticket) {
	if t == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	t.holders++
}

// release ends one hold. What is never released is never safe.
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

// reached returns what can be stored.
func (w *watermark) reached() session {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.safe
}
