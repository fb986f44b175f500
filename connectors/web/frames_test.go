package web

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/core/answer"
	"parley/core/llm"
	"parley/internal/require"
)

// page is a reader who does with frames what they say.
type page struct {
	text  string
	calls map[string]int // how much text stands above each
	done  int
	bytes int
}

func (p *page) read(t *testing.T, fs []frame) {
	t.Helper()
	for _, f := range fs {
		b := require.Value(json.Marshal(f))(t)
		p.bytes += len(b)
		switch f.Type {
		case "token":
			if f.FullText != nil {
				p.text = *f.FullText
			} else {
				p.text += *f.Text
			}
		case "tool":
			p.calls[f.CallID] = f.At
		case "done":
			p.done++
			if f.NoResponse == "" && p.text != *f.FullText {
				t.Fatalf("the frames add up to %q, done says %q", p.text, *f.FullText)
			}
		}
	}
}

// write makes one random change of an answer.
func write(a *answer.Answer, r *rand.Rand) {
	switch step, call := r.IntN(3), fmt.Sprint("call", r.IntN(3)); r.IntN(8) {
	case 6:
		a.Apply(answer.Change{Kind: answer.Thinking})
	case 7:
		a.Apply(answer.Change{Kind: answer.Reasoning, Text: "I wonder."})
	case 0:
		a.Apply(answer.Change{Kind: answer.Callback, Call: call, Text: []string{"", "Searching…", "Found **it**", "ha"}[r.IntN(4)]})
	case 1:
		a.Apply(answer.Change{Kind: answer.ToolStage, Call: call, Tool: &answer.Tool{Name: "X", Stage: answer.StageRunning}})
	case 2:
		a.Apply(answer.Change{Kind: answer.Text, Call: call, Text: " more"})
	default:
		a.Apply(answer.Change{Kind: answer.Text, Step: step, Text: []string{"ha", "\n", "```\n", "bana", "na", " "}[r.IntN(6)]})
	}
}

// Whatever happens to an answer and however seldom a reader looks, what it has read is what there is: also the texts
// that a merge by overlap damages. And its calls stand where a reload shows them.
func TestFramesAddUp(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		a, enc, p := &answer.Answer{}, encoder{wishes: wishes{legacy: seed%7 == 0}, joining: seed%5 == 0}, &page{calls: map[string]int{}}
		var at answer.Cursor
		look := func() {
			changes, view := a.Read(at)
			at = view.At
			p.read(t, enc.encode("run", changes, view))
			if p.text != view.Text() {
				t.Fatalf("seed %d: the page shows %q, the answer says %q", seed, p.text, view.Text())
			}
			for _, c := range view.Calls() {
				if p.calls[c.ID] != c.At {
					t.Fatalf("seed %d: %s stands below %d bytes, not %d, of %q", seed, c.ID, p.calls[c.ID], c.At, p.text)
				}
			}
		}
		for range 1 + r.IntN(30) {
			write(a, r)
			if r.IntN(3) == 0 {
				look()
			}
		}
		a.End(answer.Outcome{Status: answer.Completed})
		look()
		if p.done != 1 {
			t.Fatalf("seed %d: done came %d times", seed, p.done)
		}
	}
}

// A token frame has the addition or the whole, never both; the old protocol has both in every frame.
func TestTokenFrames(t *testing.T) {
	a := &answer.Answer{}
	a.Apply(answer.Change{Kind: answer.Text, Text: "Hello"})
	for _, c := range []struct {
		enc        encoder
		text, full bool
	}{
		{encoder{}, true, false},
		{encoder{joining: true}, false, true},
		{encoder{wishes: wishes{legacy: true}}, true, true},
	} {
		for _, f := range c.enc.encode("r", nil, a.View()) {
			if f.Type == "token" && (f.Text != nil) != c.text || f.Type == "token" && (f.FullText != nil) != c.full {
				t.Errorf("%+v gives text %v, fullText %v", c.enc, f.Text != nil, f.FullText != nil)
			}
		}
	}
}

// Whole texts come at doubling sizes, so that the bytes sent grow with the text and not with its square (ST-22).
func TestBytesGrowLinearly(t *testing.T) {
	sent := func(deltas int) int {
		a, enc, p := &answer.Answer{}, encoder{}, &page{}
		var at answer.Cursor
		for range deltas {
			a.Apply(answer.Change{Kind: answer.Text, Text: "word "})
			changes, view := a.Read(at)
			at = view.At
			p.read(t, enc.encode("r", changes, view))
		}
		return p.bytes
	}
	if small, large := sent(2000), sent(20000); large > 11*small {
		t.Errorf("ten times the text takes %d bytes instead of %d", large, small)
	}
}

