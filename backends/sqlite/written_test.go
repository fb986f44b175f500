package sqlite

import (
	_ "embed"
	"path/filepath"
	"testing"

	"parley/core/chat"
	"parley/internal/require"
)

//go:embed testdata/a661299.sql
var writtenByA661299 string

// openWrittenByA661299 opens a store that the version a661299 wrote (schema 14), upgraded to the present schema. The
// extra statements run before the upgrade.
func openWrittenByA661299(t *testing.T, extra ...string) *Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "parley.db")
	db := require.Value(connect(path, Options{}))(t)
	for _, statement := range append([]string{writtenByA661299}, extra...) {
		require.Value(db.Exec(statement))(t)
	}
	require.NoError(t, db.Close())
	return open(t, path)
}

// DI-13: a store of an earlier version keeps its conversations, runs, questions, people and spending.
func TestOpenWrittenByA661299(t *testing.T) {
	s := openWrittenByA661299(t)
	for _, want := range []struct {
		run      chat.RunID
		open     bool
		shown    string // the platform's id of the first message
		intended bool   // a message was about to be posted
		verdict  string
	}{
		{run: "telegram/1/42#1", shown: "1001", verdict: "Ada Lovelace."},                   // finished
		{run: "telegram/1/42#2", shown: "1002", verdict: "Which one?"},                      // finished, its question is open
		{run: "telegram/1/42#3", open: true, intended: true},                                // killed while its preview was posted
		{run: "telegram/1/-7#1", open: true, intended: true, verdict: "The mill computes."}, // killed while its last text was posted
		{run: "web/4f1c#1", open: true, shown: "2001", verdict: "The store holds numbers."}, // killed before its last edit
		{run: "telegram/1/-7#3", open: true},                                                // waiting
		{run: "telegram/1/42#4", open: true},                                                // a command, waiting
	} {
		run, err := s.Run(t.Context(), want.run)
		if err != nil {
			t.Errorf("reading %s: %v", want.run, err)
			continue
		}
		shown, verdict := "", ""
		if len(run.Shown) > 0 {
			shown = run.Shown[0].ID
		}
		if run.Verdict != nil {
			verdict = run.Verdict.Text
		}
		if run.Outcome.Done() == want.open || shown != want.shown || (len(run.Shown) == 1 && shown == "") != want.intended || verdict != want.verdict {
			t.Errorf("%s was read as %+v, verdict %q", want.run, run, verdict)
		}
	}
	if q, err := s.Question(t.Context(), "QUESTION1"); err != nil || len(q.Options) != 2 {
		t.Errorf("the question is %+v, %v", q, err)
	}
	if p, err := s.Owner(t.Context()); err != nil || p.ID != "telegram:42" {
		t.Errorf("the owner is %+v, %v", p, err)
	}
	if holds, err := s.Holds(t.Context()); err != nil || len(holds) != 1 {
		t.Errorf("the holds are %v, %v; want 1", holds, err)
	}
	said, err := s.Recent(t.Context(), "telegram/1/42", chat.Said, 0, 10)
	if err != nil || len(said) < 5 || said[0].Text != "Who wrote the first program?" {
		t.Errorf("the conversation is %+v, %v", said, err)
	}
}
