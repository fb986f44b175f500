package progressive_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/progressive"
	"parley/progressive/progressivetest"
)

// The sign stays until the first text, renewed just before it runs out.
func TestTypingUntilTheFirstText(t *testing.T) {
	withDelivery(t, full, func(s *delivery) {
		s.show()
		time.Sleep(20 * time.Second)
		signs := s.chat.Log(progressive.Typing)
		if len(signs) != 5 {
			t.Errorf("%d signs in 20 s; want 5", len(signs))
		}
		for i := 1; i < len(signs); i++ {
			if d := signs[i].At.Sub(signs[i-1].At); d > 5*time.Second || d < 4*time.Second {
				t.Errorf("renewed after %v", d)
			}
		}
		s.say(prose)
		time.Sleep(20 * time.Second)
		if n := s.count(progressive.Typing); n > 5 {
			t.Errorf("%d signs after the first text", n-5)
		}
		s.finish()
	})
}

// once is a sink whose sign stands until the message comes.
type once struct{ progressivetest.Full }

func (o once) Typing(ctx context.Context) (time.Duration, error) {
	_, err := o.Full.Typing(ctx)
	return 0, err
}

// A sign that does not run out is shown once.
func TestTypingIsNotRenewedInVain(t *testing.T) {
	sink := func(c *progressivetest.Chat) progressive.Sink { return once{full(c).(progressivetest.Full)} }
	withDelivery(t, sink, func(s *delivery) {
		s.show()
		time.Sleep(20 * time.Second)
		if n := s.count(progressive.Typing); n != 1 {
			t.Errorf("%d signs; want 1", n)
		}
		s.say(prose)
		s.finish()
		s.wantShown(prose)
	})
}

// ST-15
func TestTypingEndsWithoutProgress(t *testing.T) {
	withDelivery(t, full, func(s *delivery) {
		s.show()
		time.Sleep(time.Hour)
		signs := s.chat.Log(progressive.Typing)
		if last := signs[len(signs)-1].At.Sub(s.run.Opened); last > time.Minute || last < 50*time.Second {
			t.Errorf("the last sign came after %v", last)
		}
		s.a.Apply(answer.Change{Kind: answer.ToolStage, Call: "1", Tool: &answer.Tool{Name: "search", Stage: answer.StageStart}})
		time.Sleep(time.Second)
		if n := s.count(progressive.Typing); n != len(signs)+1 {
			t.Errorf("%d signs with new progress", n-len(signs))
		}
		s.finish()
	})
}

// An answer that is ready at once costs no request for a sign.
func TestNoTypingForAnAnswerThatIsReady(t *testing.T) {
	withDelivery(t, full, func(s *delivery) {
		s.show()
		time.Sleep(100 * time.Millisecond)
		s.say(prose)
		s.finish()
		if n := s.count(progressive.Typing); n != 0 {
			t.Errorf("%d signs; want none", n)
		}
		s.wantShown(prose)
	})
}

func TestTypingStopsWhenForbidden(t *testing.T) {
	withDelivery(t, full, func(s *delivery) {
		s.fail(progressive.Typing, -1, progressivetest.Fault{Err: progressive.ErrForbidden})
		s.show()
		time.Sleep(30 * time.Second)
		if n := s.count(progressive.Typing); n != 1 {
			t.Errorf("%d signs; want 1", n)
		}
		s.say(prose)
		s.finish()
		s.wantShown(prose)
	})
}

// A typing request that hangs is soon out of the way. Until then it counts: after canceling it, when the platform
// counts it would be unknown (TR-02).
func TestHangingSignDelaysTextLittle(t *testing.T) {
	withDelivery(t, full, func(s *delivery) {
		s.fail(progressive.Typing, -1, progressivetest.Fault{Silent: true})
		s.show()
		time.Sleep(time.Second)
		begun := time.Now()
		s.say(prose)
		s.finish()
		if d := time.Since(begun); d != 1300*time.Millisecond { // what is left of the sign's 2 s, which began after 200 ms, then the post
			t.Errorf("text took %v", d)
		}
		s.wantShown(prose)
	})
}

func TestTypingObeysHolds(t *testing.T) {
	withDelivery(t, full, func(s *delivery) {
		s.fail(progressive.Typing, 0, progressivetest.Fault{Err: progressive.RetryAfter{Scope: "chat/room", After: 30 * time.Second}})
		s.show()
		time.Sleep(40 * time.Second)
		if n := s.count(progressive.Typing); n < 2 {
			t.Errorf("%d signs; want at least 2", n)
		}
		s.finish()
	})
}

// ST-15: ten topics of one chat share its signs.
func TestTypingInManyTopics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := progressivetest.NewChat().Budget
		gate := progressive.NewGate(budget)
		var topics []*delivery
		for i := range 10 {
			room := progressivetest.NewChat()
			s := &delivery{T: t, chat: room, sink: full(room), gate: gate, run: chat.Run{ID: chat.RunID(fmt.Sprint(i))}}
			s.show()
			topics = append(topics, s)
		}
		time.Sleep(40 * time.Second)
		n := 0
		for _, s := range topics {
			n += s.count(progressive.Typing)
			s.a.End(completed)
			_ = s.wait()
		}
		if n < 8 || n > 10 {
			t.Errorf("%d signs in 40 s; want at least 8 and at most 10", n)
		}
	})
}
