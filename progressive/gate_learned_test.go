package progressive_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/progressive"
	"parley/progressive/progressivetest"
)

// DR-01: what the platform says beside a success narrows the scope until the time it names, and does not slow it after.
func TestGateLearns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := progressive.NewGate(budgets(map[progressive.Scope]progressive.Budget{"chat": {N: 2, Per: time.Second}}))
		begun := time.Now()
		enter(t, g, progressive.PriorityFinal, progressive.BudgetHint{Left: 0, After: 5 * time.Second}, "chat")
		enter(t, g, progressive.PriorityFinal, nil, "chat")
		if d := time.Since(begun); d != 5*time.Second {
			t.Errorf("open after %v", d)
		}
		enter(t, g, progressive.PriorityFinal, nil, "chat")
		if w := enter(t, g, progressive.PriorityFinal, nil, "chat"); w != time.Second {
			t.Errorf("then a window took %v; want %v", w, time.Second)
		}
		time.Sleep(time.Minute)
		enter(t, g, progressive.PriorityFinal, progressive.BudgetHint{Scope: "route", Left: 1, After: 9 * time.Second}, "chat", "route")
		enter(t, g, progressive.PriorityFinal, progressive.ErrUnused, "chat", "route")
		if w := enter(t, g, progressive.PriorityFinal, nil, "chat", "route"); w != 0 {
			t.Errorf("the one that is left waited %v; want none", w)
		}
		if w := enter(t, g, progressive.PriorityFinal, nil, "chat", "route"); w != 9*time.Second {
			t.Errorf("the next waited %v", w)
		}
	})
}

// No ticket starves: what is older than the head start of others goes before them.
func TestGateStarvesNoTicket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := progressive.NewGate(budgets(map[progressive.Scope]progressive.Budget{"chat": {}, "bot": {N: 1, Per: time.Second}}))
		ctx, cancel := context.WithCancelCause(t.Context())
		var all sync.WaitGroup
		for range 5 { // more finals than the bot has permits, all the time
			all.Go(func() {
				for {
					leave, err := g.Enter(ctx, progressive.Ticket{Scopes: []progressive.Scope{"other", "bot"}, Priority: progressive.PriorityFinal})
					if err != nil {
						return
					}
					leave(nil)
				}
			})
		}
		synctest.Wait()
		for p, most := range map[progressive.Priority]time.Duration{
			progressive.PriorityStream: 130 * time.Second, progressive.PriorityStatus: 120 * time.Second, progressive.PriorityFirst: 100 * time.Second,
		} {
			if w := enter(t, g, p, nil, "chat", "bot"); w > most || w < most/2 {
				t.Errorf("priority %d waited %v", p, w)
			}
		}
		cancel(errDone)
		all.Wait()
	})
}

// heard notes the tickets that pass.
type heard struct {
	progressive.Gate
	tickets []progressive.Ticket
	errs    []error
}

func (h *heard) Enter(ctx context.Context, t progressive.Ticket) (func(error), error) {
	if t.Priority == progressive.PriorityTyping {
		return nil, progressive.ErrNoPermit
	}
	h.tickets = append(h.tickets, t)
	leave, err := h.Gate.Enter(ctx, t)
	if err != nil {
		return nil, err
	}
	return func(err error) {
		h.errs = append(h.errs, err)
		leave(err)
	}, nil
}

// A ticket tells how old the oldest is that the reader does not see, not when something was shown last.
func TestTicketsTellHowOldTheTextIs(t *testing.T) {
	withDelivery(t, editing, func(s *delivery) {
		h := &heard{Gate: s.gate}
		s.gate, s.chat.Max = h, 0
		s.show()
		time.Sleep(7 * time.Second)
		var made []time.Time
		for range 3 { // each is shown at once, long before the next
			made = append(made, time.Now())
			s.say(prose)
			time.Sleep(10 * time.Second)
		}
		made = append(made, time.Now())
		s.say(prose)
		time.Sleep(50 * time.Millisecond) // on its way
		s.say(prose)
		time.Sleep(10 * time.Second)
		made = append(made, made[3])
		s.finish()
		for i, ticket := range h.tickets {
			if late := ticket.UnshownSince.Sub(made[min(i, len(made)-1)]); late != 0 {
				t.Errorf("ticket %d: off by %v; want none", i, late)
			}
		}
		if len(h.tickets) != 5 {
			t.Errorf("%d tickets; want 5", len(h.tickets))
		}
	})
}

