package answer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"parley/core/llm"
	"parley/core/text"
)

// What is remembered of an answer tells it again: the same text, with the calls where they stood.
func TestTellAgain(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	texts := []string{"", "a", "one\n\ntwo", "🙂", "\n\n", "end\n"}
	for range 500 {
		var first, again Answer
		for i := range random.IntN(8) {
			call := fmt.Sprint(i)
			switch text := texts[random.IntN(len(texts))]; random.IntN(3) {
			case 0:
				first.Apply(Change{Kind: Text, Step: i, Text: text})
			case 1:
				first.Apply(Change{Kind: ToolStage, Call: call, Tool: &Tool{Name: "LOOK", Stage: StageEnd, Success: true, Result: text}})
			case 2:
				first.Apply(Change{Kind: ToolStage, Call: call, Tool: &Tool{Name: "PLAY", Stage: StageEnd, Error: "It failed."}})
				first.Apply(Change{Kind: Callback, Call: call, Text: text})
			}
		}
		v := first.View()
		again.Replay(v.Text(), v.History, v.Calls(), noFiles)
		told := again.View()
		if told.Text() != v.Text() {
			t.Fatalf("%q became %q", v.Text(), told.Text())
		}
		if diff := cmp.Diff(v.Calls(), told.Calls()); diff != "" {
			t.Fatalf("%q: %s; want none", v.Text(), diff)
		}
	}
}

func noFiles(PastCall) []llm.File { return nil }

// LM-08: what is kept of calls is bounded, and can be stored whatever an action wrote.
func TestCallsAreBounded(t *testing.T) {
	var a Answer
	picture := llm.File{Type: "image/png", Data: make([]byte, maxGallery/7)}
	for i := range 2 * mostCalls {
		a.Apply(Change{Kind: ToolStage, Call: fmt.Sprint(i), Tool: &Tool{Name: "LOOK", Stage: StageEnd, Success: true,
			Result: "\xff" + strings.Repeat("🙂", maxResult/8)}, Files: []llm.File{picture}})
	}
	var k CallSnapshot
	bytes := 0
	calls := k.Keep(a.View())
	for i, c := range calls {
		bytes += len(c.Result)
		if text.Clean(c.Result) != c.Result || i < 7 && !slices.Equal(c.Files, []llm.PastFile{{N: i, Name: "", Type: "image/png", Size: maxGallery / 7}}) || i >= 7 && c.Files != nil {
			t.Fatalf("call %d is kept as %.20q, with %v", i, c.Result, c.Files)
		}
	}
	if len(k.Files) != 7 {
		t.Errorf("%d files are kept; want 7", len(k.Files))
	}
	if len(calls) != mostCalls || bytes > maxCallsBytes || bytes < maxCallsBytes/2 {
		t.Errorf("%d calls with %d bytes", len(calls), bytes)
	}
}

// A text that was changed, or that never held the calls, is used as it is.
func TestTellWhatDoesNotFit(t *testing.T) {
	for _, at := range []int{-1, 1, 3, 5, 99} {
		var a Answer
		a.Replay("one\n\ntwo", nil, []PastCall{{ID: "c", Tool: Tool{Name: "LOOK", Stage: StageEnd}, At: at}}, noFiles)
		if v := a.View(); v.Text() != "one\n\ntwo" || len(v.Calls()) != 1 {
			t.Errorf(`a call at %d: %q, %d calls; want "one\n\ntwo" and 1`, at, v.Text(), len(v.Calls()))
		}
	}
}
