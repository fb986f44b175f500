package sqlite

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/quota"
	"parley/internal/require"
	"parley/internal/search"
	"parley/progressive"
	"parley/progressive/progressivetest"
)

// goBack takes the tables of a closed store back to an earlier version.
func goBack(t *testing.T, path string, version int64, fill ...string) {
	t.Helper()
	db := require.Value(connect(path, Options{}))(t)
	defer db.Close()
	p := require.Value(steps(db))(t)
	require.Value(p.DownTo(t.Context(), version))(t)
	for _, line := range fill {
		require.Value(db.Exec(line))(t)
	}
}

// DI-13: the pictures of answers from before there were files of other kinds stay, and so do open questions.
func TestPicturesBecomeFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	s := open(t, path)
	in := chat.Message{Memory: chat.Memory{ID: "in", Room: "room", Author: "ada", Text: "draw", At: time.Now()}, Place: chat.Room{ID: "room"}}
	acc := require.Value(s.Accept(t.Context(), in, chat.JoinRule{Kind: chat.RunReply}))(t)
	q := chat.Question{ID: "q", Run: acc.Run, Room: "room", Options: []string{"Yes"}, Expires: time.Now().Add(time.Hour).UTC(), Handler: "c"}
	require.NoError(t, s.Ask(t.Context(), q))
	require.NoError(t, s.Close())
	calls := `{"calls":[{"id":"a","name":"LOOK","stage":"end"},{"id":"b","name":"PAINT","stage":"end","images":["0","1"],"at":3}]}`
	goBack(t, path, 12,
		`INSERT INTO pictures (run, n, type, data) VALUES ('room#1', 0, 'image/png', CAST('one' AS BLOB)), ('room#1', 1, 'image/gif', CAST('three' AS BLOB))`,
		`INSERT INTO memories (id, room, turn, role, kind, author, name, text, in_reply_to, at, history, interrupted, failure, content)
			VALUES ('room#1', 'room', 1, 'said', '', 'agent', '', 'Look!', 'in', 1, '', 0, '', '`+calls+`')`,
		`UPDATE runs SET verdict = json_set('`+calls+`', '$.text', 'Look!', '$.outcome', json('{"status":"completed"}')) WHERE id = 'room#1'`)
	s = open(t, path)
	m := require.Value(s.Memory(t.Context(), "room#1"))(t)
	run := require.Value(s.Run(t.Context(), acc.Run))(t)
	want := []answer.PastCall{
		{ID: "a", Tool: answer.Tool{Name: "LOOK", Stage: answer.StageEnd}},
		{ID: "b", Tool: answer.Tool{Name: "PAINT", Stage: answer.StageEnd}, At: 3,
			Files: []llm.PastFile{{N: 0, Type: "image/png", Size: 3}, {N: 1, Type: "image/gif", Size: 5}}},
	}
	for where, got := range map[string][]answer.PastCall{"the memory": m.Calls, "the verdict": run.Verdict.Calls} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", where, diff)
		}
	}
	for n, data := range []string{"one", "three"} {
		if b, err := s.File(t.Context(), acc.Run, n); err != nil || string(b.Data) != data {
			t.Errorf("file %d is %+v, %v", n, b, err)
		}
	}
	if got, err := s.QuestionOf(t.Context(), acc.Run); err != nil || fmt.Sprint(got) != fmt.Sprint(q) {
		t.Errorf("the question is %+v, %v", got, err)
	}
	require.NoError(t, s.Forget(t.Context(), "in"))
	if b, err := s.File(t.Context(), acc.Run, 0); err == nil {
		t.Errorf("the answer is forgotten, and there is %+v", b)
	}
}

