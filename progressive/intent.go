package progressive

import (
	"time"

	"parley/core/chat"
)

// mostTries is the number of create requests for a final text whose outcome no nonce can tell.
const mostTries = 2

// WithMark appends a line to p that marks it as a possible repetition, for dialects that show that line without markup. In all languages it
// has at most 50 UTF-16 units.
func WithMark(p Part, say func(key string, pairs ...any) string) Part {
	line := "\n\n" + say("message.repeated")
	if p.Text != "" {
		p.Text += line
	}
	if p.Plain != "" {
		p.Plain += line
	}
	return p
}

// intent returns the journal's record of the create request s, to be written before it is sent. A repetition keeps the time
// of the first request, because its nonce is as old. It counts as another try if no nonce prevents a second message.
func (m *Message) intent(s step) chat.Shown {
	i := chat.Shown{Part: s.index, Sent: hash(s.part), Last: m.ended && s.part != probe, At: time.Now().UTC().Round(0), Tries: 1, Ping: m.ended && m.pings.due && m.pings.able && !s.silent}
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

// recordBefore returns the journal's entry before the request s: the intent of a create request, or the record of a
// posted message. The latter states whether the message is about to be deleted so that its text can be posted again.
func (m *Message) recordBefore(s step) chat.Shown {
	if s.op == Post {
		return s.intent
	}
	h := m.partAt(s.index)
	h.intent.Replacing = h.intent.Replacing || s.op == Delete && m.replacingAny()
	record := postedRecord(h.id, h.intent)
	record.Part, record.Replacing = s.index, h.intent.Replacing
	return record
}

// marked returns the content of s as it is sent: with the line about a repetition, if it needs one.
func (m *Message) marked(s step) Part {
	if s.marked && m.resend != nil {
		return m.resend.Marked(s.part)
	}
	return s.part
}

// postedRecord returns the journal's record of a posted message. It keeps that the message was sent more than once, so
// that another process does not remove the line that says so.
func postedRecord(id string, intent chat.Shown) chat.Shown {
	s := chat.Shown{Part: intent.Part, ID: id, Ping: intent.Ping}
	if intent.Tries > 1 {
		s.Sent, s.Tries = intent.Sent, intent.Tries
	}
	return s
}

// refusedRecord returns the journal's record after a definite refusal of a create request: the one before the request.
// Otherwise, after a crash, the next process would assume that the refused message may have been delivered.
func refusedRecord(part int, was partState) chat.Shown {
	if was.state == unknown {
		return was.intent
	}
	return chat.Shown{Part: part, Gone: true}
}

// resume sets the state of a part from the record h of an earlier process. A record without an id is a create request
// with an unknown outcome; its hash identifies the content. Older versions stored no hash: if the answer had ended by
// then, it was the final text.
func (m *Message) resume(h chat.Shown, run chat.Run) {
	p := m.partAt(h.Part)
	switch {
	case h.Gone:
	case h.ID == "":
		*p = partState{state: unknown, intent: h, assumeFinal: run.Verdict != nil, nonceUntil: nonceUntil(m.window, h, run)}
	case m.editor == nil:
		*p = partState{state: abandoned, id: h.ID}
	default:
		*p = partState{state: posted, id: h.ID, intent: h, undeletable: h.Replacing, stale: h.Part == pointerPart && run.Verdict == nil}
	}
}

// nonceUntil returns until when the platform recognizes the nonce of an earlier process's request; zero without nonces.
func nonceUntil(window time.Duration, h chat.Shown, run chat.Run) time.Time {
	switch {
	case window == 0:
		return time.Time{}
	case h.At.IsZero():
		return run.Opened.Add(window)
	}
	return h.At.Add(window)
}
