// Package toolcall makes the calls of actions that a model requests: it checks them, asks for the confirmation of calls
// that may repeat text in the prompts, runs them within their time limit, and records their results.
//
// [Calls] is made for one run. It guarantees two things. A writing action is never repeated: its beginning is journaled
// before it starts, so a process that adopts the run after a crash reports that it may have happened, instead of
// repeating it. And text of other authors can't make the agent write: a call that may be a quote of such text is
// confirmed by a person, or refused.
//
// The model receives errors as a sentence, since it may repeat them to users. The visible part of a call is its block
// in the answer, which always reaches an end.
package toolcall

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/llm"
	"parley/core/prompt"
	"parley/core/text"
	"parley/internal/lang"
)

// Calls makes the calls of one run. Its fields are set before the first call. Its methods that show calls are safe for
// concurrent use, because an action may show its progress from goroutines of its own; calls are made one after the
// other, by the goroutine of the run.
type Calls struct {
	Run     chat.Run
	Info    event.RunInfo
	Turn    *action.TurnContext // may change until the first call
	Answer  *answer.Answer
	Toolbox *action.Toolbox
	// Await waits for an action that is not in Toolbox, and returns the actions of that moment; see [action.LiveToolbox].
	Await     func(ctx context.Context, s action.TurnContext, name string, params json.RawMessage) (*action.Toolbox, error)
	Offers    func(*action.Tool, action.TurnContext) bool // whether an action can be used in a turn
	Outputs   func() []prompt.Output                      // the texts of providers for the model
	Host      action.Host
	Journal   Journal
	Risk      *Risk    // can be nil
	Approvals Approver // asked about calls that need an approval
	// ConfirmFor is how long the run waits for the confirmation of a call that may be a quote.
	ConfirmFor time.Duration
	// Life outlives the turn: a later message or a stop does not cancel an action that has begun to write, since half
	// of its effect may be worse than all of it.
	Life context.Context
	Emit func(event.Event)
	Log  *slog.Logger

	Acted []action.Acted // the calls that have ended

	// acting is the last call that has begun to write. It belongs to the goroutine of the run.
	acting string

	// mu guards blocks, and Toolbox when it is replaced.
	mu      sync.Mutex
	blocks  map[string]*action.Block // by the ids of their calls
	remotes map[string]*remote       // by the model's ids; of the run's goroutine
	told    []string                 // the results of remotes, shortened; of the run's goroutine
	// statuses are the texts of the provider's statuses; of the run's goroutine
	statuses map[string]string
}

// A Journal records calls. An error ends the run: it has lost the room, or the store. In both cases nothing more may be
// done, because it could not be recorded.
type Journal interface {
	// Settle returns the reason why the turn no longer has the room: [chat.ErrSuperseded] or [chat.ErrStopped]; nil if
	// it has it, or that is unknown.
	Settle() error
	// Note adds n to the stored run. It is stored when Note returns. It fails if another process has taken over the run
	// since.
	Note(ctx context.Context, n chat.Note) error
	// Remember stores the result of a call, unless the question was deleted. It fails with the error of the store.
	Remember(ctx context.Context, m chat.Memory) error
}

// An Approver decides about calls that need an approval.
type Approver interface {
	// Approve asks for an approval of c, for the reasons in a. Asked reports whether a user has just seen the call and
	// decided, perhaps with other parameters, which c then has; refused is the reason why the call can't be made, empty if it can; it is for the model. An error
	// ends the run, or parks it with [chat.ErrParked]: then Approve is called again with the same call when there is a
	// decision.
	Approve(ctx context.Context, c *action.Call, t *action.Tool, a action.Approval) (asked bool, refused string, err error)
}

// UseToolbox replaces the actions, before any of them is looked up for a prompt.
func (tc *Calls) UseToolbox(all *action.Toolbox) {
	tc.mu.Lock()
	defer tc.mu.Unlock()
	tc.Toolbox = all
}

