package core_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/schedule"
	"parley/gatewaytest"
	"parley/internal/require"
)

const steeredSeeds = 20 // that are played every time; PARLEY_SEEDS is another number

// steered is one seed: Ada writes, Olga approves, denies or does nothing, and processes die at random effects.
type steered struct {
	*harness
	luck     *rand.Rand
	n        *process
	faults   *gatewaytest.Faults
	wrote    []sentMessage
	approved map[chat.RunID][]time.Time

	mu    sync.Mutex // calls are made by goroutines of processes
	notes []string
	made  []madeCall
}

type sentMessage struct {
	chat.Message
	acc chat.Accepted
	by  time.Time // it was accepted by then
}

type madeCall struct {
	run  chat.RunID
	item string
	at   time.Time
}

func (w *steered) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notes = append(w.notes, time.Now().Format("04:05.000 ")+fmt.Sprintf(format, args...))
}

var order = regexp.MustCompile(`Order ([0-9]+)`)

// respond is the model: it orders what the last message asks for, and looks first if that says so.
func (w *steered) respond(r llm.Request) []step {
	last := r.Messages[len(r.Messages)-1]
	if last.Role == llm.RoleTool {
		return []step{pause(2 * time.Second), write("Well.")}
	}
	if m := order.FindStringSubmatch(last.Text); m != nil {
		return []step{pause(time.Second), call(0, "o"+m[1], "ORDER", `{"item":"`+m[1]+`"}`)}
	}
	if strings.Contains(last.Text, "Look") {
		return []step{pause(5 * time.Second), call(0, "l", "LOOK", `{}`)}
	}
	return []step{pause(3 * time.Second), write("Noted.")}
}

// begin starts a process that dies at a random effect, if dies.
func (w *steered) begin(dies bool) {
	w.faults = &gatewaytest.Faults{}
	w.n = w.startFaulty(w.faults)
	if dies {
		k, behind := 1+w.luck.IntN(25), w.luck.IntN(2) == 0
		w.note("a process begins, to die at effect %d, behind it: %v", k, behind)
		killAt(w.faults, k, behind, w.n)
	}
}

// deliver gives an event to a process until one has taken it. Those that have died are replaced.
func (w *steered) deliver(in chat.Inbound) chat.Accepted {
	for {
		if acc, err := w.n.ProcessMessage(w.Context(), in); err == nil && w.faults.Killed() == nil {
			return acc
		}
		time.Sleep(time.Duration(w.luck.Int64N(int64(20 * time.Second))))
		if w.faults.Killed() != nil {
			w.begin(w.luck.IntN(3) == 0)
		}
	}
}

func (w *steered) say(i int) {
	text := []string{fmt.Sprint("Order ", i), fmt.Sprint("Order ", i), fmt.Sprint("Look ", i), fmt.Sprint("Hello ", i)}[w.luck.IntN(4)]
	m := w.message(room, "ada", text)
	w.note("Ada writes %q", text)
	acc := w.deliver(m)
	w.accepted = append(w.accepted, m.ID)
	w.wrote = append(w.wrote, sentMessage{m, acc, time.Now()})
}

// decide lets Olga answer the cards that she sees, or not.
func (w *steered) decide() {
	open := require.Value(w.Store.OpenQuestions(w.Context(), "fake/olga"))(w)
	for _, q := range open {
		a := require.Value(w.Store.Approval(w.Context(), q.Payload))(w)
		switch option := w.luck.IntN(4); option {
		case 0, 1:
			w.note("Olga approves a call of %s", a.Run)
			w.approved[a.Run] = append(w.approved[a.Run], time.Now())
			w.deliver(chat.Choice(pressed(q, 0).by("olga")))
		case 2:
			w.note("Olga denies a call of %s", a.Run)
			w.deliver(chat.Choice(pressed(q, len(q.Options)-1).by("olga")))
		}
	}
}

