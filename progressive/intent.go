package progressive

import (
	"time"

	"parley/core/chat"
)

const (
	resendPause = 5 * time.Second // before a last word of unknown fate is sent once more, so that a short failure is over
	mostTries   = 2               // of a last word whose fate no nonce tells
)

// Repetition marks a message as a possible repetition.
const Repetition = "(sent again; it may have arrived already)"

// WithMark appends [Repetition] to p, for dialects in which that line needs no markup.
func WithMark(p Part) Part {
	const line = "\n\n" + Repetition
	if p.Text != "" {
		p.Text += line
	}
	if p.Plain != "" {
		p.Plain += line
	}
	return p
}

// intent returns what the journal is to hold while the outcome of the create request s is unknown. A request that repeats
// another of unknown outcome keeps its time: its nonce is as old. It counts as another try unless the nonce tells.
func (m *Message) intent(s step) chat.Shown {
	i := chat.Shown{Part: s.index, Sent: hash(s.part), Last: m.ended && s.part != probe, At: time.Now().UTC().Round(0), Tries: 1}
	h := m.partAt(s.index)
	if h.state != unknown {
		return i
	}
	if !h.intent.At.IsZero() {
		i.At = h.intent.At
	}
	if h.mayHaveSent(s.part) {
		i.Tries = max(h.intent.Tries, 1)
		if !time.Now().Before(h.nonceUntil) {
			i.Tries++
		}
	}
	return i
}

// marked returns the part of s as it is sent.
func (m *Message) marked(s step) Part {
	if s.marked && m.resend != nil {
		return m.resend.Marked(s.part)
	}
	return s.part
}

// confirmed returns what the journal is to hold of a message that is there. That it was sent more than once stays, so that
// the next holder leaves the mark.
func postedRecord(id string, intent chat.Shown) chat.Shown {
	s := chat.Shown{Part: intent.Part, ID: id}
	if intent.Tries > 1 {
		s.Sent, s.Tries = intent.Sent, intent.Tries
	}
	return s
}

// withdrawal returns what the journal is to hold after a definite refusal of a create request: what it held before. Without
// it the next holder would take the refused message for one that may have been delivered.
func refusedRecord(part int, was partState) chat.Shown {
	if was.state == unknown {
		return was.intent
	}
	return chat.Shown{Part: part, Gone: true}
}

// resume takes over one part from an earlier holder. What a message of unknown fate would say is known by its hash; one of
// an older version, which has none, counts as the last word if there is a verdict.
func (m *Message) resume(h chat.Shown, run chat.Run) {
	p := m.partAt(h.Part)
	switch {
	case h.Gone:
	case h.ID == "":
		*p = partState{state: unknown, intent: h, assumeFinal: run.Verdict != nil, nonceUntil: m.nonceUntil(h, run)}
	case m.editor == nil:
		*p = partState{state: abandoned, id: h.ID}
	default:
		*p = partState{state: posted, id: h.ID, intent: h}
	}
}

// nonceUntil returns until when the nonce of an earlier holder's intent is good; zero without nonces.
func (m *Message) nonceUntil(h chat.Shown, run chat.Run) time.Time {
	switch {
	case m.window == 0:
		return time.Time{}
	case h.At.IsZero():
		return run.Opened.Add(m.window)
	}
	return h.At.Add(m.window)
}
