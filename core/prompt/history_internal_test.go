package prompt

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/text"
)

func memories(n int) (all []chat.Memory) {
	for i := range n {
		all = append(all, chat.Memory{ID: chat.MemoryID(fmt.Sprint(i)), Text: "12345678901234567890"}) // 5 tokens and 4
	}
	return all
}

// The beginning of a kept conversation stays where the summary ends, until the budget is spent; the question always stays.
func TestKeep(t *testing.T) {
	for name, c := range map[string]struct {
		n, asked int
		summed   chat.MemoryID
		budget   int
		from, to int
		lost     bool
	}{
		"all":                   {10, 9, "", 1000, 0, 9, false},
		"since the summary":     {10, 9, "3", 1000, 4, 9, false},
		"less than that":        {10, 9, "3", 30, 7, 9, true},
		"just the budget":       {10, 9, "", 90, 0, 9, false},
		"a token too many":      {10, 9, "", 89, 1, 9, true},
		"nothing but asked":     {10, 8, "", 0, 8, 9, true},
		"summed up to the last": {10, 9, "9", 1000, 9, 9, false},
		"an old summary":        {Window, Window - 1, "x", 1e6, 0, Window - 1, true},
		"failures":              {0, 0, "", 1, 0, -1, false},
	} {
		got := Keep(memories(c.n), c.asked, Cut{Summed: c.summed, Budget: c.budget, Longest: 100})
		if len(got.Kept) != c.to-c.from+1 || got.Lost != c.lost || c.n > 0 && got.Kept[0].ID != chat.MemoryID(fmt.Sprint(c.from)) {
			t.Errorf("%s: kept are %d from %v, lost %v", name, len(got.Kept), got.Kept, got.Lost)
		}
	}
	failed := memories(3)
	failed[1].Failure = llm.ProviderIssue
	if got := Keep(failed, 2, Cut{Budget: 1000, Longest: 100}); len(got.Kept) != 2 {
		t.Error("a failure is part of the conversation")
	}
}

// What is kept is what was read, and nothing that is done with it changes that.
func TestKeepChangesNothing(t *testing.T) {
	long := strings.Repeat("long ", longTurn)
	for name, change := range map[string]func(m *chat.Memory){
		"as it is":        func(*chat.Memory) {},
		"too long":        func(m *chat.Memory) { m.Text = long },
		"with a file":     func(m *chat.Memory) { m.Files = []chat.Attachment{{Name: "a", Text: long}} },
		"with a quote":    func(m *chat.Memory) { m.Quoted = chat.Quoted{Text: "what?"} },
		"a failure":       func(m *chat.Memory) { m.Failure = llm.ProviderIssue },
		"of letters only": func(m *chat.Memory) { m.Text = "абв" },
	} {
		for _, at := range []int{0, 4, 9} {
			read, want := memories(12), memories(12)
			change(&read[at])
			change(&want[at])
			got := Keep(read[:10], 9, Cut{Budget: 1e6, Longest: 100}).Kept
			expected := fitted(want[:10], 0, 9, 100)
			if diff := cmp.Diff(expected, got); diff != "" {
				t.Errorf("%s at %d: %s; want none", name, at, diff)
			}
			_ = append(got, chat.Memory{ID: "more"})
			if diff := cmp.Diff(want, read); diff != "" {
				t.Errorf("%s at %d: what was read has changed: %s; want none", name, at, diff)
			}
		}
	}
}

// The history of a prompt begins where it began in the prompt before, until the budget or the window is full. Then a quarter of it is
// free again.
func TestHistoryIsTrimmedInSteps(t *testing.T) {
	for name, c := range map[string]struct{ budget, most int }{
		"by the budget": {360, 40}, // 9 tokens each
		"by the window": {1e6, Window},
	} {
		room := action.TurnContext{Room: chat.Room{ID: "room"}}
		composer, start, trims := Composer{Recall: Recall{Prompt: 1e6, History: c.budget}}, "", 0
		all := memories(400)
		for n := 1; n <= len(all); n += 2 {
			s := room
			s.Recent = all[max(0, n-Window):n]
			s.Answered = []chat.MemoryID{all[n-1].ID}
			kept, lost := composer.Trim(s, "", 0)
			if len(kept) > c.most || kept[len(kept)-1].ID != all[n-1].ID || lost != (len(kept) < n) {
				t.Fatalf("%s: of %d messages, %d are kept, lost %v", name, n, len(kept), lost)
			}
			if first := string(kept[0].ID); first != start {
				if start != "" && len(kept) > c.most*3/4 {
					t.Errorf("%s: after it was trimmed, the history has %d messages of %d", name, len(kept), c.most)
				}
				start = first
				trims++
			}
		}
		if most := len(all)*4/c.most + 1; trims < 3 || trims > most {
			t.Errorf("%s: the beginning changed %d times in 200 turns; want at most %d", name, trims, most)
		}
	}
}

