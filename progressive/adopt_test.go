package progressive_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"parley/core/chat"
	"parley/internal/require"
	"parley/progressive"
	"parley/progressive/progressivetest"
)

// numbered is a sink whose ids can be guessed.
type numbered struct {
	progressivetest.Full
	ids []string
}

func (n numbered) Guesses() ([]string, chat.RoomID) { return n.ids, "chat" }

// ST-31: a beginning whose create request was in flight at a crash becomes the answer, if its id can be guessed for certain.
func TestBeginningIsAdopted(t *testing.T) {
	const begun, other = "The begin", "Something else."
	for name, c := range map[string]struct {
		ids   []string
		shown map[chat.RunID][]chat.Shown
		fails error
		edits []progressivetest.Fault
		last  bool // the create request was that of the final text
		want  []string
		tried int
	}{
		"the first id":            {ids: []string{"m1"}, want: []string{prose, other}, tried: 1},
		"the third id":            {ids: []string{"x", "y", "m1"}, want: []string{prose, other}, tried: 3},
		"the fourth id":           {ids: []string{"x", "y", "z", "m1"}, want: []string{begun, other, prose}, tried: 3},
		"no id":                   {want: []string{begun, other, prose}},
		"a known message":         {ids: []string{"m2"}, shown: map[chat.RunID][]chat.Shown{"other": {{ID: "m2"}}}, want: []string{begun, other, prose}},
		"and then the right one":  {ids: []string{"m2", "m1"}, shown: map[chat.RunID][]chat.Shown{"other": {{ID: "m2"}}}, want: []string{prose, other}, tried: 1},
		"another create unknown":  {ids: []string{"m1"}, shown: map[chat.RunID][]chat.Shown{"other": {{Part: 1}}}, want: []string{begun, other, prose}},
		"its own create":          {ids: []string{"m1"}, shown: map[chat.RunID][]chat.Shown{"run": {{}}}, want: []string{prose, other}, tried: 1},
		"the journal fails":       {ids: []string{"m1"}, fails: errOther, want: []string{begun, other, prose}},
		"the final text":          {ids: []string{"m1"}, last: true, want: []string{begun, other, prose}},
		"unsent, limited, unsure": {ids: []string{"m1"}, edits: []progressivetest.Fault{{Err: progressive.ErrUnsent}, refuse, doubt}, want: []string{prose, other}, tried: 4},
		"always unsure":           {ids: []string{"m1"}, edits: slices.Repeat([]progressivetest.Fault{lost}, 20), want: []string{begun, other, prose}, tried: 6},
	} {
		t.Run(name, func(t *testing.T) {
			withDelivery(t, resending, func(s *delivery) {
				full := progressivetest.Full{Editing: progressivetest.Editing{PostOnly: progressivetest.PostOnly{Chat: s.chat}}}
				for _, text := range []string{begun, other} {
					require.Value(full.Post(s.Context(), progressive.Part{Text: text, Plain: text}, text))(t)
				}
				time.Sleep(10 * time.Second)
				s.run.ID, s.run.Inputs = "run", []chat.MemoryID{"question"}
				s.run.Shown = []chat.Shown{{Sent: "a hash", Last: c.last, At: time.Now(), Tries: 1}}
				s.sink = numbered{full, c.ids}
				s.options = []progressive.Option{progressive.WithJournal(s.run, func(context.Context, chat.RoomID, int) (map[chat.RunID][]chat.Shown, error) {
					return c.shown, c.fails
				})}
				s.failEach(progressive.Edit, c.edits)
				s.showTo(slog.New(slog.DiscardHandler))
				s.say(prose)
				s.finish()
				s.wantShown(c.want...)
				if n := s.count(progressive.Edit); n != c.tried {
					t.Errorf("%d edits, want %d", n, c.tried)
				}
				if adopted := c.want[0] == prose; (s.run.Shown[0].ID == "m1") != adopted {
					t.Errorf("the journal holds %+v", s.run.Shown)
				}
				if n := s.count(progressive.Delete); n != 0 {
					t.Errorf("%d messages were deleted; want none", n)
				}
			})
		})
	}
}
