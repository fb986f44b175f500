package core

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
)

// block is the one of c, whose id is unique in the run. It is new if nothing of the call was shown yet.
func (tc *toolCalls) block(c llm.ToolCall, step int) *action.Block {
	tc.x.mu.Lock()
	defer tc.x.mu.Unlock()
	b := tc.x.calls[c.ID]
	if b == nil {
		b = &action.Block{Answer: tc.x.answer, ID: c.ID, Name: action.Brief(c.Name, action.MaxName), Step: step, Place: len(tc.x.calls)}
		if t := tc.x.rt.toolbox.Find(c.Name); t != nil {
			b.Compact, b.Quiet = t.Def.Compact, t.Def.Quiet
		}
		if tc.x.calls == nil {
			tc.x.calls = map[string]*action.Block{}
		}
		tc.x.calls[c.ID] = b
	}
	return b
}

// begin shows that a round of the model asks for c.
func (tc *toolCalls) begin(c llm.ToolCall, step int) {
	tc.block(c, step).Show(answer.Tool{Stage: answer.StageStart})
}

// stage shows how far a call has come.
func (tc *toolCalls) stage(c llm.ToolCall, t answer.Tool, files ...llm.File) {
	tc.block(c, 0).Show(t, files...)
}

// call is what the action is given of c.
func (tc *toolCalls) call(ctx context.Context, c llm.ToolCall, parameters json.RawMessage) *action.Call {
	say := func(ctx context.Context, n chat.Notice) error {
		_, err := tc.x.rt.Say(ctx, n)
		return err
	}
	return tc.block(c, 0).Call(ctx, parameters, tc.x.turn, slices.Clip(tc.acted), action.Host{Say: say, Await: tc.x.await, Ask: tc.x.asking.ask})
}

// callID makes sure that no two calls of a run have one id, whatever the model says (LM-05).
func (tc *toolCalls) callID(id string) string {
	tc.x.mu.Lock()
	defer tc.x.mu.Unlock()
	for n := len(tc.x.calls); id == "" || tc.x.calls[id] != nil; n++ {
		id = fmt.Sprintf("call-%d", n)
	}
	return id
}

// dropped is what people read of a call that was asked for and not made.
func dropped(err error) string {
	if statusOf(err) == answer.Failed {
		return failureKind(err).Sentence()
	}
	return tooLate
}

const tooLate = "Cancelled before it started."

// endCalls ends the calls that were asked for and not made: no block outlives its answer. err is how the turn ended.
func (tc *toolCalls) endCalls(err error) {
	tc.x.mu.Lock()
	calls := slices.SortedFunc(maps.Values(tc.x.calls), func(a, b *action.Block) int { return cmp.Compare(a.Place, b.Place) })
	tc.x.mu.Unlock()
	for _, b := range calls {
		b.Show(answer.Tool{Stage: answer.StageEnd, Error: dropped(err)})
	}
}
