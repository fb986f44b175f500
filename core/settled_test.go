package core_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/quota"
	"parley/core/storage"
)

// slowSpending is a store that takes four seconds to store what a call cost. Whoever lets go of a run must have waited for that.
type slowSpending struct {
	storage.Store
	t             *testing.T
	open, settled atomic.Int32
	released      atomic.Int32 // runs that were ended or parked
}

func (s *slowSpending) Spend(ctx context.Context, day string, charges ...quota.Charge) (string, error) {
	s.open.Add(1)
	defer s.open.Add(-1)
	defer s.settled.Add(1)
	time.Sleep(4 * time.Second)
	return s.Store.Spend(ctx, day, charges...)
}

func (s *slowSpending) Finish(ctx context.Context, id chat.RunID, e chat.Epoch, o answer.Outcome, out chat.Memory) error {
	s.release("ended")
	return s.Store.Finish(ctx, id, e, o, out)
}

func (s *slowSpending) Park(ctx context.Context, id chat.RunID, e chat.Epoch, w chat.Wait) error {
	s.release("parked")
	return s.Store.Park(ctx, id, e, w)
}

func (s *slowSpending) release(how string) {
	s.released.Add(1)
	if n := s.open.Load(); n > 0 {
		s.t.Errorf("a run is %s, and what %d of its calls cost is not stored", how, n)
	}
}

// has fails unless so many calls are settled now, and so many runs ended or parked.
func (s *slowSpending) has(settled, released int32) {
	s.t.Helper()
	if s.open.Load() > 0 || s.settled.Load() != settled || s.released.Load() != released {
		s.t.Errorf("%d calls are settled, %d not yet, and %d runs are released; want %d, 0 and %d", s.settled.Load(), s.open.Load(), s.released.Load(), settled, released)
	}
}

// What the calls of a run cost is stored when the run ends, when it is parked, and when the process ends: the next run finds all that this
// one left of the limits.
func TestRunsEndSettled(t *testing.T) {
	for name, play := range map[string]func(*harness, *slowSpending){
		"shown": func(w *harness, s *slowSpending) {
			w.wantAnswer(w.start().sendText("Hello"), answer.Completed, "You said: Hello")
			s.has(1, 1)
		},
		"watched": func(w *harness, s *slowSpending) {
			w.watchOnly()
			w.wantAnswer(w.start().sendText("Hello"), answer.Completed, "You said: Hello")
			s.has(1, 1)
		},
		"parked": func(w *harness, s *slowSpending) {
			w.withShop()
			w.queueOrder()
			n := w.start()
			w.waitParked(n.sendText("Tea, please"))
			s.has(1, 1)
			n.stopAnswer("fake/ada")
		},
		"looked back on": func(w *harness, s *slowSpending) {
			w.cfg.Grace = time.Minute
			w.cfg.Plugins = []action.Plugin{{Name: "p", Evaluators: []action.Evaluator{
				evaluator(func(ctx context.Context, _ action.TurnContext, _ chat.Memory) error {
					for range w.cfg.Models.Large.Generate(ctx, llm.Request{}) {
					}
					return nil
				}),
			}}}
			n := w.start()
			for range 4 {
				w.waitAnswer(n.sendText("Hello"))
			}
			n.shutdown()
			s.has(5, 4)
		},
		"cut off": func(w *harness, s *slowSpending) {
			w.model.queue([]step{write("So"), pause(time.Hour)})
			n := w.start()
			acc := n.sendText("Hello")
			time.Sleep(10 * time.Second)
			n.shutdown()
			s.has(1, 0)
			w.start()
			w.waitAnswer(acc)
		},
	} {
		t.Run(name, func(t *testing.T) {
			withHarness(t, func(w *harness) {
				s := &slowSpending{Store: w.Store, t: t}
				w.cfg.Store = s
				w.setLimits(quota.Limits{Total: quota.Cost{Tokens: 1e6}}, s)
				play(w, s)
			})
		})
	}
}
