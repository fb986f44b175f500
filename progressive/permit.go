package progressive

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
)

// advance makes one request of the kind op on the way to v, if that is still what the newest view asks for once there is
// a permit.
func (m *Message) advance(ctx context.Context, a *answer.Answer, v answer.View, op Op, note func(chat.Shown) error) error {
	leave, err := m.enter(ctx, a, v, op)
	if errors.Is(err, io.EOF) {
		return nil // ended meanwhile: the last word asks again
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

// calls are the segments of v that actions write.
func callSegments(v answer.View) (all []answer.Segment) {
	for _, s := range v.Segments {
		if s.Call != "" {
			all = append(all, s)
		}
	}
	return all
}

// sameCall reports whether the visible state of a call is unchanged.
func sameCall(a, b answer.Segment) bool {
	return a.Call == b.Call && a.Text == b.Text && a.Tool.Stage == b.Tool.Stage && a.Tool.ShortResult == b.Tool.ShortResult &&
		a.Tool.CompactParams == b.Tool.CompactParams && slices.EqualFunc(a.Files, b.Files, func(f, o llm.File) bool { return sameFile(&f, &o) })
}

// enter waits for a permit. While the answer goes on, its end cuts the wait short, with io.EOF.
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

// owed returns how many requests are left after the next one if the answer ends now, or grows by a word first.
func (m *Message) requestsOwed() (n int) {
	for i, p := range m.wanted {
		if i >= len(m.parts) || m.parts[i].state != posted || !m.parts[i].sent.sameContent(p) {
			n++
		}
	}
	return max(n-1, 1)
}

// over waits until a has ended or was abandoned, and says which.
func waitForEnd(ctx context.Context, a *answer.Answer) error {
	for {
		if err := a.Wait(ctx, ^answer.Cursor(0)); err != nil {
			return err
		}
	}
}
