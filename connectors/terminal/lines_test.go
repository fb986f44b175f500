package terminal

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/rivo/uniseg"
	"pgregory.net/rapid"

	"parley/core/answer"
	"parley/internal/require"
)

func ptr(s string) *string { return &s }

func text(s string) Frame  { return Frame{Type: "token", Text: &s} }
func whole(s string) Frame { return Frame{Type: "token", FullText: &s} }
func tool(stage, short, problem string) Frame {
	return Frame{Type: "tool", CallID: "1", ToolName: "PLAY", Stage: stage, Args: `{"title":"Song"}`, ShortResult: short, Error: problem}
}

// below is f, of a call that stands below so many bytes of text.
func (f Frame) below(at int) Frame {
	f.At = at
	return f
}

// What a person sees at each step of an answer: text, statuses that replace each other, a tool, text, the end (ST-16).
func TestLines(t *testing.T) {
	var r reply
	l := look{width: 30}
	for _, step := range []struct {
		frame Frame
		want  []string
	}{
		{Frame{Type: "status", Kind: "thinking"}, []string{"…"}},
		{text("Let me"), []string{"Let me"}},
		{text(" see."), []string{"Let me see."}},
		{tool("start", "", "").below(11), []string{"Let me see.", "", `▸ PLAY "title":"Song" …`}},
		{whole("Let me see.\n\nSearching…"), []string{"Let me see.", "", `▸ PLAY "title":"Song" …`, "", "Searching…"}},
		{tool("running", "half way", "").below(11), []string{"Let me see.", "", `▸ PLAY "title":"Song" half way`, "", "Searching…"}},
		{whole("Let me see.\n\nNow playing"), []string{"Let me see.", "", `▸ PLAY "title":"Song" half way`, "", "Now playing"}},
		{tool("end", "", "It failed.").below(11), []string{"Let me see.", "", `✗ PLAY "title":"Song"`, "  It failed.", "", "Now playing"}},
		{tool("end", "done", "").below(11), []string{"Let me see.", "", `✓ PLAY "title":"Song" done`, "", "Now playing"}},
		{text("\n\nEnjoy these words that are too long for one row."), []string{"Let me see.", "", `✓ PLAY "title":"Song" done`, "", "Now playing", "",
			"Enjoy these words that are too", "long for one row."}},
		{Frame{Type: "done", FullText: ptr("Let me see.\n\nNow playing\n\nEnjoy.")}, []string{"Let me see.", "", `✓ PLAY "title":"Song" done`, "", "Now playing", "", "Enjoy."}},
	} {
		r.take(step.frame)
		if got := l.lines(&r); !slices.Equal(got, step.want) {
			t.Errorf("after %+v:\n%q\nwant\n%q", step.frame, got, step.want)
		}
	}
}

// What may be chosen stands below, with the numbers that choose it.
func TestOffer(t *testing.T) {
	r := reply{text: "Really?", end: &Frame{Choices: &answer.Choices{ID: "x", Options: []string{"Yes", "No"}}}}
	l := look{width: 30}
	if got := l.lines(&r); !slices.Equal(got, []string{"Really?", "", "1. Yes", "2. No"}) {
		t.Errorf("%q", got)
	}
}

// What may be chosen while an answer goes on stands below what there is, and goes when it is over, or when a new stream begins that
// does not tell of it.
func TestOfferOnTheWay(t *testing.T) {
	var r reply
	l := look{width: 30}
	offer := Frame{Type: "status", Kind: "choices", Choices: &answer.Choices{ID: "x", Options: []string{"Blue", "So What"}}}
	for _, step := range []struct {
		frame Frame
		want  []string
	}{
		{Frame{Type: "status", Kind: "thinking"}, []string{"…"}},
		{offer, []string{"1. Blue", "2. So What"}},
		{text("Which?"), []string{"Which?", "", "1. Blue", "2. So What"}},
		{Frame{Type: "status", Kind: "streaming"}, []string{"Which?", "", "1. Blue", "2. So What"}},
		{Frame{Type: "status", Kind: "choices"}, []string{"Which?"}},
		{offer, []string{"Which?", "", "1. Blue", "2. So What"}},
		{Frame{Type: "status", Kind: "thinking"}, []string{"Which?"}},
		{offer, []string{"Which?", "", "1. Blue", "2. So What"}},
		{Frame{Type: "done", FullText: ptr("Playing.")}, []string{"Playing."}},
	} {
		r.take(step.frame)
		if got := l.lines(&r); !slices.Equal(got, step.want) {
			t.Errorf("after %+v:\n%q\nwant\n%q", step.frame, got, step.want)
		}
	}
}

