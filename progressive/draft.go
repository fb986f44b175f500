package progressive

import (
	"context"
	"errors"
	"time"
)

// Drafter is a [Sink] that can show the growing end of an answer as a draft: a preview that is no message, vanishes by itself,
// and notifies no one. Nothing of it is left behind when the process dies, so the journal has no record of it. A sink that lacks
// it shows growing text in messages.
type Drafter interface {
	// Drafts reports whether the conversation has drafts. It always returns the same value.
	Drafts() bool
	// Draft shows p in place of the draft before. It stays for the returned time; removed is closed when something removes it
	// earlier. After [ErrNoDraft] the answer has no drafts any more; other errors are those of [Sink].
	Draft(ctx context.Context, p Part) (stays time.Duration, removed <-chan struct{}, err error)
}

// ErrNoDraft means that the conversation has no drafts after all.
var ErrNoDraft = errors.New("the platform shows no drafts here")

// draftTries is the number of failures in a row after which growing text is shown in messages instead.
const draftTries = 3

// drafts shows the last part of a growing answer as a draft. Parts that are complete become messages, and so does the last one as soon
// as something that a draft can't show belongs to it or below it: options, or files.
type drafts struct {
	sink     Drafter // nil if there are no drafts
	failures int     // in a row
	renewAt  time.Time
	removed  <-chan struct{}
}

func newDrafts(s Sink) (d drafts) {
	if f, ok := s.(Drafter); ok && f.Drafts() {
		d.sink = f
	}
	return d
}

// step returns the draft in place of the creation of the last part. ok is false if the draft is up to date.
func (d *drafts) step(s step, last partState, now time.Time) (_ step, ok bool) {
	if d.sink == nil || s.op != Post || s.part.Offer != nil || last.state != absent && last.state != drafted {
		return s, true
	}
	s.op = Draft
	return s, last.state != drafted || !last.sent.sameContent(s.part) || d.due(now)
}

// due reports whether the draft has to be sent again although it is the same.
func (d *drafts) due(now time.Time) bool {
	select {
	case <-d.removed:
		return true
	default:
		return !now.Before(d.renewAt)
	}
}

// plan returns the next request that brings the messages closer to want.
func (m *Message) plan(have []partState, want []Part, now time.Time) (s step, ok bool) {
	s, ok = plan(have, want, now, m.resend != nil)
	if ok && m.draftable && s.index == len(want)-1 {
		s, ok = m.drafts.step(s, *m.partAt(s.index), now)
	}
	return s, ok
}

// draftShown reports whether the last part is shown as a draft, and is up to date.
func (m *Message) draftShown() bool {
	last := len(m.parts) - 1
	return m.upToDate && m.drafts.sink != nil && last >= 0 && m.parts[last].state == drafted
}

// draft makes the request of a draft. If its outcome is unknown, it counts as shown, so the same text is not sent again at once.
func (m *Message) draft(ctx context.Context, s step, leave func(error)) error {
	h := m.partAt(s.index)
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), requestTimeout, errSilent)
	defer cancel()
	stays, removed, err := m.drafts.sink.Draft(ctx, s.part)
	err = markAmbiguous(ctx, err)
	leave(m.withBudgetHint(err))
	if err == nil || errors.Is(err, ErrAmbiguous) {
		h.state, h.sent = drafted, s.part
		m.drafts.removed, m.drafts.renewAt = removed, time.Now().Add(stays*2/3)
	}
	switch {
	case err == nil:
		m.drafts.failures = 0
		m.succeeded()
		return nil
	case errors.Is(err, ErrForbidden), errors.Is(err, ErrUnparsable), errors.As(err, new(RetryAfter)):
		return m.failed(s, err)
	}
	if m.drafts.failures++; m.drafts.failures < draftTries && !errors.Is(err, ErrNoDraft) {
		return m.failed(s, err)
	}
	m.log.Warn("drafts can't be shown; the answer grows in messages", "err", err)
	m.drafts.sink = nil
	return nil
}