// block returns the block of c, whose id is unique in the run. It is new if no part of the call was shown yet. The name
// comes from the model, so it is shortened.
func (tc *Calls) block(c llm.ToolCall, step int) *action.Block {
	tc.mu.Lock()
	defer tc.mu.Unlock()
	b := tc.blocks[c.ID]
	if b == nil {
		b = &action.Block{Answer: tc.Answer, ID: c.ID, Name: text.Brief(text.Clean(c.Name), action.MaxName), Step: step, Place: len(tc.blocks)}
		if t := tc.Toolbox.Find(c.Name); t != nil {
			b.Describe(t.Def)
			_, delegate := t.Action.(action.Delegate) // the action that it stands for is known later
			b.Quiet, b.Hide = t.Def.Quiet, t.Def.Hide || delegate
		}
		if tc.blocks == nil {
			tc.blocks = map[string]*action.Block{}
		}
		tc.blocks[c.ID] = b
	}
	return b
}

// Begin shows that a round of the model requests c, as text or as a native call.
func (tc *Calls) Begin(c llm.ToolCall, step int, written bool) {
	b := tc.block(c, step)
	b.Written = written
	b.Show(answer.Tool{Stage: answer.StageStart})
}

// Stage shows the progress of a call.
func (tc *Calls) Stage(c llm.ToolCall, t answer.Tool, files ...llm.File) {
	tc.block(c, 0).Show(t, files...)
}

// call returns c for its action. Acted is clipped, so that a later call does not change the list of this one.
func (tc *Calls) call(ctx context.Context, c llm.ToolCall, parameters json.RawMessage) *action.Call {
	host := tc.Host
	host.Read = tc.read
	return tc.block(c, 0).Call(ctx, parameters, *tc.Turn, slices.Clip(tc.Acted), host)
}

// Acting returns the id of the last call of the run that has begun to write, or "": also of an earlier process.
func (tc *Calls) Acting() string { return cmp.Or(tc.acting, tc.Run.Acting) }

// IDs returns the ids of all calls so far.
func (tc *Calls) IDs() []string {
	tc.mu.Lock()
	defer tc.mu.Unlock()
	return slices.Sorted(maps.Keys(tc.blocks))
}

// Resume continues the calls of a run that was parked, whose answer contains the visible part. The calls in waiting are
// yet to be made; written reports whether the model wrote these as text. All ids of the run are reserved, so that no
// new call gets an old one.
func (tc *Calls) Resume(ids []string, waiting []llm.ToolCall, written bool) {
	for _, c := range waiting {
		b := tc.block(c, 0)
		b.Written = written
	}
	shown := map[string]answer.Segment{}
	for _, s := range tc.Answer.View().Segments {
		shown[s.Call] = s
	}
	for _, id := range ids {
		s, ok := shown[id]
		pending := slices.ContainsFunc(waiting, func(c llm.ToolCall) bool { return c.ID == id })
		if !ok && !pending { // it was quiet, and is over
			s.Tool.Stage = answer.StageEnd
		}
		tc.block(llm.ToolCall{ID: id, Name: s.Tool.Name}, 0).Resume(s.Tool, s.Files)
	}
}

// NewID returns id, without characters that can't be stored, if no call of the run has it, and another one otherwise:
// some models number the calls of each round from 0, and two calls with one id would share a block and a record.
func (tc *Calls) NewID(id string) string {
	id = text.Clean(id)
	tc.mu.Lock()
	defer tc.mu.Unlock()
	for n := len(tc.blocks); id == "" || tc.blocks[id] != nil; n++ {
		id = fmt.Sprintf("call-%d", n)
	}
	return id
}

// dropped returns the visible end of a call that was requested and not made.
func dropped(ctx context.Context, err error) string {
	if chat.StatusOf(err) == answer.Failed {
		return chat.FailureOf(err).Sentence(lang.Of(ctx))
	}
	return lang.Say(ctx, "tool.cancelled")
}

// EndCalls ends the calls that were requested and not made, in the order of their appearance: no block outlives its
// answer. err is the end of the turn. A block that has ended ignores it.
func (tc *Calls) EndCalls(err error) {
	tc.mu.Lock()
	calls := slices.SortedFunc(maps.Values(tc.blocks), func(a, b *action.Block) int { return cmp.Compare(a.Place, b.Place) })
	tc.mu.Unlock()
	for _, b := range calls {
		if !b.Ended() {
			b.Show(answer.Tool{Stage: answer.StageEnd, Error: dropped(tc.Life, err)})
		}
	}
}