func TestStartsAreBounded(t *testing.T) {
	s := starts{}
	for i := range mostStarts + 10 {
		s.set(chat.RoomID(fmt.Sprint(i)), "x")
	}
	if len(s.rooms) > mostStarts || s.get(chat.RoomID(fmt.Sprint(mostStarts+9))) != "x" {
		t.Errorf("there are %d", len(s.rooms))
	}
	if s.set("1", ""); s.get("1") != "" {
		t.Error("a start that is none stays")
	}
}

// A transcript loses its oldest messages, each with all its lines, and never the beginning of the last one.
func TestLastMessages(t *testing.T) {
	const a, b, c = "a: one\n  two\n  \n  three\n", "b: four\n", "c: five\n  six\n  seven"
	last, two := text.Tokens(c), text.Tokens(b)+text.Tokens(c)
	for limit, want := range map[int]string{
		1000: a + b + c, two + text.Tokens(a): a + b + c, two + text.Tokens(a) - 1: b + c, two: b + c, two - 1: c, last: c,
	} {
		if got := lastMessages(a+b+c, limit); got != want {
			t.Errorf("in %d tokens it is %q; want %q", limit, got, want)
		}
	}
	long := "a: one\nb: " + strings.Repeat("long\n  ", 100)
	if got := lastMessages(long, 20); !strings.HasPrefix(got, "b: long\n") || !strings.HasSuffix(got, text.CutMark) || text.Tokens(got) > 20 {
		t.Errorf("a long message is %q", got)
	}
	if got := lastMessages("", 10); got != "" {
		t.Errorf("nothing is %q; want none", got)
	}
}

// FuzzGuard: no text can hold a delimiter after it was guarded, and nothing else of it changes.
func FuzzGuard(f *testing.F) {
	tags := delimiters("<task>x</task><is-it>")
	unseen := regexp.MustCompile(`[\p{Cf}\p{Mn}]`)
	wrong := regexp.MustCompile(`(?i)<[\s/]*(?:task|is-it)(?:[^\pL\pN_\-]|$)`)
	f.Add("a </task> < / TASK > <is-it <tasks> <<task>")
	f.Add("<t\u200ba\ufe0fsk> <ta\u017f\u212a\u2060>")
	f.Fuzz(func(t *testing.T, txt string) {
		got := guard(txt, tags)
		if wrong.MatchString(unseen.ReplaceAllString(got, "")) {
			t.Errorf("%q became %q", txt, got)
		}
		if strings.ReplaceAll(got, "&lt;", "<") != strings.ReplaceAll(txt, "&lt;", "<") {
			t.Errorf("%q lost something: %q", txt, got)
		}
		for _, line := range strings.Split("x: "+text.Quote(txt), "\n")[1:] {
			if !strings.HasPrefix(line, "  ") {
				t.Errorf("a line of %q begins at the margin", txt)
			}
		}
		if l := text.Label(txt); strings.ContainsAny(l, "\n\r:") || len([]rune(l)) > text.MaxLabel+1 {
			t.Errorf("the label of %q is %q", txt, l)
		}
	})
}

// What is summarized ends where the rest fits the budget. Where a summary holds all that there is, nothing is left for another.
func TestOlder(t *testing.T) {
	for name, c := range map[string]struct {
		n, budget int
		summed    chat.MemoryID
		from, to  int
	}{
		"no budget":         {10, 0, "", 0, 10},
		"three fit":         {10, 27, "", 0, 7},
		"since the summary": {10, 27, "4", 5, 7},
		"all is summarized": {10, 0, "9", 10, 10},
		"all fit":           {10, 1000, "", 0, 0},
		"half the window":   {Window, 1 << 20, "", 0, Window / 2},
	} {
		got := Older(memories(c.n), c.summed, c.budget)
		if len(got) != c.to-c.from || len(got) > 0 && got[0].ID != chat.MemoryID(fmt.Sprint(c.from)) {
			t.Errorf("%s: %d are summarized: %v", name, len(got), got)
		}
	}
}
