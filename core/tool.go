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

// block is the one of c, whose id is unique in the run. It is new if nobody has seen anything of the call.
func (x *execution) block(c llm.ToolCall, step int) *action.Block {
	x.mu.Lock()
	defer x.mu.Unlock()
	b := x.calls[c.ID]
	if b == nil {
		b = &action.Block{Answer: x.answer, ID: c.ID, Name: action.Brief(c.Name, action.MaxName), Step: step, Place: len(x.calls)}
		if t := x.rt.toolbox.Find(c.Name); t != nil {
			b.Compact, b.Quiet = t.Def.Compact, t.Def.Quiet
		}
		if x.calls == nil {
			x.calls = map[string]*action.Block{}
		}
		x.calls[c.ID] = b
	}
	return b
}

// begin shows that a round of the model asks for c.
func (x *execution) begin(c llm.ToolCall, step int) {
	x.block(c, step).Show(answer.Tool{Stage: answer.StageStart})
}

// stage shows how far a call has come.
func (x *execution) stage(c llm.ToolCall, t answer.Tool, files ...llm.File) {
	x.block(c, 0).Show(t, files...)
}

// call is what the action is given of c.
func (x *execution) call(ctx context.Context, c llm.ToolCall, parameters json.RawMessage) *action.Call {
	say := func(ctx context.Context, n chat.Notice) error {
		_, err := x.rt.Say(ctx, n)
		return err
	}
	return x.block(c, 0).Call(ctx, parameters, x.scene, slices.Clip(x.acted), action.Host{Say: say, Await: x.await, Ask: x.ask})
}

// callID makes sure that no two calls of a run have one id, whatever the model says (LM-05).
func (x *execution) callID(id string) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	for n := len(x.calls); id == "" || x.calls[id] != nil; n++ {
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
func (x *execution) endCalls(err error) {
	x.mu.Lock()
	calls := slices.SortedFunc(maps.Values(x.calls), func(a, b *action.Block) int { return cmp.Compare(a.Place, b.Place) })
	x.mu.Unlock()
	for _, b := range calls {
		b.Show(answer.Tool{Stage: answer.StageEnd, Error: dropped(err)})
	}
}
