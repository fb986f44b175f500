package core_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/core"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/storage/storagetest"
	"parley/internal/subtest"
)

// withCards parks an order of Ada's, which Olga and Sam can approve. around is called for each call of the store.
func withCards(w *harness, around func(ctx context.Context, c storagetest.Call, do func() error) error) (shop *approvedAction, n *process, acc chat.Accepted) {
	shop = w.withShop()
	w.cfg.Access.Owners = map[chat.EntityID]bool{"olga": true, "sam": true}
	w.cfg.Access.Allowed.Accounts["olga"], w.cfg.Access.Allowed.Accounts["sam"] = true, true
	n = w.start()
	for _, who := range []chat.EntityID{"olga", "sam"} {
		w.waitAnswer(n.send(w.message("fake/"+chat.RoomID(who), who, "Hi")))
	}
	n.shutdown()
	w.cfg.Store = &storagetest.Interceptor{Store: w.cfg.Store, Around: around}
	n = w.start()
	w.queueOrder()
	return shop, n, n.sendText("Order tea")
}

// While the store is away for a while, neither the request nor the decision is lost.
func TestApprovalOutlivesOutages(t *testing.T) {
	for _, method := range []string{"RequestApproval", "DirectRoom", "Approval", "DecideApproval", "Owner"} {
		t.Run(method, subtest.Of(withHarness, func(w *harness) {
			var failed atomic.Pointer[time.Time]
			shop, n, acc := withCards(w, func(_ context.Context, c storagetest.Call, do func() error) error {
				if now := time.Now(); c.Method == method {
					failed.CompareAndSwap(nil, &now)
					if since := failed.Load(); since != nil && time.Since(*since) < 20*time.Second {
						return errDown
					}
				}
				return do()
			})
			time.Sleep(time.Minute)
			failed.Store(nil) // once more, during the decision
			n.deliver(chat.Choice(pressed(w.openQuestion("fake/olga"), 0).by("olga")))
			w.wantAnswer(acc, answer.Completed, "Tea is on its way.")
			time.Sleep(time.Minute)
			w.chat.forgetSeen() // cards change after their ends
			if shop.times() != 1 || w.timesShown("Approved.") != 1 || w.timesShown("→ olga approved this.") != 1 {
				w.Errorf("the call was made %d times; shown is %q", shop.times(), w.chat.visible())
			}
		}))
	}
}

// A decision just before the run waits for it makes the run continue at once.
func TestApprovedBeforeTheRunWaits(t *testing.T) {
	withHarness(t, func(w *harness) {
		var n atomic.Pointer[process]
		shop, first, acc := withCards(w, func(ctx context.Context, c storagetest.Call, do func() error) error {
			if c.Method == "Park" {
				time.Sleep(5 * time.Second)
				n.Load().deliver(chat.Choice(pressed(w.openQuestion("fake/olga"), 0).by("olga")))
				time.Sleep(5 * time.Second)
			}
			return do()
		})
		n.Store(first)
		time.Sleep(time.Minute)
		w.chat.forgetSeen() // cards change after their ends
		if o := w.run(acc).Outcome; o.Status != answer.Completed || shop.times() != 1 {
			w.Errorf("a minute later the run is %+v, and the call was made %d times; want it to be completed, and 1", o, shop.times())
		}
	})
}

// A card that was closed while it was being posted has no buttons, and shows the decision.
func TestCardClosesWhileItIsPosted(t *testing.T) {
	withHarness(t, func(w *harness) {
		open := w.cfg.Open
		w.cfg.Open = func(ctx context.Context, r chat.Run) (core.Surface, error) {
			if s, err := open(ctx, r); r.Room != "fake/olga" || r.Kind != chat.RunNotify || err != nil {
				return s, err
			}
			s, err := open(ctx, r)
			s.(*poster).atFirst = func() { time.Sleep(30 * time.Second) }
			return s, err
		}
		_, n, acc := withCards(w, func(_ context.Context, _ storagetest.Call, do func() error) error { return do() })
		time.Sleep(10 * time.Second)
		n.deliver(chat.Choice(pressed(w.openQuestion("fake/sam"), 0).by("sam")))
		w.wantAnswer(acc, answer.Completed, "Tea is on its way.")
		time.Sleep(time.Minute)
		w.chat.forgetSeen() // cards change after their ends
		if w.timesShown("→ sam approved this.") != 1 {
			w.Errorf("shown is %q", w.chat.visible())
		}
	})
}