// check returns what is wrong.
func (w *steered) check() (wrong []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	times := map[string]int{}
	for _, c := range w.made {
		if times[c.item]++; times[c.item] > 1 {
			wrong = append(wrong, fmt.Sprintf("order %s was made %d times", c.item, times[c.item]))
		}
		last := time.Time{} // of the messages before the call
		for _, m := range w.wrote {
			if m.by.Before(c.at) && m.At.After(last) {
				last = m.At
			}
		}
		approved := func(at time.Time) bool {
			return !at.After(c.at) && (w.cfg.Turns.Direct != schedule.Steer || !at.Before(last))
		}
		if !slices.ContainsFunc(w.approved[c.run], approved) {
			wrong = append(wrong, fmt.Sprintf("order %s was made at %v, the last message is of %v, and the approvals are of %v", c.item, c.at, last, w.approved[c.run]))
		}
	}
	runs := map[chat.MemoryID]chat.Run{}
	for i := range 3 * len(w.wrote) {
		if r, err := w.Store.Run(w.Context(), chat.RunID(fmt.Sprintf("%s#%d", room, i))); err == nil {
			for _, id := range r.Inputs {
				runs[id] = r
			}
		}
	}
	for _, m := range w.wrote {
		r, ok := runs[m.ID]
		superseded := r.Outcome.Status == answer.Superseded && !r.Lasting && w.cfg.Turns.Direct == schedule.Supersede
		if !ok || !r.Outcome.Done() || r.Outcome.Withdrawn && !superseded {
			wrong = append(wrong, fmt.Sprintf("%s was not answered: %+v", m.ID, r))
		}
	}
	return wrong
}

// playSteered plays a seed.
func playSteered(t *testing.T, seed uint64) {
	withHarness(t, func(h *harness) {
		w := &steered{harness: h, luck: rand.New(rand.NewPCG(seed, 39)), approved: map[chat.RunID][]time.Time{}}
		shop := w.withShop()
		shop.do = func(_ context.Context, c *action.Call) (action.Result, error) {
			var in struct{ Item string }
			err := c.Read(&in)
			w.mu.Lock()
			w.made = append(w.made, madeCall{c.Turn.Run, in.Item, time.Now()})
			w.mu.Unlock()
			w.note("order %s is made", in.Item)
			return action.Result{Text: "ordered"}, err
		}
		w.addActions(&fakeAction{name: "LOOK", effect: action.Reads, do: takes(20 * time.Second)})
		w.cfg.Turns.Direct = []schedule.Policy{schedule.Steer, schedule.Steer, schedule.Steer, schedule.Queue, schedule.Supersede}[w.luck.IntN(5)]
		w.cfg.Approval = 2 * time.Minute
		w.cfg.Access.Owners, w.cfg.Access.Allowed.Accounts["olga"] = map[chat.EntityID]bool{"olga": true}, true
		w.model.respond = w.respond
		w.begin(false)
		w.waitAnswer(w.n.send(w.message("fake/olga", "olga", "Hi")))
		w.note("the policy is %s", w.cfg.Turns.Direct)
		for i := range 3 + w.luck.IntN(4) {
			time.Sleep(100*time.Millisecond + time.Duration(w.luck.Int64N(int64(20*time.Second))))
			w.say(i)
			if w.luck.IntN(3) == 0 && w.faults.Killed() == nil {
				k := len(w.faults.Effects()) + 1 + w.luck.IntN(12)
				w.note("the process dies at effect %d", k)
				killAt(w.faults, k, w.luck.IntN(2) == 0, w.n)
			}
			time.Sleep(100*time.Millisecond + time.Duration(w.luck.Int64N(int64(20*time.Second))))
			w.decide()
		}
		for range 8 {
			time.Sleep(20 * time.Second)
			if w.faults.Killed() != nil {
				w.begin(false)
			}
			w.decide()
		}
		w.faults.Before(0, nil)
		w.faults.After(0, nil)
		time.Sleep(10 * time.Minute)
		wrong := w.check()
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(wrong) > 0 {
			t.Errorf("seed %d:\n%s\nwhat happened:\n%s", seed, strings.Join(wrong, "\n"), strings.Join(w.notes, "\n"))
		}
		w.chat.forgetSeen() // marks are not stored, and cards change after their ends
	})
}

// Over random arrivals, decisions, policies and deaths: no call that writes is made twice, none with an approval that is older than the last
// message of its asker, and each message is answered or visibly refused.
func TestSteeredSeeds(t *testing.T) {
	first, most := uint64(1), uint64(steeredSeeds)
	if s := os.Getenv("PARLEY_SEEDS"); s != "" {
		n := require.Value(strconv.ParseUint(s, 10, 64))(t)
		most = n
	}
	if s := os.Getenv("PARLEY_SEED"); s != "" {
		n := require.Value(strconv.ParseUint(s, 10, 64))(t)
		first, most = n, 1
	}
	for seed := first; seed < first+most; seed++ {
		playSteered(t, seed)
	}
}
