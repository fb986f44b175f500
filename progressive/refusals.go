package progressive

import (
	"errors"
	"time"
)

// Missing is shown in place of a text that the platform does not accept.
const Missing = "(Part of the answer is missing here because it could not be shown.)"

// editTries is how many edits of one message fail before another way is tried. They can be repeated without harm, but the
// room waits.
const editTries = 4

// refusedLast decides what follows when a request of the final state was refused permanently, or failed too often:
// plain text once, then a new message in place of the one that can't be edited, then a line that reports the missing
// part. If a deletion fails as well, the platform is probably down: the edit is retried.
func (m *Message) refusedLast(s step, err error) error {
	h := m.part(s.i)
	log := m.log.With("op", s.op.String(), "part", s.i, "err", err)
	passing := errors.Is(err, ErrAmbiguous)
	switch {
	case s.op == Delete && h.redo:
		h.redo, h.stuck = false, true
		if passing {
			return m.retry(s, err)
		}
		log.Warn("a message can be neither edited nor deleted; the text goes into a new one")
		*h = shown{state: gone, again: h.again, refused: h.refused, posts: h.posts}
	case s.op == Delete, passing && (s.op == Post || h.stuck || m.failures+1 < editTries):
		return m.retry(s, err)
	case s.part.Text != "" && h.refused != s.part.Text:
		log.Warn("the platform rejected the text; it is sent as plain text")
		h.refused = s.part.Text
	case s.op == Edit && m.deleter != nil && !h.again && !h.stuck:
		log.Warn("a message can't be edited; a new one replaces it")
		h.redo = true
	case s.op == Edit && !h.again:
		log.Warn("a message can't be edited; the text goes into a new one")
		*h = shown{state: gone, refused: h.refused, posts: h.posts}
	case s.op == Post && !h.tried:
		log.Warn("the platform rejected a message; retrying once")
		h.tried, m.notBefore = true, time.Now().Add(leastPause)
	case !h.hopeless:
		log.Error("the platform rejected part of the answer in every form")
		h.hopeless = true
	default:
		log.Error("the end of the answer can't be shown")
		return errNoMore
	}
	if passing {
		m.failures++
	}
	return nil
}

// redoing reports whether parts are being taken back and reposted.
func (m *Message) redoing() bool {
	for i := range m.parts {
		if m.parts[i].redo {
			return true
		}
	}
	return false
}
