package modelfake_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	. "parley/models/modelfake"
)

var update = flag.Bool("update", false, "write the goldens")

// TestWire pins every byte of the answers; a bubble's clock starts at midnight of 2000-01-01 UTC.
func TestWire(t *testing.T) {
	odd := Script{Open(), NoChoices(), ToolCall("a", "", "{}"), NullCall("a", "find"), Delta(`{"content":null}`), Raw(`{"x":1}`), Finish("length")}
	for name, c := range map[string]struct {
		body   string
		script Script
	}{
		"echo":             {askStream, nil},
		"echo_whole":       {ask, nil},
		"usage":            {askUsage, Script{Reasoning("hm"), Text("Grüß dich", ByBytes(4)), ReportUsage(12, 34)}},
		"usage_whole":      {ask, Script{Reasoning("hm"), Text("Grüß dich", ByBytes(4)), ReportUsage(12, 34)}},
		"tools":            {askStream, Script{Text("Let me see."), ToolCall("call_1", "find", `{"q":"tea"}`, ByBytes(6))}},
		"tools_whole":      {ask, Script{ToolCall("call_1", "find", `{"q":"tea"}`, ByBytes(6)), ToolCall("call_2", "now", "{}")}},
		"parallel":         {askStream, Script{Interleaved(ByBytes(5), Call{"a", "find", `{"q":"tea"}`}, Call{"b", "now", `{}`})}},
		"parallel_whole":   {ask, Script{Interleaved(ByBytes(5), Call{"a", "find", `{"q":"tea"}`}, Call{"b", "now", `{}`})}},
		"cut_arguments":    {askStream, Script{ToolCall("a", "delete", `{"target":"o`), Finish("tool_calls")}},
		"odd":              {askStream, odd},
		"odd_whole":        {ask, odd},
		"empty":            {askUsage, Script{}},
		"empty_whole":      {ask, Script{}},
		"reasoning_only":   {askStream, Script{Reasoning("I wonder")}},
		"usage_only":       {askUsage, Script{Finish(""), ReportUsage(9, 0)}},
		"usage_only_whole": {ask, Script{Finish(""), ReportUsage(9, 0)}},
		"filtered":         {askStream, Script{Text("How <to>"), Finish("content_filter")}},
		"no_done":          {askStream, Script{Text("one"), NoDone()}},
		"just_stops":       {askStream, Script{Text("one"), Finish(""), NoDone()}},
		"error":            {askStream, Script{Comment(), Text("one"), ErrorEvent("overloaded", "Too many.")}},
		"error_whole":      {ask, Script{Text("one"), ErrorEvent("overloaded", "Too many.")}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Options{}, func(t *testing.T, s site) {
				if c.script != nil {
					s.Queue(c.script)
				}
				resp, body, err := s.say(t, c.body)
				if err != nil {
					t.Fatal(err)
				}
				golden(t, name, resp.Status+" "+resp.Header.Get("Content-Type")+"\n"+body)
			})
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

func TestPieces(t *testing.T) {
	const text = "Grüße, 世界! 👋 <think>ok</think>"
	for name, by := range map[string]Pieces{
		"Whole": Whole, "ByRune": ByRune, "ByWord": ByWord, "ByBytes(3)": ByBytes(3), "ByChance": ByChance(7),
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
	if !cmp.Equal(ByChance(1)(text), ByChance(1)(text)) || cmp.Equal(ByChance(1)(text), ByChance(2)(text)) {
		t.Error("ByChance does not follow its seed")
	}
	if n := len(ByRune(text)); n != len([]rune(text)) {
		t.Errorf("ByRune gives %d pieces", n)
	}
}

func TestPace(t *testing.T) {
	for _, body := range []string{ask, askStream} {
		inBubble(t, Options{}, func(t *testing.T, s site) { // LM-03: one token each 50 s
			s.Queue(Script{Pause(time.Second), Pace(50 * time.Second), Text("a b c", ByWord), Pace(0), Text("d e", ByWord)})
			start := time.Now()
			if _, _, err := s.say(t, body); err != nil || time.Since(start) != 151*time.Second {
				t.Errorf("took %v, %v", time.Since(start), err)
			}
		})
	}
}