// IN-17: what a store of an earlier version remembers is known after the upgrade, also once it is forgotten.
func TestKnownAfterUpgrade(t *testing.T) {
	s := openWrittenByA661299(t)
	arrived := map[chat.MemoryID]chat.Accepted{
		"m1": {Memory: "m1", Run: "telegram/1/42#1", Response: 1, Duplicate: true},
		"m4": {Memory: "m4", Run: "telegram/1/42#4", Response: 4, Duplicate: true},
	}
	for id, want := range arrived {
		m := require.Value(s.Memory(t.Context(), id))(t)
		if acc, err := s.Known(t.Context(), m); err != nil || acc != want {
			t.Errorf("%s is known as %+v, %v; want %+v", id, acc, err, want)
		}
	}
	require.Value(s.Clear(t.Context(), "telegram/1/42"))(t)
	for id, want := range arrived {
		if id == "m1" {
			want.Run = "" // it has ended
		}
		if acc, err := s.Known(t.Context(), chat.Memory{ID: id, Room: "telegram/1/42"}); err != nil || acc != want {
			t.Errorf("after it was cleared, %s is known as %+v, %v; want %+v", id, acc, err, want)
		}
	}
}

// SE-20: the upgrade takes the text from runs of what an earlier version forgot, and their questions, and from no others.
func TestForgottenBeforeUpgrade(t *testing.T) {
	s := openWrittenByA661299(t,
		`INSERT INTO runs (id, room, turn, kind, address, opened, ready, duty, epoch, owner, status, text, acting, verdict)
			VALUES ('web/4f1c#8', 'web/4f1c', 8, 'direct', '{}', 1, 1, '', 1, 'p1', 'completed', 'a secret', 'call', '{"outcome":{"status":"completed"},"text":"a secret"}')`,
		`INSERT INTO questions (id, run, room, expires, question) VALUES ('Q8', 'web/4f1c#8', 'web/4f1c', 0, '{"options":["a secret"],"id":"Q8","run":"web/4f1c#8"}')`,
		`INSERT INTO entities (id, connector, names, bot) VALUES ('eve', 'telegram', '["Eve"]', 0)`)
	if r, err := s.Run(t.Context(), "web/4f1c#8"); err != nil || r.Text != "" || r.Verdict != nil || r.Acting != "-" {
		t.Errorf("the run is %+v, %v", r, err)
	}
	if q, err := s.Question(t.Context(), "Q8"); err == nil {
		t.Errorf("there is %+v", q)
	}
	for _, id := range []chat.RunID{"telegram/1/42#1", "telegram/1/42#2"} {
		if r, err := s.Run(t.Context(), id); err != nil || r.Verdict == nil || r.Verdict.Text == "" {
			t.Errorf("%s is %+v, %v", id, r, err)
		}
	}
	require.Value(s.Question(t.Context(), "QUESTION1"))(t)
	for range 2 { // what an earlier version met is new to this one
		require.Value(s.Expire(t.Context(), chat.Expiry{Rest: time.Now().Add(-time.Hour)}))(t)
	}
	require.Value(s.Entity(t.Context(), "eve"))(t)
}

// What an earlier version has indexed by whole words is indexed again, and found by other forms of them.
func TestWordsAreMadeAgainAfterUpgrade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	s := open(t, path)
	for i, text := range []string{"The keys are in the drawer", "Where is my key?"} {
		in := chat.Message{
			Memory: chat.Memory{ID: chat.MemoryID(fmt.Sprint("m", i)), Room: "room", Author: "ada", Text: text, At: time.Now()},
			Place:  chat.Room{ID: "room"},
		}
		require.Value(s.Accept(t.Context(), in, chat.JoinRule{Kind: chat.RunReply}))(t)
	}
	require.NoError(t, s.Close())
	goBack(t, path, 41,
		`INSERT INTO memory_words (rowid, room, words) SELECT seq, 'room', 'the keys are in the drawer' FROM memories WHERE id = 'm0'`,
		`UPDATE memory_words_until SET seq = (SELECT max(seq) FROM memories)`)
	s = open(t, path)
	require.Value(s.IndexWords(t.Context(), 50, time.Time{}))(t)
	found, err := s.FindWords(t.Context(), chat.Search{Room: "room", Before: "m1", Words: search.Question("Where is my key?"), Limit: 3})
	if err != nil || len(found) != 1 {
		t.Errorf("%d are found, %v; want 1", len(found), err)
	}
}

