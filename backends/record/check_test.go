package record

import (
	"errors"
	"testing"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
)

// A text that is not UTF-8, or has a NUL, is refused wherever it stands in a note: SQLite would keep it, JSON would change it, and PostgreSQL refuses it.
func TestNotesHoldText(t *testing.T) {
	for _, bad := range []string{"a\xff", "a\x00"} {
		notesHoldText(t, bad)
	}
}

func notesHoldText(t *testing.T, bad string) {
	t.Helper()
	done := answer.Outcome{Status: answer.Completed}
	if err := CheckNote(chat.Note{Text: "a", Shown: []chat.Shown{{ID: "1"}}, Verdict: &chat.Verdict{Text: "a", Outcome: done}}); err != nil {
		t.Errorf("a good note: %v", err)
	}
	for name, n := range map[string]chat.Note{
		"the text":          {Text: bad},
		"what begins":       {Acting: bad},
		"what was done":     {Acted: bad},
		"a shown message":   {Shown: []chat.Shown{{ID: "1"}, {ID: bad}}},
		"a file's name":     {Files: []llm.File{{Name: bad}}},
		"a file's type":     {Files: []llm.File{{Type: bad}}},
		"the verdict":       {Verdict: &chat.Verdict{Text: bad, Outcome: done}},
		"what it was shown": {Verdict: &chat.Verdict{History: []string{"a", bad}, Outcome: done}},
	} {
		if err := CheckNote(n); !errors.Is(err, ErrText) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := CheckNote(chat.Note{Verdict: &chat.Verdict{Text: "a"}}); !errors.Is(err, ErrNoStatus) {
		t.Errorf("a verdict without a status: %v", err)
	}
}
