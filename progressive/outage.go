package progressive

import (
	"context"
	"errors"
	"time"

	"parley/core"
)

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
		return nil
	case errors.Is(err, ErrForbidden):
		m.log.Error("the conversation no longer accepts messages; the answer is not shown", "err", err)
		return errNoMore
	case m.failures > 0 && time.Since(m.failingSince) >= giveUpAfter:
		m.log.Error("the end of the answer can't be shown", "err", err)
		return core.ErrUnconfirmed
	}
	m.outage.again()
	m.log.Debug("the platform does not work yet", "pause", m.outage.pause, "err", err)
	return nil
}