// DI-13, ST-26: intents that the version a661299 stored do not contain their text. They keep their meaning: with a verdict
// the message counts as the last word and is not posted again, without one it was a preview and the answer is posted whole.
func TestIntentsWrittenByA661299(t *testing.T) {
	for id, want := range map[chat.RunID][]string{
		"telegram/1/42#3": {"The engine is a mill."},
		"telegram/1/-7#1": nil,
	} {
		s := openWrittenByA661299(t)
		run := require.Value(s.Run(t.Context(), id))(t)
		if len(run.Shown) != 1 || run.Shown[0] != (chat.Shown{Part: 0}) {
			t.Errorf("%s: the journal holds %+v", id, run.Shown)
		}
		synctest.Test(t, func(t *testing.T) {
			room, a := progressivetest.NewChat(), &answer.Answer{}
			sink := progressivetest.Full{Editing: progressivetest.Editing{PostOnly: progressivetest.PostOnly{Chat: room}}}
			a.Apply(answer.Change{Kind: answer.Text, Text: "The engine is a mill."})
			a.End(answer.Outcome{Status: answer.Completed})
			m := progressive.New(sink, progressive.NewGate(room.Budget), run, slog.New(slog.DiscardHandler))
			require.NoError(t, m.Show(t.Context(), a, func(chat.Shown) error { return nil }))
			if got := room.Shown(); !slices.Equal(got, want) {
				t.Errorf("%s: people read %q; want %q", id, got, want)
			}
		})
	}
}

// A process of an earlier version, beside or instead of this one, reopens a run and ends it without its usage: that of the earlier end does not
// count for the later one.
func TestUsageOfAnEarlierEnd(t *testing.T) {
	s := open(t, migrated(t, "parley.db"))
	m := chat.Message{Memory: chat.Memory{ID: "m", Room: "room"}, Place: chat.Room{ID: "room"}}
	acc := require.Value(s.Accept(t.Context(), m, chat.JoinRule{Kind: chat.RunReply}))(t)
	usage := llm.UsageSum{Calls: 1}
	require.NoError(t, s.Finish(t.Context(), acc.Run, 0, answer.Outcome{Status: answer.Completed, Usage: &usage}, chat.Memory{}))
	for _, want := range []bool{true, false} {
		run, err := s.Run(t.Context(), acc.Run)
		if err != nil || (run.Outcome.Usage != nil) != want {
			t.Errorf("its usage is %v, %v; want one: %v", run.Outcome.Usage, err, want)
		}
		require.Value(s.writer.ExecContext(t.Context(), `UPDATE runs SET epoch = epoch + 1`))(t)
	}
}

// DI-13: a picture that an earlier version has described keeps its words, and counts as one that no model was shown.
func TestPictureOfA661299(t *testing.T) {
	s := openWrittenByA661299(t, `INSERT INTO memories (id, room, turn, role, kind, author, name, text, in_reply_to, at, history, interrupted, failure, content)
		VALUES ('look', 'telegram/1/42', 1, 'heard', '', 'telegram:42', 'Ada', 'Look', '', 1, '', 0, '', '{"files":[{"ref":"a","name":"a.png","description":"a cat"}]}')`)
	m, err := s.Memory(t.Context(), "look")
	if err != nil || len(m.Files) != 1 || m.Files[0] != (chat.Attachment{Ref: "a", Name: "a.png", Description: "a cat"}) {
		t.Fatalf("it is %+v, %v", m, err)
	}
	m.Files[0].Seen = "question"
	require.NoError(t, s.Revise(t.Context(), m.ID, m.Text, m.Files))
	if again, err := s.Memory(t.Context(), "look"); err != nil || again.Files[0] != m.Files[0] {
		t.Errorf("then it is %+v, %v", again, err)
	}
}

// SE-19, DI-13: a run that an earlier version has begun counts as counted, one that waits does not.
func TestCountedOfA661299(t *testing.T) {
	s := openWrittenByA661299(t)
	for run, want := range map[chat.RunID]int{"telegram/1/42#3": 0, "telegram/1/-7#3": 1} {
		charge := quota.Charge{Bucket: "bucket of " + string(run), Cost: quota.Cost{Messages: 1}}
		require.Value(s.Count(t.Context(), "2026-11-22", run, charge))(t)
		if got, err := s.Spent(t.Context(), "2026-11-22", charge.Bucket); err != nil || got.Messages != want {
			t.Errorf("%s: %d messages are counted, %v; want %d", run, got.Messages, err, want)
		}
	}
}