// First text, what an action says, text, and the last word are told apart.
func TestTicketsTellWhatTheyAreFor(t *testing.T) {
	withDelivery(t, editing, func(s *delivery) {
		h := &heard{Gate: s.gate}
		s.gate = h
		s.show()
		s.say(prose)
		time.Sleep(10 * time.Second)
		s.say(" " + prose)
		time.Sleep(10 * time.Second)
		s.a.Apply(answer.Change{Kind: answer.Callback, Call: "1", Text: "Looking it up…"})
		time.Sleep(10 * time.Second)
		s.say(" More of it.")
		time.Sleep(10 * time.Second)
		s.a.Apply(answer.Change{Kind: answer.Callback, Call: "1", Text: "Looking it up…", Files: []llm.File{picture}})
		time.Sleep(10 * time.Second)
		s.say(" The end.")
		time.Sleep(10 * time.Second)
		if err := s.end(answer.Outcome{Status: answer.Stopped}); err != nil { // which adds a line
			t.Error(err)
		}
		var got []progressive.Priority
		for _, t := range h.tickets {
			got = append(got, t.Priority)
		}
		want := []progressive.Priority{progressive.PriorityFirst, progressive.PriorityStream, progressive.PriorityStatus, progressive.PriorityStream}
		got = slices.Compact(got)
		if want = append(want, progressive.PriorityStatus, progressive.PriorityStream, progressive.PriorityFinal); !slices.Equal(got, want) {
			t.Errorf("got %v; want %v", got, want)
		}
	})
}

// learner is a sink whose platform always says what is left.
type learner struct{ progressivetest.Editing }

func (learner) BudgetHint() (progressive.BudgetHint, bool) {
	return progressive.BudgetHint{Scope: "route", Left: 0, After: time.Minute}, true
}

// What a sink learned reaches the gate beside what became of the request.
func TestWhatASinkLearnsReachesTheGate(t *testing.T) {
	withDelivery(t, func(c *progressivetest.Chat) progressive.Sink {
		return learner{editing(c).(progressivetest.Editing)}
	}, func(s *delivery) {
		h := &heard{Gate: s.gate}
		s.gate = h
		s.fail(progressive.Edit, 0, progressivetest.Fault{Err: errOther})
		s.show()
		s.say(prose)
		time.Sleep(5 * time.Second)
		s.say(prose)
		s.finish()
		if len(h.errs) < 3 {
			t.Fatalf("got %v; want at least 3", h.errs)
		}
		for i, err := range h.errs {
			if l := (progressive.BudgetHint{}); !errors.As(err, &l) || l.Scope != "route" || errors.Is(err, errOther) != (i == 1) {
				t.Errorf("request %d was left with %v", i, err)
			}
		}
	})
}

// What a command is answered with has its own place.
func TestTicketsOfCommands(t *testing.T) {
	for duty, want := range map[chat.RunKind]progressive.Priority{
		chat.RunCommand: progressive.PriorityReply, chat.RunChoiceResult: progressive.PriorityReply, chat.RunNotify: progressive.PriorityFinal, chat.RunRetry: progressive.PriorityFinal,
	} {
		withDelivery(t, editing, func(s *delivery) {
			h := &heard{Gate: s.gate}
			s.gate, s.run.Kind = h, duty
			s.show()
			s.say(prose)
			s.finish()
			if got := h.tickets[len(h.tickets)-1].Priority; got != want {
				t.Errorf("the last word of %v has priority %v, want %v", duty, got, want)
			}
		})
	}
}