// A run that ends without its call, after the process that asked about it died before it waited, closes the request and its cards.
func TestEndedBeforeTheRunWaits(t *testing.T) {
	withHarness(t, func(w *harness) {
		var died atomic.Bool
		_, n, acc := withCards(w, func(_ context.Context, c storagetest.Call, do func() error) error {
			if c.Method == "Park" && !died.Load() {
				return errDown
			}
			return do()
		})
		time.Sleep(10 * time.Second)
		n.Interrupt()
		died.Store(true)
		w.start()
		w.waitAnswer(acc)
		time.Sleep(time.Minute)
		w.chat.forgetSeen() // cards change after their ends
		if got := w.decisions(room); !slices.Equal(got, []chat.Decision{chat.Stopped}) || w.timesShown("This request has closed.") != 2 {
			w.Errorf("decided is %q, shown %q", got, w.chat.visible())
		}
	})
}

// A decision just before the run waits for it is not lost if the store's answer is, or if the process dies then.
func TestApprovedBeforeTheRunWaitsAndThenAFault(t *testing.T) {
	for name, fault := range map[string]func(n *process){
		"the answer of the store is lost": func(*process) {},
		"the process dies":                (*process).Interrupt,
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			var n atomic.Pointer[process]
			var parked atomic.Bool
			shop, first, acc := withCards(w, func(_ context.Context, c storagetest.Call, do func() error) error {
				if c.Method == "Park" && parked.CompareAndSwap(false, true) {
					time.Sleep(5 * time.Second)
					n.Load().deliver(chat.Choice(pressed(w.openQuestion("fake/olga"), 0).by("olga")))
					time.Sleep(5 * time.Second)
					err := do()
					fault(n.Load())
					return errors.Join(err, errDown)
				}
				return do()
			})
			n.Store(first)
			time.Sleep(20 * time.Second)
			w.start()
			time.Sleep(2 * time.Minute)
			w.chat.forgetSeen() // cards change after their ends
			if o := w.run(acc).Outcome; o.Status != answer.Completed || shop.times() != 1 {
				w.Errorf("later the run is %+v, and the call was made %d times; want it to be completed, and 1", o, shop.times())
			}
		}))
	}
}

// slowly is a surface that waits before it shows anything.
type slowly struct {
	core.Surface
}

func (s slowly) Show(ctx context.Context, a *answer.Answer, note func(chat.Shown) error) error {
	time.Sleep(30 * time.Second)
	return s.Surface.Show(ctx, a, note)
}

// A card that is pressed while the asker's later message is added to it ends with the decision, also if another message has followed it.
func TestCardIsPressedWhileItChanges(t *testing.T) {
	for _, slow := range []string{"the platform", "the store", "the platform, and a message follows"} {
		t.Run(slow, subtest.Of(withHarness, func(w *harness) {
			open := w.cfg.Open
			var changes atomic.Bool
			w.cfg.Open = func(ctx context.Context, r chat.Run) (core.Surface, error) {
				s, err := open(ctx, r)
				if r.Room == "fake/olga" && r.Kind == chat.RunNotify && r.Epoch > 1 {
					changes.Store(true)
				}
				if changes.Load() && slow != "the store" && r.Kind == chat.RunNotify {
					return slowly{s}, err
				}
				return s, err
			}
			_, n, acc := withCards(w, func(_ context.Context, c storagetest.Call, do func() error) error {
				if c.Method == "Note" && changes.Load() && slow == "the store" && c.Args[2].(chat.Note).Verdict != nil {
					time.Sleep(30 * time.Second)
				}
				return do()
			})
			time.Sleep(10 * time.Second)
			n.sendText("Please hurry")
			for range 100 {
				if time.Sleep(time.Second); changes.Load() {
					break
				}
			}
			n.deliver(chat.Choice(pressed(w.openQuestion("fake/olga"), 0).by("olga")))
			if slow == "the platform, and a message follows" {
				n.sendNotice(chat.Notice{To: chat.Address{Room: "fake/olga"}, Text: "It rains."})
			}
			w.waitAnswer(acc)
			time.Sleep(5 * time.Minute)
			w.chat.forgetSeen() // cards change after their ends
			for _, m := range w.chat.visible() {
				if strings.Contains(m, "✎") && strings.Contains(m, "Approved.") {
					return
				}
			}
			w.Errorf("shown is %q, changes %v", w.chat.visible(), changes.Load())
		}))
	}
}
