package connectors

import (
	"slices"
	"sync"
)

// watermark tracks which events are done. They become done out of order, chat by chat, so the position to acknowledge
// is that of the last event before the first pending one.
//
// Memory is bounded by the number of pending events, not by the number of events since: of several done ones between
// two pending ones only the last is kept. That matters when one event fails for hours.
type watermark[M any] struct {
	// mu guards everything, also the tickets.
	mu      sync.Mutex
	open    []*Ticket[M] // in the order of arrival; the first is never done
	reached M
	// advanced holds a token if reached has changed since the last receive.
	advanced chan struct{}
}

// Ticket represents one event of the platform, in the order of arrival. The event counts as done when all holds of its
// ticket are released; if one never is, neither the event nor any later one counts as done. That is how an event that
// is not stored makes the platform deliver it again. A nil Ticket belongs to no event.
type Ticket[M any] struct {
	of    *watermark[M]
	to    M // the position once this event and all earlier ones are done
	holds int
}

// begin registers an event, with one hold.
func (w *watermark[M]) begin(to M) *Ticket[M] {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.open); n > 1 && w.open[n-1].holds == 0 {
		w.open = w.open[:n-1] // the new one represents both
	}
	t := &Ticket[M]{of: w, to: to, holds: 1}
	w.open = append(w.open, t)
	return t
}

// Hold adds a hold to t, and returns t. It must be called while there is a hold: a ticket that is done may be gone from
// the watermark.
func (t *Ticket[M]) Hold() *Ticket[M] {
	if t != nil {
		t.of.mu.Lock()
		defer t.of.mu.Unlock()
		t.holds++
	}
	return t
}

// Position returns the position of t; the zero one for nil.
func (t *Ticket[M]) Position() (p M) {
	if t != nil {
		p = t.to
	}
	return p
}

// Release removes one hold. It must be called once for each hold.
func (t *Ticket[M]) Release() {
	if t == nil {
		return
	}
	w := t.of
	w.mu.Lock()
	defer w.mu.Unlock()
	if t.holds--; t.holds > 0 {
		return
	}
	if last := len(w.open) - 1; t != w.open[0] {
		if i := slices.Index(w.open, t); i < last { // a later one represents both
			w.open = slices.Delete(w.open, i, i+1)
		}
		return
	}
	for len(w.open) > 0 && w.open[0].holds == 0 {
		w.reached, w.open = w.open[0].to, w.open[1:]
	}
	select {
	case w.advanced <- struct{}{}:
	default:
	}
}
