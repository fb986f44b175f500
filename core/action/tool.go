package action

import (
	"context"
	"slices"
	"sync"

	"parley/core/answer"
	"parley/core/llm"
	"parley/core/partialjson"
	"parley/core/text"
)

// Block is what people see of one call: from where it appears in what the model says to its end, which comes once, in
// whatever way.
type Block struct {
	Answer  *answer.Answer
	ID      string
	Name    string
	Step    int // of the model, which asked for it
	Place   int // among the calls of its run
	Compact func(map[string]any) string
	Quiet   bool // nobody is to see it
	Written bool // the model wrote it as text

	mu         sync.Mutex
	tool       answer.Tool // as it was shown last
	files      []llm.File  // that the action shows now
	parameters partialjson.Reader
	cut        <-chan struct{} // closed when nobody listens any more; nil for never
}

// heard says for how long the action is listened to.
func (b *Block) heard(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cut = ctx.Done()
}

// over says that nothing more is heard of the action.
func (b *Block) over() bool {
	select {
	case <-b.cut:
		return true
	default:
		return b.tool.Stage == answer.StageEnd
	}
}

// Show brings the block on its way. What t leaves open stays as it was, and files come below those that are there.
func (b *Block) Show(t answer.Tool, files ...llm.File) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tool.Stage == answer.StageEnd {
		return
	}
	if t.Name = b.Name; b.tool.Stage == "" && t.Stage != answer.StageStart {
		b.apply(answer.Tool{Name: b.Name, Stage: answer.StageStart}, nil)
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
func (b *Block) complete(t *answer.Tool) {
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
func (b *Block) running(short string) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if t := b.tool; t.Stage == answer.StageRunning && !b.over() {
		t.ShortResult = Brief(text.Clean(short), maxShort)
		b.apply(t, nil)
	}
}

// say shows what the call says, and returns where the answer stands then; 0 if nobody listens.
func (b *Block) say(c answer.Change) answer.Cursor {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over() {
		return 0
	}
	if c.Call = b.ID; c.Kind == answer.Callback {
		b.files = c.Files
	}
	b.Answer.Apply(c)
	return b.Answer.View().At
}

func (b *Block) apply(t answer.Tool, files []llm.File) {
	b.tool = t
	if b.Quiet {
		return
	}
	b.Answer.Apply(answer.Change{Kind: answer.ToolStage, Step: b.Step, Call: b.ID, Tool: &t, Files: files})
}

// line is the parameters so far in one line.
func (b *Block) line() (line string) {
	defer func() {
		if recover() != nil { // it may not have thought of parameters that are not there yet
			line = Brief(values(&b.parameters), maxCompact)
		}
	}()
	object := b.parameters.Object()
	if b.Compact == nil || object == nil {
		return Brief(values(&b.parameters), maxCompact)
	}
	return Brief(text.Clean(b.Compact(object)), maxCompact)
}