func TestStatusIsNotRepeated(t *testing.T) {
	a, enc := &answer.Answer{}, encoder{}
	fs := slices.Clone(enc.thinking())
	var at answer.Cursor
	for _, word := range strings.Fields("one two three") {
		a.Apply(answer.Change{Kind: answer.Text, Text: word})
		changes, view := a.Read(at)
		at = view.At
		fs = append(fs, enc.encode("r", changes, view)...)
	}
	var kinds []string
	for _, f := range fs {
		if f.Type == "status" {
			kinds = append(kinds, f.Kind)
		}
	}
	if got := strings.Join(kinds, " "); got != "thinking streaming" {
		t.Errorf("the statuses are %q", got)
	}
}

func TestDone(t *testing.T) {
	for _, c := range []struct {
		outcome answer.Outcome
		text    string
		want    string
	}{
		{answer.Outcome{Status: answer.Completed}, "Hi", `{"type":"done","fullText":"Hi","messageId":"r","agentName":"A"}`},
		{answer.Outcome{Status: answer.Stopped}, "Hi", `{"type":"done","fullText":"Hi","messageId":"r","agentName":"A","interrupted":true}`},
		{answer.Outcome{Status: answer.Superseded, Withdrawn: true}, "Hi",
			`{"type":"done","fullText":"","agentName":"A","interrupted":true,"noResponseReason":"superseded"}`},
		{answer.Outcome{Status: answer.Ignored, Reason: "Too much."}, "", `{"type":"done","fullText":"","agentName":"A","noResponseReason":"ignored","reason":"Too much."}`},
		{answer.Outcome{Status: answer.Ignored}, "", `{"type":"done","fullText":"","agentName":"A","noResponseReason":"ignored"}`},
		{answer.Outcome{Status: answer.Failed, Failure: llm.RateLimited}, "Busy.",
			`{"type":"done","fullText":"Busy.","messageId":"r","agentName":"A","failureKind":"rate_limited"}`},
		{answer.Outcome{Status: answer.Failed, Failure: llm.RateLimited, Partial: true}, "Half.",
			`{"type":"done","fullText":"Half.","messageId":"r","agentName":"A","failureKind":"rate_limited","interrupted":true}`},
	} {
		a, enc := &answer.Answer{}, encoder{agent: "A"}
		a.Apply(answer.Change{Kind: answer.Text, Text: c.text})
		a.End(c.outcome)
		fs := enc.encode("r", nil, a.View())
		got, err := json.Marshal(fs[len(fs)-1])
		if err != nil || string(got) != c.want {
			t.Errorf("%v gives\n%s, not\n%s", c.outcome, got, c.want)
		}
	}
}

// Who has only chosen, for an answer that waits, is told so: nothing comes of it here.
func TestDoneOfAChoice(t *testing.T) {
	for status, want := range map[answer.Status]string{answer.Ignored: "chosen", answer.Completed: ""} {
		a, enc := &answer.Answer{}, encoder{chosen: true}
		a.Apply(answer.Change{Kind: answer.Text, Text: "Hi"})
		a.End(answer.Outcome{Status: status})
		if f := enc.done("r", a.View()); f.Kind != want {
			t.Errorf("%s is of the kind %q", status, f.Kind)
		}
	}
}

// A call's frames are ordered with the text, and an abandoned call ends.
func TestFramesOfACall(t *testing.T) {
	var a answer.Answer
	tool := func(x answer.Tool) {
		x.Name = "READ"
		a.Apply(answer.Change{Kind: answer.ToolStage, Call: "1", Tool: &x})
	}
	a.Apply(answer.Change{Kind: answer.Text, Text: "I read it."})
	tool(answer.Tool{Stage: answer.StageStart})
	tool(answer.Tool{Stage: answer.StageStreaming, ParametersChunk: `{"path":`, CompactParams: ""})
	tool(answer.Tool{Stage: answer.StageStreaming, ParametersChunk: `"a.txt"}`, CompactParams: "a.txt"})
	enc := encoder{wishes: wishes{details: true}}
	changes, view := a.Read(0)
	at := view.At
	want := `{"type":"status","kind":"streaming"}
{"type":"token","text":"I read it."}
{"type":"tool","phase":"call","callId":"1","toolName":"READ","label":"Read","stage":"start","at":10}
{"type":"tool","phase":"call","callId":"1","toolName":"READ","label":"Read","stage":"streaming","at":10,"parametersChunk":"{\"path\":\"a.txt\"}","compactParams":"a.txt"}`
	wantFrames(t, want, enc.encode("run", changes, view))
	moved := enc
	wantFrames(t, `{"type":"tool","phase":"error","callId":"1","toolName":"READ","label":"Read","stage":"end","error":"Interrupted by a restart."}`, moved.restart(answer.View{}))
	wantFrames(t, "", moved.restart(answer.View{}))

	tool(answer.Tool{Stage: answer.StageRunning, Parameters: `{"path":"a.txt"}`, CompactParams: "a.txt"})
	tool(answer.Tool{Stage: answer.StageEnd, Parameters: `{"path":"a.txt"}`, CompactParams: "a.txt", Result: "x", ShortResult: "1 line", Success: true})
	a.Apply(answer.Change{Kind: answer.Text, Step: 1, Text: "Done."})
	changes, view = a.Read(at)
	want = `{"type":"status","kind":"running_action","actionName":"READ"}
{"type":"tool","phase":"call","callId":"1","toolName":"READ","label":"Read","stage":"running","at":10,"args":"{\"path\":\"a.txt\"}","compactParams":"a.txt"}
{"type":"tool","phase":"result","callId":"1","toolName":"READ","label":"Read","stage":"end","at":10,"args":"{\"path\":\"a.txt\"}","compactParams":"a.txt","result":"x","shortResult":"1 line"}
{"type":"status","kind":"streaming"}
{"type":"token","text":"\n\nDone."}`
	wantFrames(t, want, enc.encode("run", changes, view))
	wantFrames(t, "", enc.restart(answer.View{}))
}

