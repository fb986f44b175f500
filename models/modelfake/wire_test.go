package modelfake_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/golden"
	"parley/internal/require"
	"parley/internal/subtest"
	"parley/models/modelfake"
)

// TestWire pins every byte of the answers; a bubble's clock starts at midnight of 2000-01-01 UTC.
func TestWire(t *testing.T) {
	odd := modelfake.Script{modelfake.Open(), modelfake.NoChoices(), modelfake.ToolCall("a", "", "{}"), modelfake.NullCall("a", "find"), modelfake.Delta(`{"content":null}`), modelfake.Raw(`{"x":1}`), modelfake.Finish("length")}
	for name, c := range map[string]struct {
		body   string
		script modelfake.Script
	}{
		"echo":             {askStream, nil},
		"echo_whole":       {ask, nil},
		"usage":            {askUsage, modelfake.Script{modelfake.Reasoning("hm"), modelfake.Text("Grüß dich", modelfake.ByBytes(4)), modelfake.ReportUsage(12, 34)}},
		"usage_whole":      {ask, modelfake.Script{modelfake.Reasoning("hm"), modelfake.Text("Grüß dich", modelfake.ByBytes(4)), modelfake.ReportUsage(12, 34)}},
		"tools":            {askStream, modelfake.Script{modelfake.Text("Let me see."), modelfake.ToolCall("call_1", "find", `{"q":"tea"}`, modelfake.ByBytes(6))}},
		"tools_whole":      {ask, modelfake.Script{modelfake.ToolCall("call_1", "find", `{"q":"tea"}`, modelfake.ByBytes(6)), modelfake.ToolCall("call_2", "now", "{}")}},
		"parallel":         {askStream, modelfake.Script{modelfake.Interleaved(modelfake.ByBytes(5), modelfake.Call{"a", "find", `{"q":"tea"}`}, modelfake.Call{"b", "now", `{}`})}},
		"parallel_whole":   {ask, modelfake.Script{modelfake.Interleaved(modelfake.ByBytes(5), modelfake.Call{"a", "find", `{"q":"tea"}`}, modelfake.Call{"b", "now", `{}`})}},
		"cut_arguments":    {askStream, modelfake.Script{modelfake.ToolCall("a", "delete", `{"target":"o`), modelfake.Finish("tool_calls")}},
		"odd":              {askStream, odd},
		"odd_whole":        {ask, odd},
		"empty":            {askUsage, modelfake.Script{}},
		"empty_whole":      {ask, modelfake.Script{}},
		"reasoning_only":   {askStream, modelfake.Script{modelfake.Reasoning("I wonder")}},
		"usage_only":       {askUsage, modelfake.Script{modelfake.Finish(""), modelfake.ReportUsage(9, 0)}},
		"usage_only_whole": {ask, modelfake.Script{modelfake.Finish(""), modelfake.ReportUsage(9, 0)}},
		"filtered":         {askStream, modelfake.Script{modelfake.Text("How <to>"), modelfake.Finish("content_filter")}},
		"no_done":          {askStream, modelfake.Script{modelfake.Text("one"), modelfake.NoDone()}},
		"just_stops":       {askStream, modelfake.Script{modelfake.Text("one"), modelfake.Finish(""), modelfake.NoDone()}},
		"error":            {askStream, modelfake.Script{modelfake.Comment(), modelfake.Text("one"), modelfake.ErrorEvent("overloaded", "Too many.")}},
		"error_whole":      {ask, modelfake.Script{modelfake.Text("one"), modelfake.ErrorEvent("overloaded", "Too many.")}},
	} {
		t.Run(name, subtest.With(inBubble, modelfake.Options{}, func(t *testing.T, s endpoint) {
			if c.script != nil {
				s.Queue(c.script)
			}
			resp, body, err := s.say(t, c.body)
			require.NoError(t, err)
			golden.Check(t, filepath.Join("testdata", name+".txt"), resp.Status+" "+resp.Header.Get("Content-Type")+"\n"+body)
		}))
	}
}

func TestPieces(t *testing.T) {
	const text = "Grüße, 世界! 👋 <think>ok</think>"
	for name, by := range map[string]modelfake.Pieces{
		"Whole": modelfake.Whole, "ByRune": modelfake.ByRune, "ByWord": modelfake.ByWord, "ByBytes(3)": modelfake.ByBytes(3), "ByChance": modelfake.ByChance(7),
	} {
		pieces := by(text)
		for _, p := range pieces {
			if p == "" || strings.ToValidUTF8(p, "?") != p {
				t.Errorf("%s has the piece %q", name, p)
			}
		}
		if strings.Join(pieces, "") != text || len(pieces) < 2 && name != "Whole" {
			t.Errorf("%s gives %q", name, pieces)
		}
	}
	if !cmp.Equal(modelfake.ByChance(1)(text), modelfake.ByChance(1)(text)) || cmp.Equal(modelfake.ByChance(1)(text), modelfake.ByChance(2)(text)) {
		t.Error("ByChance does not follow its seed")
	}
	if n := len(modelfake.ByRune(text)); n != len([]rune(text)) {
		t.Errorf("ByRune gives %d pieces", n)
	}
}

func TestPace(t *testing.T) {
	for _, body := range []string{ask, askStream} {
		inBubble(t, modelfake.Options{}, func(t *testing.T, s endpoint) { // LM-03: one token each 50 s
			s.Queue(modelfake.Script{modelfake.Pause(time.Second), modelfake.Pace(50 * time.Second), modelfake.Text("a b c", modelfake.ByWord), modelfake.Pace(0), modelfake.Text("d e", modelfake.ByWord)})
			start := time.Now()
			if _, _, err := s.say(t, body); err != nil || time.Since(start) != 151*time.Second {
				t.Errorf("took %v, %v", time.Since(start), err)
			}
		})
	}
}
