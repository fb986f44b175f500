package progressive_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/core/answer"
	"parley/internal/require"
	"parley/progressive"
	"parley/progressive/progressivetest"
)

var someCalls = answer.View{Segments: []answer.Segment{
	{Text: "Let me see."},
	{Call: "a", Tool: answer.Tool{Name: "READ_FILE", Stage: answer.StageStreaming}},
	{Call: "b", Tool: answer.Tool{Name: "READ_FILE", Stage: answer.StageRunning, CompactParams: "a.txt", Worded: true, ShortResult: "50 %"}},
	{Call: "c", Tool: answer.Tool{Name: "READ_FILE", Stage: answer.StageEnd, CompactParams: "b.txt", ShortResult: "3 lines", Success: true}, Text: "said"},
	{Call: "d", Tool: answer.Tool{Name: "READ_FILE", Label: "Fetch", Stage: answer.StageEnd, CompactParams: "c.txt", Error: "It failed."}},
	{Call: "e", Text: "without a block"},
	{Call: "f", Tool: answer.Tool{Name: "LOOK_UP_CREDIT", Hidden: true, Stage: answer.StageRunning}},
}}

func TestLines(t *testing.T) {
	all := []string{"⏳ Read file", "⚙️ Read file: a.txt → 50 %", "✅ Read file → 3 lines", "❌ Fetch → It failed."}
	ended := someCalls
	ended.Outcome = answer.Outcome{Status: answer.Completed}
	for name, c := range map[string]struct {
		progress progressive.Progress
		view     answer.View
		want     []string
	}{
		"off":            {progressive.Off, someCalls, nil},
		"compact":        {progressive.Compact, someCalls, all},
		"compact, ended": {progressive.Compact, ended, nil},
		"full":           {progressive.Full, someCalls, all},
		"full, ended":    {progressive.Full, ended, all},
	} {
		if diff := cmp.Diff(c.want, c.progress.Lines(c.view)); diff != "" {
			t.Errorf("%s\n%s", name, diff)
		}
	}
	thinking := answer.View{Segments: someCalls.Segments[:2], Thinking: true}
	if diff := cmp.Diff([]string{"⏳ Read file", "💭 Thinking…"}, progressive.Compact.Lines(thinking)); diff != "" || progressive.Off.Lines(thinking) != nil {
		t.Error(diff)
	}
	many := answer.View{Segments: make([]answer.Segment, 20)}
	for i := range many.Segments {
		many.Segments[i] = answer.Segment{Call: "x", Tool: answer.Tool{Name: strings.Repeat("X", i+1)}}
	}
	if got := progressive.Full.Lines(many); len(got) != 8 || !strings.HasSuffix(got[7], "⏳ X"+strings.Repeat("x", 19)) {
		t.Errorf("%q", got)
	}
}

func TestUnder(t *testing.T) {
	html := func(lines []string) (text, plain string) {
		plain = strings.Join(lines, "\n")
		return strings.ReplaceAll(plain, "<", "&lt;"), plain
	}
	upTo := func(n int) func(progressive.Part) bool {
		return func(p progressive.Part) bool { return len(p.Plain) <= n }
	}
	one := []progressive.Part{{Text: "first"}, {Text: "<b>last</b>", Plain: "last"}}
	plain := []progressive.Part{{Plain: "last"}}
	for name, c := range map[string]struct {
		parts []progressive.Part
		lines []string
		ended bool
		room  int
		want  []progressive.Part
	}{
		"none":                                   {one, nil, false, 99, one},
		"under the last":                         {one, []string{"a <", "b"}, false, 99, []progressive.Part{one[0], {Text: "<b>last</b>\n\na &lt;\nb", Plain: "last\n\na <\nb", StatusRunes: 7}}},
		"plain stays so":                         {plain, []string{"a"}, false, 99, []progressive.Part{{Plain: "last\n\na", StatusRunes: 3}}},
		"alone":                                  {nil, []string{"a"}, false, 99, []progressive.Part{{Text: "a", Plain: "a", StatusRunes: 1}}},
		"the newest that fit, never half a line": {plain, []string{"aaaa", "bb"}, false, 9, []progressive.Part{{Plain: "last\n\nbb", StatusRunes: 4}}},
		"no room":                                {plain, []string{"aaaa"}, false, 9, plain},
		"no room at the end":                     {plain, []string{"aaaa", "bb", "ccc"}, true, 9, []progressive.Part{plain[0], {Text: "aaaa\nbb", Plain: "aaaa\nbb", StatusRunes: 7}, {Text: "ccc", Plain: "ccc", StatusRunes: 3}}},
		"one that never fits stays":              {nil, []string{"aaaa"}, true, 3, []progressive.Part{{Text: "aaaa", Plain: "aaaa", StatusRunes: 4}}},
	} {
		before := append([]progressive.Part(nil), c.parts...)
		if diff := cmp.Diff(c.want, progressive.AppendLines(c.parts, c.lines, c.ended, html, upTo(c.room))); diff != "" {
			t.Errorf("%s\n%s", name, diff)
		}
		if diff := cmp.Diff(before, c.parts); diff != "" {
			t.Errorf("%s: what was given has changed\n%s", name, diff)
		}
	}
}

// Who waits for what people see goes on when it stands there, and at once where nothing is shown before the end.
func TestWaiterContinuesWhenTextIsShown(t *testing.T) {
	for name, sink := range map[string]func(*progressivetest.Chat) progressive.Sink{"full": full, "post only": postOnly} {
		t.Run(name, func(t *testing.T) {
			withDelivery(t, sink, func(s *delivery) {
				s.chat.Latency = time.Second
				s.show()
				for range 3 {
					s.say("A word. ") // the first is too short to be shown at once
					begun, v := time.Now(), s.a.View()
					require.NoError(t, s.a.WaitSeen(s.Context(), v.At))
					stands := strings.Join(s.chat.Shown(), "\n") == v.Text()
					if name == "full" && !stands || name != "full" && (stands || time.Since(begun) > 0) {
						t.Errorf("after %v people see %q", time.Since(begun), s.chat.Shown())
					}
				}
				if err := s.end(completed); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
