package progressive

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
)

// advance waits for a permit for a request of the kind op, and then makes the next request for the newest view. If that
// needs no such request any more, the permit is returned unused.
func (m *Message) advance(ctx context.Context, a *answer.Answer, v answer.View, op Op, note func(chat.Shown) error) error {
	leave, err := m.enter(ctx, a, v, op)
	if errors.Is(err, io.EOF) {
		return nil // the answer ended meanwhile: ask again, with the priority of the final state
	} else if err != nil {
		return err
	}
	if err := waitForStart(ctx, a); err != nil {
		leave(ErrUnused)
		return err
	}
	v = a.View()
	s, ok := m.next(v)
	if !ok || s.op != op {
		leave(ErrUnused)
		return nil
	}
	m.shownCalls, m.shownChoices = callSegments(v), v.Choices
	return m.request(ctx, s, leave, note)
}

// callSegments returns the segments of v that belong to calls of actions.
func callSegments(v answer.View) (all []answer.Segment) {
	for _, s := range v.Segments {
		if s.Call != "" {
			all = append(all, s)
		}
	}
	return all
}

// sameCall reports whether a call looks the same in both segments. Internal changes are not worth a request.
func sameCall(a, b answer.Segment) bool {
	return a.Call == b.Call && a.Text == b.Text && sameLine(a.Tool.Public(), b.Tool.Public()) && slices.EqualFunc(a.Files, b.Files, func(f, o llm.File) bool { return sameFile(&f, &o) })
}

// sameLine reports whether the line of a call is the same, as far as it is worth a request.
func sameLine(a, b answer.Tool) bool {
	return a.Hidden && b.Hidden || a.Stage == b.Stage && a.ShortResult == b.ShortResult && a.CompactParams == b.CompactParams
}

// enter waits for a permit. If the answer ends meanwhile, it returns io.EOF: the final state has a higher priority, and must
// not wait in the queue of previews.
func (m *Message) enter(ctx context.Context, a *answer.Answer, v answer.View, op Op) (leave func(error), err error) {
	t := Ticket{Scopes: m.sink.Scopes(op), Priority: PriorityStream, UnshownSince: m.unshownSince, Owed: m.requestsOwed()}
	if m.ended {
		t.Priority = m.finalPriority
		return m.gate.Enter(ctx, t)
	}
	switch {
	case m.length() == 0:
		t.Priority = PriorityFirst
	case m.shownChoices != v.Choices, !slices.EqualFunc(m.shownCalls, callSegments(v), sameCall):
		t.Priority = PriorityStatus
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { cancel(waitForEnd(ctx, a)) })
	defer watch.Wait()
	defer cancel(nil)
	return m.gate.Enter(ctx, t)
}

// requestsOwed returns how many requests the final state needs after the next one, at least 1. The gate keeps so many
// permits for it.
func (m *Message) requestsOwed() (n int) {
	for i, p := range m.wanted {
		if i >= len(m.parts) || m.parts[i].state != posted || !m.parts[i].sent.sameContent(p) {
			n++
		}
	}
	return max(n-1, 1)
}

// waitForEnd waits until a has ended, and returns io.EOF, or until ctx ends, and returns its cause.
func waitForEnd(ctx context.Context, a *answer.Answer) error {
	for {
		if err := a.Wait(ctx, ^answer.Cursor(0)); err != nil {
			return err
		}
	}
}

// nextUpdate returns the request that posts the next important update of a call (such as a link to sign in) as a message of
// its own. That is only done on platforms that can't edit messages, where otherwise nothing is visible before the end.
// Updates that are not posted by then are dropped, because the answer is more important than its progress.
func (m *Message) nextUpdate(v answer.View, now time.Time) (s step, ok bool) {
	if m.editor != nil || m.resumed || m.ended {
		return step{}, false
	}
	for i, text := range v.Important {
		h := m.partAt(chat.FirstUpdate + i)
		if h.state != absent && (h.state != unknown || !now.Before(h.nonceUntil)) {
			continue
		}
		if parts := m.sink.Render(answer.View{Segments: []answer.Segment{{Text: text}}}); len(parts) > 0 && parts[0].File == nil {
			return step{op: Post, index: chat.FirstUpdate + i, part: parts[0]}, true
		}
	}
	return step{}, false
}
