package sqlite

import (
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"

	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/require"
	"parley/progressive"
	"parley/progressive/progressivetest"
)

// DI-13, ST-26: intents that the version a661299 stored do not say what they carry. They keep their meaning: with a verdict
// the message counts as the last word and is not posted again, without one it was a preview and the answer is posted whole.
func TestIntentsWrittenByA661299(t *testing.T) {
	for id, want := range map[chat.RunID][]string{
		"telegram/1/42#3": {"The engine is a mill."},
		"telegram/1/-7#1": nil,
	} {
		s := openWrittenByA661299(t)
		run, err := s.Run(t.Context(), id)
		require.NoError(t, err)
		if len(run.Shown) != 1 || run.Shown[0] != (chat.Shown{Part: 0}) {
			t.Errorf("%s: the journal holds %+v", id, run.Shown)
		}
		synctest.Test(t, func(t *testing.T) {
			room, a := progressivetest.NewChat(), &answer.Answer{}
			sink := progressivetest.Full{Editing: progressivetest.Editing{PostOnly: progressivetest.PostOnly{Chat: room}}}
			a.Apply(answer.Change{Kind: answer.Text, Text: "The engine is a mill."})
			a.End(answer.Outcome{Status: answer.Completed})
			m := progressive.New(sink, progressive.NewGate(room.Budget), run, slog.New(slog.DiscardHandler))
			if err := m.Show(t.Context(), a, func(chat.Shown) error { return nil }); err != nil {
				t.Error(err)
			}
			if got := room.Shown(); !slices.Equal(got, want) {
				t.Errorf("%s: people read %q; want %q", id, got, want)
			}
		})
	}
}
