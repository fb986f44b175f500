package core

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/partialjson"
	"parley/core/text"
)

// block is what people see of one call: from where it appears in what the model says to its end, which comes once, in
// whatever way.
type block struct {
	answer  *answer.Answer
	id      string
	name    string
	step    int // of the model, which asked for it
	place   int // among the calls of its run
	compact func(map[string]any) string
	quiet   bool // nobody is to see it
	written bool // the model wrote it as text

	mu         sync.Mutex
	tool       answer.Tool // as it was shown last
	files      []llm.File  // that the action shows now
	parameters partialjson.Reader
	cut        <-chan struct{} // closed when nobody listens any more; nil for never
}

// heard says for how long the action is listened to.
func (b *block) heard(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cut = ctx.Done()
}

// over says that nothing more is heard of the action.
func (b *block) over() bool {
	select {
	case <-b.cut:
		return true
	default:
		return b.tool.Stage == answer.StageEnd
	}
}

// show brings the block on its way. What t leaves open stays as it was, and files come below those that are there.
func (b *block) show(t answer.Tool, files ...llm.File) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tool.Stage == answer.StageEnd {
		return
	}
	if t.Name = b.name; b.tool.Stage == "" && t.Stage != answer.StageStart {
		b.apply(answer.Tool{Name: b.name, Stage: answer.StageStart}, nil)
	}
	switch {
	case t.Stage == answer.StageStreaming:
		t.ParametersChunk = text.Clean(t.ParametersChunk)
		b.parameters.Add(t.ParametersChunk)
		t.CompactParams = b.line()
	case t.Stage == answer.StageStart:
	default:
		b.complete(&t)
	}
	if len(files) > 0 {
		files = slices.Concat(b.files, files)
	}
	b.apply(t, files)
}

// complete gives a running or ended block its parameters.
func (b *block) complete(t *answer.Tool) {
	if t.Result = answer.LimitResult(text.Clean(t.Result)); t.Parameters == "" {
		t.Parameters = b.tool.Parameters
	}
	if t.CompactParams = b.tool.CompactParams; t.Parameters != b.tool.Parameters {
		b.parameters = partialjson.Reader{}
		b.parameters.Add(t.Parameters)
		t.CompactParams = b.line()
	}
}

// running shows a line of a call that runs.
func (b *block) running(short string) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if t := b.tool; t.Stage == answer.StageRunning && !b.over() {
		t.ShortResult = brief(text.Clean(short), maxShort)
		b.apply(t, nil)
	}
}

// say shows what the call says, and returns where the answer stands then; 0 if nobody listens.
func (b *block) say(c answer.Change) answer.Cursor {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over() {
		return 0
	}
	if c.Call = b.id; c.Kind == answer.Callback {
		b.files = c.Files
	}
	b.answer.Apply(c)
	return b.answer.View().At
}

func (b *block) apply(t answer.Tool, files []llm.File) {
	b.tool = t
	if b.quiet {
		return
	}
	b.answer.Apply(answer.Change{Kind: answer.ToolStage, Step: b.step, Call: b.id, Tool: &t, Files: files})
}

// line is the parameters so far in one line.
func (b *block) line() (line string) {
	defer func() {
		if recover() != nil { // it may not have thought of parameters that are not there yet
			line = brief(values(&b.parameters), maxCompact)
		}
	}()
	object := b.parameters.Object()
	if b.compact == nil || object == nil {
		return brief(values(&b.parameters), maxCompact)
	}
	return brief(text.Clean(b.compact(object)), maxCompact)
}

// block is the one of c, whose id is unique in the run. It is new if nobody has seen anything of the call.
func (x *execution) block(c llm.ToolCall, step int) *block {
	x.mu.Lock()
	defer x.mu.Unlock()
	b := x.calls[c.ID]
	if b == nil {
		b = &block{answer: x.answer, id: c.ID, name: brief(c.Name, maxName), step: step, place: len(x.calls)}
		if t := x.rt.toolbox.find(c.Name); t != nil {
			b.compact, b.quiet = t.spec.Compact, t.spec.Quiet
		}
		if x.calls == nil {
			x.calls = map[string]*block{}
		}
		x.calls[c.ID] = b
	}
	return b
}

// begin shows that a round of the model asks for c.
func (x *execution) begin(c llm.ToolCall, step int) {
	x.block(c, step).show(answer.Tool{Stage: answer.StageStart})
}

// stage shows how far a call has come.
func (x *execution) stage(c llm.ToolCall, t answer.Tool, files ...llm.File) {
	x.block(c, 0).show(t, files...)
}

// call is what the action is given of c.
func (x *execution) call(ctx context.Context, c llm.ToolCall, parameters json.RawMessage) *Call {
	say := func(ctx context.Context, n chat.Notice) error {
		_, err := x.rt.Say(ctx, n)
		return err
	}
	return x.block(c, 0).call(ctx, parameters, x.scene, slices.Clip(x.acted), Host{Say: say, Await: x.await, Ask: x.ask})
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
	calls := slices.SortedFunc(maps.Values(x.calls), func(a, b *block) int { return cmp.Compare(a.place, b.place) })
	x.mu.Unlock()
	for _, b := range calls {
		b.show(answer.Tool{Stage: answer.StageEnd, Error: dropped(err)})
	}
}
