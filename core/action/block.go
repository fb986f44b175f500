package action

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"parley/core/answer"
	"parley/core/llm"
	"parley/core/text"
	"parley/internal/partialjson"
)

// A Block is the visible part of one call, from its appearance in the model's output to its end, which occurs exactly
// once.
type Block struct {
	Answer  *answer.Answer
	ID      string
	Name    string
	Label   string // see [Spec.Title]; empty: made from Name
	Hide    bool   // see [Spec.Hide]
	Step    int    // the model round that requested it
	Place   int    // its index among the calls of its run
	Compact func(map[string]any) string
	Quiet   bool // hidden from users
	Written bool // the model wrote it as plain text

	mu         sync.Mutex
	tool       answer.Tool // as last shown
	files      []llm.File  // currently shown by the action
	parameters partialjson.Reader
	cut        <-chan struct{} // closed when the output is no longer shown; nil for never
}

// Call returns the [Call] to pass to the action; its output appears in the block. Output after ctx is done is dropped,
// because the model already has a cancellation as the result.
func (b *Block) Call(ctx context.Context, params json.RawMessage, s TurnContext, earlier []Acted, h Host) *Call {
	b.heard(ctx)
	return &Call{ID: b.ID, Parameters: params, Turn: s, Earlier: earlier, block: b, say: h.Say, await: h.Await, ask: h.Ask, park: h.Park, chose: h.Chose, waited: h.Waited, read: h.Read, files: h.Files}
}

// heard determines for how long the action's output is shown.
func (b *Block) heard(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cut = ctx.Done()
}

// Describe sets the name and the visibility of the call: as a call of the action s.
func (b *Block) Describe(s Spec) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Hide, b.Compact = s.Hide, s.Compact
	if s.Label != "" || s.Name != b.Name { // otherwise it is made from the visible name
		b.Label = s.Title()
	}
}

// over reports whether the action's output is dropped.
func (b *Block) over() bool {
	select {
	case <-b.cut:
		return true
	default:
		return b.tool.Stage == answer.StageEnd
	}
}

// Resume continues a call whose block is already in the answer, as t and files.
func (b *Block) Resume(t answer.Tool, files []llm.File) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tool, b.files = t, files
	if t.Label != "" { // the action can be gone
		b.Label, b.Hide = t.Label, t.Hidden
	}
	b.parameters.Add(t.Parameters)
}

// Show updates the block. Empty fields of t keep their values, and files are appended to existing ones.
func (b *Block) Show(t answer.Tool, files ...llm.File) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tool.Stage == answer.StageEnd {
		return
	}
	if b.tool.Stage == "" && t.Stage != answer.StageStart {
		b.apply(answer.Tool{Stage: answer.StageStart}, nil)
	}
	switch {
	case t.Stage == answer.StageStreaming:
		t.ParametersChunk = text.Clean(t.ParametersChunk)
		b.parameters.Add(t.ParametersChunk)
		t.CompactParams, t.Worded = b.line()
	case t.Stage == answer.StageStart:
	default:
		b.complete(&t)
	}
	if len(files) > 0 {
		files = slices.Concat(b.files, files)
	}
	b.apply(t, files)
}

// complete adds the parameters to a running or ended block.
func (b *Block) complete(t *answer.Tool) {
	if t.Result = answer.LimitResult(text.Clean(t.Result)); t.Parameters == "" {
		t.Parameters = b.tool.Parameters
	}
	if t.CompactParams, t.Worded = b.tool.CompactParams, b.tool.Worded; t.Parameters != b.tool.Parameters {
		b.parameters = partialjson.Reader{}
		b.parameters.Add(t.Parameters)
		t.CompactParams, t.Worded = b.line()
	}
}

// running shows a status line of a running call.
func (b *Block) running(short string) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if t := b.tool; t.Stage == answer.StageRunning && !b.over() {
		t.ShortResult = text.Brief(text.Clean(short), maxShort)
		b.apply(t, nil)
	}
}

// say shows the call's output, and returns the answer's cursor after it; 0 if the output is no longer shown.
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
	t.Name, t.Label, t.Hidden = b.Name, b.Label, b.Hide
	b.tool = t
	if b.Quiet {
		return
	}
	b.Answer.Apply(answer.Change{Kind: answer.ToolStage, Step: b.Step, Call: b.ID, Tool: &t, Files: files})
}

// line returns the parameters so far in one line. worded reports whether the action wrote it; otherwise it lists values.
func (b *Block) line() (line string, worded bool) {
	defer func() {
		if recover() != nil { // Compact may not expect missing parameters
			line, worded = text.Brief(values(&b.parameters), maxCompact), false
		}
	}()
	object := b.parameters.Object()
	if b.Compact == nil || object == nil {
		return text.Brief(values(&b.parameters), maxCompact), false
	}
	return text.Brief(text.Clean(b.Compact(object)), maxCompact), true
}

const (
	maxCompact = 80  // maximum length of a call's parameters, in characters
	maxShort   = 120 // maximum length of its status, in characters
	maxValues  = 4   // maximum number of listed parameters
	MaxLabel   = 60  // maximum length of its label, in characters
	MaxName    = 64  // maximum length of an action's name, which the model may have invented, in characters
)

// values lists the parameter values, for owners, of actions without [Spec.Compact].
func values(r *partialjson.Reader) string {
	var shown []string
	for _, name := range r.Names() {
		if v := value(name, r.Object()[name]); v != "" {
			shown = append(shown, v)
		}
		if len(shown) == maxValues {
			break
		}
	}
	return strings.Join(shown, ", ")
}

func value(name string, v any) string {
	switch v := v.(type) {
	case string:
		return text.Brief(v, maxCompact/2)
	case float64:
		return fmt.Sprint(v)
	case bool:
		if v {
			return name
		}
	case []any:
		return fmt.Sprintf("%s: %d", name, len(v))
	}
	return ""
}

// Ended reports whether the end of the call was shown.
func (b *Block) Ended() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tool.Stage == answer.StageEnd
}
