package progressive

import (
	"context"
	"errors"
	"time"

	"parley/core"
)

// editTries is the number of edits of one message whose outcome stays unknown before it is asked whether the platform works
// at all. Edits can be repeated without harm, but the next question in the room waits.
const editTries = 4

// confirmedTries is the number of further edits that fail although the platform worked just before.
const confirmedTries = 2

// editLimit returns how many edits of one message fail before another way is tried: with a [Prober] it is certain that the
// platform worked before each of the last ones.
func editLimit(p Prober) int {
	if p == nil {
		return editTries
	}
	return editTries + confirmedTries
}

// finalRefused chooses the next attempt after a request of the final state was refused permanently, or failed too
// often: plain text once, then a new message in place of the one that can't be edited, then a line that reports the
// missing part. If a deletion fails as well, the platform is probably down: the edit is retried.
func (m *Message) finalRefused(s step, err error) error {
	h := m.partAt(s.index)
	log := m.log.With("op", s.op.String(), "part", s.index, "err", err)
	passing := errors.Is(err, ErrAmbiguous)
	switch {
	case s.op == Delete && h.replacing:
		h.replacing, h.undeletable = false, true
		if passing {
			m.failures = min(m.failures, finalTries-2) // at least one edit follows: it finds out whether the message is gone
			return m.retry(s, err)
		}
		log.Warn("a message can be neither edited nor deleted; the text goes into a new one")
		*h = partState{state: gone, reposted: h.reposted, refusedText: h.refusedText, replacements: h.replacements}
	case s.op == Delete, passing && (s.op == Post || h.undeletable || m.failures+1 < editLimit(m.prober)):
		return m.retry(s, err)
	case s.part.Text != "" && h.refusedText != s.part.Text:
		log.Warn("the platform rejected the text; it is sent as plain text")
		h.refusedText = s.part.Text
	case s.op == Edit && m.deleter != nil && !h.reposted && !h.undeletable:
		log.Warn("a message can't be edited; a new one replaces it")
		h.replacing = true
	case s.op == Edit && !h.reposted:
		log.Warn("a message can't be edited; the text goes into a new one")
		*h = partState{state: gone, refusedText: h.refusedText, replacements: h.replacements}
	case s.op == Post && !h.retried:
		log.Warn("the platform rejected a message; retrying once")
		h.retried, m.retryAt = true, time.Now().Add(leastPause)
	case h.missing == "":
		log.Error("the platform rejected part of the answer in every form")
		h.missing = m.say("message.missing")
	default:
		log.Error("the end of the answer can't be shown")
		return core.ErrUnconfirmed
	}
	if passing {
		m.failures++
	}
	return nil
}

// replacingAny reports whether messages are being deleted to be posted again.
func (m *Message) replacingAny() bool {
	for i := range m.parts {
		if m.parts[i].replacing {
			return true
		}
	}
	return false
}

const (
	firstProbe = 5 * time.Second // a short failure is over by then
	mostProbe  = time.Minute
)

// outage decides when a request whose predecessor had an unknown outcome is made: after a sign of life. That is the success
// of any call to the chat since then. If no other call is due, it is a probe, after five seconds, then after twice as long
// each time, up to a minute.
type outage struct {
	signAt     time.Time     // the last success of a call to the chat
	probeAt    time.Time     // when the next probe is due; zero means now
	pause      time.Duration // before that probe
	probeFirst bool          // the next edit or deletion has to wait for a sign of life
}

// begin sets the time of the first probe, after a request with an unknown outcome.
func (o *outage) begin() {
	o.pause = firstProbe
	o.probeAt = time.Now().Add(o.pause)
}

// again sets the time of the next probe, after one that failed.
func (o *outage) again() {
	o.pause = min(max(2*o.pause, firstProbe), mostProbe)
	o.probeAt = time.Now().Add(o.pause)
}

// end notes a sign of life.
func (o *outage) end() { o.signAt, o.probeFirst = time.Now(), false }

// before returns a probe in place of s, if s has to wait for a sign of life since lostAt. A sink without probes waits for as
// long as the first one would.
func (o *outage) before(s step, lostAt time.Time, p Prober) step {
	switch {
	case s.repeats && p == nil:
		s.notBefore = lostAt.Add(firstProbe)
	case s.repeats && !o.signAt.After(lostAt), o.probeFirst && (s.op == Edit || s.op == Delete):
		return step{op: Typing, index: s.index, notBefore: o.probeAt}
	}
	return s
}

// probe makes a call that shows whether the platform works in this chat. Its failure is none of the answer, which is given
// up after a day.
func (m *Message) probe(ctx context.Context, leave func(error)) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), requestTimeout, errSilent)
	defer cancel()
	err := m.prober.Probe(ctx)
	leave(m.withBudgetHint(err))
	switch {
	case err == nil:
		m.outage.end()
		m.recovery.worked()
		return nil
	case errors.Is(err, ErrForbidden):
		m.log.Error("the conversation no longer accepts messages; the answer is not shown", "err", err)
		return errNoMore
	case m.failures > 0 && time.Since(m.failingSince) >= giveUpAfter:
		m.log.Error("the end of the answer can't be shown", "err", err)
		return core.ErrUnconfirmed
	}
	m.outage.again()
	m.recovery.lost()
	m.log.Debug("the platform does not work yet", "pause", m.outage.pause, "err", err)
	return nil
}
