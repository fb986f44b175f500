package gatewaytest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"parley/core"
	"parley/core/chat"
	"parley/core/storage"
	"parley/core/storage/storagetest"
)

// Faults are the crashes and failures of one process. It counts the process's effects, which are the calls that change something outside
// of the process: in the store, the tracker or the chat. A test chooses an effect before or after which the process is killed, or effects
// that fail. The zero value has no faults. All methods are safe for concurrent use.
type Faults struct {
	// Around, if not nil, is called before and after each effect. It is set before the first call.
	Around func()

	mu      sync.Mutex
	effects []string
	before  map[int]func()
	after   map[int]func()
	refuse  func(effect string) error
	killed  bool
}

// Before calls step right before the nth effect, from 1.
func (f *Faults) Before(n int, step func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before = map[int]func(){n: step}
}

// BeforeNext calls step right before the next effect.
func (f *Faults) BeforeNext(step func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before = map[int]func(){len(f.effects) + 1: step}
}

// After calls step right after the nth effect, from 1, before the process has its result.
func (f *Faults) After(n int, step func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.after = map[int]func(){n: step}
}

// Refuse makes each effect for which fail returns an error fail with it, without effect. Nil ends that.
func (f *Faults) Refuse(fail func(effect string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refuse = fail
}

// Kill ends the process as SIGKILL does: from now on it has no effect, and all its calls return [chat.ErrCrashed]. Its goroutines end only
// when its context does: see [Process.Stop].
func (f *Faults) Kill() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.killed = true
}

// Killed returns [chat.ErrCrashed] after Kill, otherwise nil.
func (f *Faults) Killed() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.killed {
		return chat.ErrCrashed
	}
	return nil
}

// Effects returns the names of the effects so far, in their order, including those that failed.
func (f *Faults) Effects() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.effects)
}

// Do calls call, which is an effect, with the faults that apply to it. A nil f has none. A process that is killed before or during the call
// gets [chat.ErrCrashed].
func (f *Faults) Do(effect string, call func() error) error {
	if f == nil {
		return call()
	}
	if err := f.Killed(); err != nil {
		return err
	}
	before, after := f.count(effect)
	before()
	if err := cmp.Or(f.Killed(), f.refused(effect)); err != nil {
		return err
	}
	err := call()
	after()
	return cmp.Or(f.Killed(), err)
}

// count adds an effect, and returns the functions to call around it.
func (f *Faults) count(effect string) (before, after func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.effects = append(f.effects, effect)
	n := len(f.effects)
	call := func(step func()) func() {
		return func() {
			if step != nil {
				step()
			}
			if f.Around != nil {
				f.Around()
			}
		}
	}
	return call(f.before[n]), call(f.after[n])
}

func (f *Faults) refused(effect string) error {
	f.mu.Lock()
	fail := f.refuse
	f.mu.Unlock()
	if fail == nil {
		return nil
	}
	return fail(effect)
}

// effects maps the methods of a store that are effects to their names. Heartbeats and reads are not effects.
var effects = map[string]string{
	"Accept": "accept", "Start": "start", "Attempt": "attempt", "Finish": "finish", "Revise": "revise", "Reopen": "reopen", "Forget": "forget",
	"Park": "park", "Wake": "wake", "Ask": "ask", "Choose": "choose", "Retire": "retire", "RequestApproval": "request approval",
	"DecideApproval": "decide approval", "Approve": "approve", "Reject": "reject", "RetryRun": "retry", "Withdraw": "withdraw", "Spend": "spend",
	"AddReminder": "add reminder", "MoveReminder": "move reminder",
}

// Store returns s as the process reaches it, with its effects counted. Reads of a killed process still work, except those that begin work.
func (f *Faults) Store(s storage.Store) *storagetest.Interceptor {
	return &storagetest.Interceptor{Store: s, Around: func(_ context.Context, c storagetest.Call, do func() error) error {
		var err error
		switch c.Method {
		case "Note":
			return f.Do(noteName(c.Args[2].(chat.Note)), do)
		case "OpenRuns":
			err = cmp.Or(f.Killed(), f.refused("open"))
		case "RenewLease", "Leave":
			err = f.Killed()
		default:
			if effect, ok := effects[c.Method]; ok {
				return f.Do(effect, do)
			}
		}
		if err != nil {
			return err
		}
		return do()
	}}
}

// Tracker returns t as the process reaches it, with its effects counted.
func (f *Faults) Tracker(t core.Tracker) core.Tracker { return &tracker{t, f} }

type tracker struct {
	core.Tracker
	faults *Faults
}

func (t *tracker) Claim(ctx context.Context, a chat.AgentID, in chat.RoomID, id chat.ResponseID) (claimed context.Context, err error) {
	err = t.faults.Do("claim", func() error {
		claimed, err = t.Tracker.Claim(ctx, a, in, id)
		return err
	})
	return claimed, err
}

func (t *tracker) Settle(ctx context.Context, a chat.AgentID, in chat.RoomID, id chat.ResponseID) error {
	return t.faults.Do("settle", func() error { return t.Tracker.Settle(ctx, a, in, id) })
}

func (t *tracker) Stop(ctx context.Context, a chat.AgentID, in chat.RoomID, upTo chat.ResponseID) error {
	return t.faults.Do("stop", func() error { return t.Tracker.Stop(ctx, a, in, upTo) })
}

func noteName(n chat.Note) string {
	switch {
	case n.Verdict != nil:
		return "note verdict"
	case n.Acting != "":
		return "note acting"
	case n.Acted != "":
		return "note acted"
	case n.Shown != nil:
		ids := []string{}
		for _, s := range n.Shown {
			ids = append(ids, s.ID)
		}
		return fmt.Sprintf("note shown %q", ids)
	}
	return "note text"
}
