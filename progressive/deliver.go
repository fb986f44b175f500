package progressive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/core"
	"parley/core/chat"
)

const (
	requestTimeout = 15 * time.Second
	uploadTimeout  = time.Minute // for a file
	finalTries     = 8           // failures in a row before the end of an answer is given up: about two minutes
	giveUpAfter    = 24 * time.Hour
	leastPause     = time.Second
	mostPause      = time.Minute
)

var errSilent = errors.New("the platform did not respond in time")

// request makes one request and records its result. The request is not canceled with ctx, because the outcome of a
// canceled request is unknown, and the next process would have to repeat it. leave returns the gate's permit; note writes
// to the run's journal. An error ends Show.
func (m *Message) request(ctx context.Context, s step, leave func(error), note func(chat.Shown) error) error {
	if s.op == Typing {
		return m.probe(ctx, leave)
	}
	if s.op == Draft {
		return m.drafts.request(ctx, m, s, leave)
	}
	if s.guess != "" {
		ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), requestTimeout, errSilent)
		defer cancel()
		return m.adopt(ctx, s, leave, note)
	}
	if s.moves {
		if err := m.pings.beginMove(m, note); err != nil {
			leave(ErrUnused)
			return err
		}
	}
	if s.op == Post {
		s.silent = m.pings.silent(m, s)
		s.intent = m.intent(s)
	}
	record := m.recordBefore(s)
	record.Held, m.held = m.held, 0
	if err := note(record); err != nil {
		leave(ErrUnused)
		return err
	}
	limit := requestTimeout
	if s.part.File != nil {
		limit = uploadTimeout
	}
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), limit, errSilent)
	defer cancel()
	switch s.op {
	case Post:
		return m.post(ctx, s, leave, note)
	case Edit:
		return m.edit(ctx, s, leave)
	default:
		return m.delete(ctx, s, leave, note)
	}
}

// post creates a message. If the outcome is unknown, the journal keeps the record that it may exist; a refusal restores the
// earlier record.
func (m *Message) post(ctx context.Context, s step, leave func(error), note func(chat.Shown) error) error {
	h := m.partAt(s.index)
	if h.state == gone {
		*h = partState{reposted: true, refusedText: h.refusedText, refusedFile: h.refusedFile, replacements: h.replacements + 1}
	}
	repeated, was := h.state == unknown, *h
	if !repeated && m.window > 0 {
		h.nonceUntil = time.Now().Add(m.window)
	}
	h.sent, h.marked, h.intent, h.confirmed = s.part, s.marked, s.intent, false
	p := m.marked(s)
	p.Silent = s.silent
	id, err := m.sink.Post(ctx, p, m.nonce(s.index, h.reposted))
	err = markAmbiguous(ctx, err)
	leave(m.withBudgetHint(err))
	switch {
	case err == nil:
		h.state, h.id = posted, id
		h.confirmed = !repeated || m.window == 0 || m.editor == nil || // a repeated nonce returns the existing message with its old content, so an edit has to follow
			s.part.File != nil && was.sent.sameFileAs(s.part)
		m.succeeded()
		return note(postedRecord(id, h.intent))
	case errors.Is(err, ErrAmbiguous):
		h.state, h.lostAt = unknown, time.Now()
		m.outage.begin()
	case errors.Is(err, ErrGone) && h.reposted:
		h.state = abandoned
	case errors.Is(err, ErrGone):
		h.state, h.sent = gone, Part{}
	default:
		h.sent, h.marked, h.intent = was.sent, was.marked, was.intent
		if werr := note(refusedRecord(s.index, was)); werr != nil {
			return werr
		}
	}
	return m.failed(s, err)
}

// edit changes a posted message. A message that a user deleted ends the answer (text), or is posted again (files, and texts
// that this process itself tried to delete).
func (m *Message) edit(ctx context.Context, s step, leave func(error)) error {
	h := m.partAt(s.index)
	was := *h
	h.sent, h.marked, h.confirmed, h.contentUnknown = s.part, s.marked, false, false
	err := markAmbiguous(ctx, m.editor.Edit(ctx, h.id, m.marked(s)))
	leave(m.withBudgetHint(err))
	switch {
	case err == nil:
		h.confirmed = true
		m.succeeded()
		return nil
	case errors.Is(err, ErrAmbiguous):
	case errors.Is(err, ErrGone) && h.undeletable: // an earlier deletion by the gateway, whose outcome was unknown, did succeed
		*h = partState{reposted: true, refusedText: h.refusedText, replacements: h.replacements + 1}
	case errors.Is(err, ErrGone) && s.index < chat.FirstFile && !h.replacing:
		h.state = abandoned
	case errors.Is(err, ErrGone), errors.Is(err, ErrStale):
		h.state, h.sent = gone, was.sent // users have read the earlier content; see isLast and readsLike in plan
	default:
		*h = was
	}
	return m.failed(s, err)
}

// delete deletes a posted message, and records that it may be posted again under another nonce.
func (m *Message) delete(ctx context.Context, s step, leave func(error), note func(chat.Shown) error) error {
	h := m.partAt(s.index)
	err := markAmbiguous(ctx, m.deleter.Delete(ctx, h.id))
	leave(m.withBudgetHint(err))
	if err != nil && !errors.Is(err, ErrGone) && !errors.Is(err, ErrStale) {
		return m.failed(s, err)
	}
	*h = partState{refusedFile: h.refusedFile, refusedText: h.refusedText, reposted: m.replacingAny(), replacements: h.replacements + 1}
	m.succeeded()
	return note(chat.Shown{Part: s.index, Gone: true})
}