func wantFrames(t *testing.T, want string, got []frame) {
	t.Helper()
	var lines []string
	for _, f := range got {
		b := require.Value(json.Marshal(f))(t)
		lines = append(lines, string(b))
	}
	if diff := cmp.Diff(want, strings.Join(lines, "\n")); diff != "" {
		t.Error(diff)
	}
}

// WB-04: however real Markdown is cut into pieces, and wherever a reader comes in, what it has read is exact: 10,000 times.
func TestChunkings(t *testing.T) {
	file := require.Value(os.ReadFile("testdata/markdown.md"))(t)
	whole := string(file)
	for seed := range uint64(10_000) {
		r := rand.New(rand.NewPCG(seed, 2))
		var a answer.Answer
		enc, p, at := encoder{joining: seed%5 == 0}, &page{}, answer.Cursor(0)
		for rest := []rune(whole); len(rest) > 0; {
			n := min(len(rest), 1+r.IntN(40))
			a.Apply(answer.Change{Kind: answer.Text, Text: string(rest[:n])})
			rest = rest[n:]
			if r.IntN(10) == 0 {
				a.Apply(answer.Change{Kind: answer.Callback, Call: "c", Text: whole[:r.IntN(20)]}) // stands below, whatever it says
			}
			if r.IntN(4) == 0 || len(rest) == 0 {
				changes, view := a.Read(at)
				at = view.At
				p.read(t, enc.encode("run", changes, view))
			}
		}
		if v := a.View(); v.Segments[0].Text != whole || p.text != v.Text() {
			t.Fatalf("seed %d: the page shows %q", seed, p.text)
		}
	}
}

// What is important is told on its own, for who shows nothing before the end, and changes nothing about the text.
func TestImportantFrames(t *testing.T) {
	a, enc, p := &answer.Answer{}, encoder{}, &page{}
	a.Apply(answer.Change{Kind: answer.Callback, Call: "1", Text: "this costs money", Important: "this costs money"})
	a.Apply(answer.Change{Kind: answer.Callback, Call: "1", Text: "bought"})
	changes, view := a.Read(0)
	var told []string
	fs := enc.encode("run", changes, view)
	p.read(t, fs)
	for _, f := range fs {
		if f.Type == "status" && f.Kind == "update" {
			told = append(told, *f.Text)
		}
	}
	if len(told) != 1 || told[0] != "this costs money" || p.text != "bought" {
		t.Errorf("told %q, the text is %q", told, p.text)
	}
}

// Only readers who want the reasoning get it, in frames of its own. A reader of the next holder starts over.
func TestReasoningFrames(t *testing.T) {
	for _, wants := range []bool{false, true} {
		a, enc := &answer.Answer{}, encoder{wishes: wishes{reasoning: wants}}
		a.Apply(answer.Change{Kind: answer.Thinking})
		a.Apply(answer.Change{Kind: answer.Thinking})
		a.Apply(answer.Change{Kind: answer.Reasoning, Text: "I count "})
		a.Apply(answer.Change{Kind: answer.Reasoning, Text: "to 3."})
		a.Apply(answer.Change{Kind: answer.Text, Text: "3"})
		changes, view := a.Read(0)
		frames := slices.Concat(slices.Clone(enc.encode("run", changes, view)), enc.restart(answer.View{}))
		got := require.Value(json.Marshal(frames))(t)
		reasoning, again := `{"type":"reasoning","text":"I count to 3."},`, `,{"type":"reasoning","fullText":""}`
		if !wants {
			reasoning, again = "", ""
		}
		want := `[{"type":"status","kind":"reasoning"},` + reasoning + `{"type":"status","kind":"streaming"},{"type":"token","text":"3"}` + again + `]`
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Error(diff)
		}
	}
}
