package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"parley/internal/lang"
)

// view is what users see in one room.
type view struct {
	room      *room
	messages  []message   // of the agent, in the order of the room
	questions []*question // in the order in which they were asked
	answers   map[string]*standing
}

// views returns what the rooms of chat platforms show. The environment is not locked.
func (w *environment) views() (all []*view) {
	for _, r := range w.rooms {
		if r.own == nil {
			continue
		}
		v := w.view(r)
		for _, m := range r.own() {
			v.add(m)
		}
		all = append(all, v.assemble())
	}
	return all
}

// reload returns what the pages show after a reload. The environment is not locked.
func (w *environment) reload() (all []*view, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, r := range w.rooms {
		if r.platform != web {
			continue
		}
		v := w.view(r)
		lines, err := w.browser.Reload(ctx, r.name)
		if err != nil {
			return all, err
		}
		for _, l := range lines {
			at := time.UnixMilli(l.Timestamp)
			if s := v.answers[l.ClientMessageID]; l.Role == "assistant" {
				v.add(message{text: l.Text, at: at, changed: at})
			} else if s != nil {
				s.asked++
			}
		}
		if len(lines) >= fullPage {
			v.leaveOut(time.UnixMilli(lines[0].Timestamp))
		}
		all = append(all, v.assemble())
	}
	return all, nil
}

// fullPage is how many messages a page shows at most (docs/web-api.md).
const fullPage = 200

// view returns an empty view of r with its questions.
func (w *environment) view(r *room) *view {
	w.mu.Lock()
	defer w.mu.Unlock()
	v := &view{room: r, answers: map[string]*standing{}}
	for _, q := range w.questions {
		if q.room == r {
			v.questions = append(v.questions, q)
			v.answers[q.id] = &standing{}
		}
	}
	return v
}

// add adds a message of the agent, after all others.
func (v *view) add(m message) {
	id := questionID.FindString(m.text)
	if i := slices.IndexFunc(v.questions, func(q *question) bool { return q.id == id }); i >= 0 {
		s := v.answers[id]
		s.pieces = append(s.pieces, pieceOf(strings.Fields(v.questions[i].answer), m, len(v.messages)))
	}
	v.messages = append(v.messages, m)
}

// assemble completes the view, once all messages are added.
func (v *view) assemble() *view {
	for _, q := range v.questions {
		v.answers[q.id].assemble(len(strings.Fields(q.answer)))
	}
	return v
}

// leaveOut notes which questions are older than the page.
func (v *view) leaveOut(since time.Time) {
	for _, q := range v.questions {
		if s := v.answers[q.id]; s.asked == 0 && q.asked.Before(since) {
			s.older = true
		}
	}
}

// misplaced returns the questions whose answers stand before the answer to an earlier question. Turns are queued in every room.
func (v *view) misplaced() (wrong []*question) {
	last := -1
	for _, q := range v.questions {
		s := v.answers[q.id]
		switch {
		case s.chain == nil:
		case s.first() < last:
			wrong = append(wrong, q)
		default:
			last = s.first()
		}
	}
	return wrong
}

const (
	fullQueue = 10               // questions that wait in a room: the gateway opens no more turns
	lag       = 15 * time.Second // from the last edit of an answer to the end of its turn, if a kill comes between them
)

// excused reports whether a full queue explains that q has no answer. When q was asked, that many earlier questions waited for their
// answers; afterwards, and before it answered any later question, the agent said that it can't answer each message.
func (v *view) excused(q *question) bool {
	waited, end, later := 0, len(v.messages), false
	for _, other := range v.questions {
		s := v.answers[other.id]
		switch {
		case other == q:
			later = true
		case s.chain == nil:
		case later:
			end = min(end, s.first())
		case s.done().After(q.asked.Add(-lag)):
			waited++
		}
	}
	return waited >= fullQueue && slices.ContainsFunc(v.messages[:end], func(m message) bool {
		return m.text == lang.Voice{}.Say("message.excuse") && m.at.After(q.asked)
	})
}

// missing reports whether q has no answer, for no good reason.
func (v *view) missing(q *question) bool {
	s := v.answers[q.id]
	return s.chain == nil && !s.older && !v.excused(q)
}