// markAmbiguous adds [ErrAmbiguous] to an error of a request that timed out without a response from the platform: it may
// have been carried out.
func markAmbiguous(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || errors.As(err, new(RetryAfter)) {
		return err
	}
	for _, said := range []error{ErrGone, ErrForbidden, ErrUnparsable, ErrAmbiguous, ErrUnsent, ErrStale, ErrNoDraft} {
		if errors.Is(err, said) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", ErrAmbiguous, err)
}

// withBudgetHint joins err with the remaining budget that the platform reported in its response, for the gate.
func (m *Message) withBudgetHint(err error) error {
	if s, ok := m.sink.(BudgetReporter); ok {
		if l, ok := s.BudgetHint(); ok {
			return errors.Join(err, l)
		}
	}
	return err
}

// succeeded resets the failures after a request. If the view is now shown completely, only newer text is unshown.
func (m *Message) succeeded() {
	m.failures, m.retryAt = 0, time.Time{}
	m.outage.end()
	m.recovery.worked()
	if _, more := m.drafts.plan(m.parts[:min(len(m.parts), len(m.wanted))], m.wanted, m.viewedAt, m.resend != nil); !more {
		m.unshownSince = m.viewedAt
	}
}

// failed handles the error of a request, after the state of its part was updated. A nil result means that the next
// comparison of wanted and existing messages decides the next request.
func (m *Message) failed(s step, err error) error {
	h := m.partAt(s.index)
	log := m.log.With("op", s.op.String(), "part", s.index, "err", err)
	if errors.Is(err, ErrAmbiguous) || errors.Is(err, ErrUnsent) {
		m.recovery.lost()
	}
	var slow RetryAfter
	switch {
	case errors.As(err, &slow): // the gate delays the next request
		m.held++
		log.Warn("the platform's rate limit is reached")
		return nil
	case errors.Is(err, ErrForbidden):
		log.Error("the conversation no longer accepts messages; the answer is not shown")
		return errNoMore
	case errors.Is(err, ErrGone) && h.state == abandoned && s.index < chat.FirstFile:
		log.Info("a user deleted part of the answer; it ends")
		return core.ErrRemoved
	case errors.Is(err, ErrGone), errors.Is(err, ErrStale):
		log.Info("a message is gone or can no longer be edited")
		return nil
	case s.index == pointerPart && !errors.Is(err, ErrUnsent) && (s.op == Delete || !time.Now().Before(h.nonceUntil) || h.state == absent):
		log.Warn("the end of a long answer notifies no one")
		h.state = abandoned
		return nil
	case errors.Is(err, ErrUnparsable) && s.part.File != nil:
		log.Warn("the platform rejected a file; a notice is shown instead")
		m.markFileRefused(s.index, s.part)
		return nil
	case errors.Is(err, ErrUnparsable) && s.part.Text != "":
		log.Warn("the platform rejected the markup; this part is sent as plain text")
		h.refusedText = s.part.Text
		return nil
	case errors.Is(err, ErrAmbiguous) && s.op == Post && !time.Now().Before(h.nonceUntil):
		log.Warn("it is unknown whether the message was created")
		return nil
	case m.ended && s.part != probe && s.part.File == nil && s.index < chat.FirstFile && !errors.Is(err, ErrUnsent):
		return m.finalRefused(s, err)
	}
	return m.retry(s, err)
}

// retry sets a growing pause before the next request. While the answer grows, attempts are not limited: its end is what
// counts. The final state has a limited number of attempts, except if there was no connection at all: then nothing was
// sent, nothing can appear twice, and a network outage of some hours must not lose an answer. An edit or a deletion with an
// unknown outcome can be repeated as well, but the failure could be that of the request: after some attempts a probe has
// to succeed before each one, so that only failures of a working platform count.
func (m *Message) retry(s step, err error) error {
	log := m.log.With("op", s.op.String(), "part", s.index, "err", err)
	if m.failures++; m.failures == 1 {
		m.failingSince = time.Now()
	}
	unsent := errors.Is(err, ErrUnsent) && time.Since(m.failingSince) < giveUpAfter
	if m.ended && m.prober != nil && s.op != Post && errors.Is(err, ErrAmbiguous) && m.failures >= editTries && m.failures < finalTries {
		log.Warn("a request failed; it is repeated when the platform works again")
		if m.failures == editTries {
			m.outage.begin()
		} else {
			m.outage.again()
		}
		m.outage.probeFirst = true
		return nil
	}
	if !m.ended || m.failures < finalTries || unsent {
		pause := min(leastPause<<min(m.failures-1, 10), mostPause)
		m.retryAt = time.Now().Add(pause)
		log.Warn("a request failed", "pause", pause)
		return nil
	}
	h := m.partAt(s.index)
	switch {
	case s.op == Delete && !h.replacing || s.part == probe || s.index == pointerPart:
		log.Error("a message can't be deleted, or a pointer not be posted")
		h.state = abandoned
	case h.state == unknown:
		h.nonceUntil = time.Time{} // don't repeat it with its nonce any more
	case s.part.File != nil:
		log.Error("a file can't be posted; a notice is shown instead")
		m.markFileRefused(s.index, s.part)
	case s.op == Edit && h.undeletable && errors.Is(err, ErrAmbiguous):
		log.Warn("a message can be neither edited nor deleted; the text goes into a new one, marked")
		*h = partState{state: unknown, intent: chat.Shown{Part: s.index, Sent: hash(s.part), Last: true, Tries: 1}}
	default:
		log.Error("the end of the answer can't be shown")
		return core.ErrUnconfirmed
	}
	m.failures = 0
	return nil
}
