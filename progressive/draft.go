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

// draftTries is the number of failures in a row that ends drafts: growing text is shown in messages then.
const draftTries = 3

// drafts shows the last part of a growing answer as a draft. Parts that are complete become messages, and so does the last one as soon
// as something that a draft can't show belongs to it or below it: options, or files.
type drafts struct {
	sink     Drafter // nil if there are no drafts
	allowed  bool    // by the view that is being shown: the answer grows, and nothing is below its last part
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

// step returns the draft in place of the creation of the last part. ok is false if the draft is up to date. The button of a command is left
// out: a draft has a Stop button of its own.
func (d *drafts) step(s step, last partState, now time.Time) (_ step, ok bool) {
	part := s.part.withoutCommand()
	if d.sink == nil || s.op != Post || part.Offer != nil || last.state != absent && last.state != drafted {
		return s, true
	}
	s.op, s.part = Draft, part
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

// plan is [plan] with a draft in place of the creation of the last part.
func (d *drafts) plan(have []partState, want []Part, now time.Time, resend bool) (s step, ok bool) {
	s, ok = plan(have, want, now, resend)
	if !ok || !d.allowed || s.index != len(want)-1 {
		return s, ok
	}
	var last partState
	if s.index < len(have) {
		last = have[s.index]
	}
	return d.step(s, last, now)
}

// shown reports whether the last of parts is shown as a draft.
func (d *drafts) shown(parts []partState) bool {
	return d.sink != nil && len(parts) > 0 && parts[len(parts)-1].state == drafted
}

// request makes the request of a draft for m. If its outcome is unknown, it counts as shown, so the same text is not sent again at once.
func (d *drafts) request(ctx context.Context, m *Message, s step, leave func(error)) error {
	h := m.partAt(s.index)
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), requestTimeout, errSilent)
	defer cancel()
	stays, removed, err := d.sink.Draft(ctx, s.part)
	err = markAmbiguous(ctx, err)
	leave(m.withBudgetHint(err))
	if err == nil || errors.Is(err, ErrAmbiguous) {
		h.state, h.sent = drafted, s.part
		d.removed, d.renewAt = removed, time.Now().Add(stays*2/3)
	}
	switch {
	case err == nil:
		d.failures = 0
		m.succeeded()
		return nil
	case errors.Is(err, ErrForbidden), errors.Is(err, ErrUnparsable), errors.As(err, new(RetryAfter)):
		return m.failed(s, err)
	}
	if d.failures++; d.failures < draftTries && !errors.Is(err, ErrNoDraft) {
		return m.failed(s, err)
	}
	m.log.Warn("drafts can't be shown; the answer grows in messages", "err", err)
	d.sink = nil
	return nil
}