// A call stands where the gateway says, also before the text above it has come, and when that changes.
func TestCallKeepsItsPlace(t *testing.T) {
	var r reply
	moved := Frame{Type: "tool", CallID: "1", Stage: "end"}
	for _, f := range []Frame{
		tool("end", "ok", "").below(12), text("Searching…\n\nBelow"), whole("Found all of it\n\nAt last\n\nBelow"), moved.below(24),
	} {
		r.take(f)
	}
	l := look{width: 40}
	if got := l.lines(&r); !slices.Equal(got, []string{"Found all of it", "", "At last", "", `✓ PLAY "title":"Song" ok`, "", "Below"}) {
		t.Errorf("%q", got)
	}
}

// What was said before stands there as it stood when it was said, with its calls.
func TestHistoryIsWhatWasSeen(t *testing.T) {
	var live reply
	for _, f := range []Frame{
		text("Let me see.\n\nOne moment."), tool("start", "", "").below(24), tool("running", "", "").below(24), whole("Let me see.\n\nOne moment.\n\nSearching…"), whole("Let me see.\n\nOne moment.\n\nNow playing"),
		tool("end", "done", "").below(24), text("\n\nEnjoy."), {Type: "done", FullText: ptr("Let me see.\n\nOne moment.\n\nNow playing\n\nEnjoy.")},
	} {
		live.take(f)
	}
	var m Message
	require.NoError(t, json.Unmarshal([]byte(`{"role":"assistant","text":"Let me see.\n\nOne moment.\n\nNow playing\n\nEnjoy.","tools":[{"type":"tool","phase":"result",
		"callId":"1","toolName":"PLAY","stage":"end","args":"{\"title\":\"Song\"}","shortResult":"done","at":24}]}`), &m))
	seen, again := look{width: 30}, look{width: 30}
	if got, want := again.lines(m.reply()), seen.lines(&live); !slices.Equal(got, want) {
		t.Errorf("one sees again\n%q\nwant\n%q", got, want)
	}
	m.Tools[0].At = 1000 // of a gateway that counts otherwise
	again.lines(m.reply())
}

// SE-09: nothing that a model or a tool says steers the terminal, and no row is wider than it.
func TestRowsAreHarmlessAndFit(t *testing.T) {
	words := rapid.SliceOf(rapid.SampledFrom([]string{"\x1b[2J", "\x1b]0;title\a", "\x9b31m", "\x00", "word", " ", "**bold** ", "`code` ", "\n", "```\n",
		"日本語", "👩‍👩‍👧", "é", "| a | b |\n|---|---|\n| 1 | 2 |\n", "https://example.org/a_very_long_address", "- item\n", "\t"}))
	rapid.Check(t, func(t *rapid.T) {
		l := look{width: rapid.IntRange(4, 40).Draw(t, "width"), color: rapid.Bool().Draw(t, "color")}
		all := strings.Join(words.Draw(t, "text"), "")
		file := File{Name: all, Type: "image/" + all, Size: 12345, URL: all}
		r := reply{
			text: all, calls: []call{{id: "1", last: Frame{ToolName: all, Stage: "end", ShortResult: all}, files: []File{file, {Type: all}}}},
			asks: &answer.Choices{Options: []string{all, all}}, said: all, note: all,
		}
		if rapid.Bool().Draw(t, "ended") {
			r.end, r.files = &Frame{Choices: r.asks}, []File{file}
		}
		for _, row := range l.lines(&r) {
			bare := ""
			for rest := row; rest != ""; {
				if address, ok := strings.CutPrefix(rest, "\x1b]8;;"); ok && l.color { // a link of ours: what it leads to must not end it
					address, rest, _ = strings.Cut(address, "\x1b\\")
					bare += strings.Map(func(r rune) rune {
						if unicode.IsControl(r) {
							return r
						}
						return -1
					}, address)
					continue
				}
				if n := len(style.FindString(rest)); n > 0 && l.color {
					rest = rest[n:]
					continue
				}
				bare += rest[:1]
				rest = rest[1:]
			}
			if strings.ContainsFunc(bare, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }) {
				t.Fatalf("a row steers: %q", row)
			}
			if w := uniseg.StringWidth(bare); w > l.width {
				t.Fatalf("%d columns of %d: %q", w, l.width, row)
			}
		}
	})
}
