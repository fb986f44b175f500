package progressive

import (
	"time"

	"parley/core/answer"
	"parley/core/chat"
)

// Pinger is a [Sink] whose new messages notify users, except those with [Part].Silent. With a sink that lacks it, or returns false, no
// message is posted only to notify.
type Pinger interface {
	// Pings reports whether a new message notifies users, and whether an answer can be posted again below its first message. It always
	// returns the same values.
	Pings() (notifies, moves bool)
}

const (
	pointerPart = chat.FirstPointer     // a message that refers to a long answer
	movedPart   = chat.FirstPointer + 1 // the message with an answer that is posted again below
	maxPointer  = 200                   // characters of the pointer
)

// pings decides which messages of an answer notify users: its first text, or its end, see [answer.Outcome].Ping.
type pings struct {
	able  bool      // by the platform
	moves bool      // an answer can be posted again below
	slow  time.Time // a first text from then on notifies no one before the end; zero means never
	early bool      // the answer ended in an earlier process
	due   bool      // the end notifies the asker
}

func newPings(s Sink, run chat.Run) (p pings) {
	if by, ok := s.(Pinger); ok {
		p.able, p.moves = by.Pings()
	}
	p.early = run.Verdict != nil
	switch {
	case !run.Kind.Claims() || run.Opened.IsZero():
	case run.Retried != 0 || run.Continues:
		p.slow = time.Now().Add(chat.SlowAfter)
	default:
		p.slow = run.Opened.Add(chat.SlowAfter)
	}
	return p
}

// silent reports whether the post of part s notifies no one: something of the answer was posted before, or its first text was late.
func (p *pings) silent(m *Message, s step) bool {
	if !p.able || s.index == pointerPart || m.partAt(s.index).after != "" {
		return false
	}
	if s.part == probe || m.partAt(s.index).replacements > 0 || p.anyPosted(m, s.index) {
		return true
	}
	first := m.firstVisible
	if first.IsZero() {
		first = time.Now()
	}
	late := !p.slow.IsZero() && first.After(p.slow)
	return late && !(m.ended && (p.due || p.early))
}

// anyPosted reports whether a part other than i is posted, or may be.
func (p *pings) anyPosted(m *Message, i int) bool {
	own := m.partAt(i)
	for _, all := range [][]partState{m.parts, m.files, m.updates, m.extra} {
		for n := range all {
			if h := &all[n]; h != own && h.state != absent && h.state != drafted {
				return true
			}
		}
	}
	return false
}

// pinged reports whether the end of the answer has notified the asker, or may have.
func (p *pings) pinged(m *Message) bool {
	for _, all := range [][]partState{m.parts, m.files, m.extra} {
		for _, h := range all {
			if h.intent.Ping {
				return true
			}
		}
	}
	return false
}

// nextMove returns the next request of a move: an answer in one message is posted again below, which notifies the asker, and then its
// first message is deleted. If the new message can't be posted, or without nonces may not be, the first one stays.
func (p *pings) nextMove(m *Message, want, files []Part, now time.Time) (s step, ok bool) {
	if !m.ended || len(m.parts) == 0 {
		return step{}, false
	}
	h := &m.parts[0]
	switch old := m.partAt(movedPart); {
	case old.state == posted && h.state == posted:
		return step{op: Delete, index: movedPart}, true
	case old.state == posted && (h.missing != "" || h.state == unknown && !now.Before(h.nonceUntil)):
		p.endMove(m, h, old)
	case old.state == absent && p.due && p.canMove(m, want, files):
		return step{op: Post, part: want[0], moves: true}, true
	}
	return step{}, false
}

func (p *pings) canMove(m *Message, want, files []Part) bool {
	h := m.parts[0]
	return p.able && p.moves && m.deleter != nil && len(want) == 1 && len(files) == 0 && len(m.parts) == 1 && len(m.files) == 0 && !p.pinged(m) &&
		h.state == posted && !h.replacing && !h.undeletable && h.missing == "" && h.intent.Tries <= 1
}

// beginMove records the first message of the answer as one to delete.
func (p *pings) beginMove(m *Message, note func(chat.Shown) error) error {
	h, old := &m.parts[0], m.partAt(movedPart)
	if err := note(chat.Shown{Part: movedPart, ID: h.id}); err != nil {
		return err
	}
	*old = partState{state: posted, id: h.id, sent: h.sent}
	*h = partState{after: h.id, refusedText: h.refusedText}
	return nil
}

// endMove continues with the first message. It has a mark if the new one may exist.
func (p *pings) endMove(m *Message, h, old *partState) {
	intent := chat.Shown{Ping: true}
	if h.state == unknown && m.resend != nil {
		intent.Sent, intent.Tries = h.intent.Sent, mostTries
	}
	*h = partState{state: posted, id: old.id, sent: old.sent, intent: intent, refusedText: h.refusedText}
	*old = partState{}
}

// resumeMove prepares a move that an earlier process has begun. Before its new message was recorded, it had not begun.
func (p *pings) resumeMove(m *Message) {
	old := m.partAt(movedPart)
	if old.state != posted {
		return
	}
	switch h := m.partAt(0); {
	case h.id == old.id:
		*old = partState{}
	default:
		h.after = old.id
	}
}

// nextPointer returns the request of a short message that refers to an answer whose end notified no one yet. It is posted at most
// once, and its failure is none of the answer.
func (p *pings) nextPointer(m *Message, v answer.View, now time.Time) (s step, ok bool) {
	own := m.partAt(pointerPart)
	repeats := own.state == unknown && now.Before(own.nonceUntil)
	switch {
	case !m.ended || !p.able || own.stale && m.deleter == nil:
		return step{}, false
	case own.stale && own.state == posted:
		return step{op: Delete, index: pointerPart}, true
	case !repeats && (!p.due || own.state != absent || p.pinged(m)):
		return step{}, false
	}
	for _, h := range append(append([]partState(nil), m.parts...), m.files...) {
		if h.state != posted {
			continue
		}
		parts := m.sink.Render(answer.View{Segments: []answer.Segment{{Text: v.FirstSentence(maxPointer) + " ⬆️"}}})
		if len(parts) == 0 || parts[0].File != nil {
			break
		}
		parts[0].ReplyTo, parts[0].Below = false, h.id
		return step{op: Post, index: pointerPart, part: parts[0]}, true
	}
	return step{}, false
}
