package discord_test

import (
	"testing"

	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/require"
)

// changes are what was handed in beside messages and commands.
func (w *botHarness) changes() (all []chat.Inbound) {
	w.settle()
	for _, in := range w.inboundMessages() {
		switch in.(type) {
		case chat.Message, chat.Command:
		default:
			all = append(all, in)
		}
	}
	return all
}

// IN-12: an edit is handed in as one; what Discord's preview changes is the same text again, and the store's to see.
func TestEdits(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		id := w.say("see https://example.org")
		w.settle()
		said := w.inboundMessages()[0].(chat.Message).Memory
		w.fake.UserEdit(id, "see <@"+w.ann+">")
		w.fake.Unfurl(id)
		w.fake.UserEdit(id, "")
		all := w.changes()
		if len(all) != 2 {
			t.Fatalf("handed in %+v; want 2", all)
		}
		for _, in := range all {
			want := said
			want.Text = "see @ann"
			if e := in.(chat.Edited); e.ID != want.ID || e.Room != want.Room || e.Author != want.Author ||
				e.Text != want.Text || !e.At.Equal(want.At) || e.Name != want.Name {
				t.Errorf("edited is %+v, want %+v", e.Memory, want)
			}
		}
		w.wantTexts("see https://example.org")
	})
}

// The bot's own messages and edits are not reported.
func TestOwnEdits(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		w.say("hello")
		w.settle()
		s := w.open()
		id := require.Value(s.Post(w.Context(), s.Render(answer.View{Segments: []answer.Segment{{Text: "one"}}})[0], "n"))(t)
		w.fake.UserEdit(id, "two")
		if all := w.changes(); len(all) != 0 {
			t.Errorf("handed in %+v; want none", all)
		}
	})
}

func TestDeletionsAndReactions(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		a, b, c := w.say("a"), w.say("b"), w.say("c")
		room := chat.RoomID("discord/" + w.channel)
		on := func(id string) chat.MemoryID { return chat.MemoryID("discord/" + w.channel + "/" + id) }
		w.fake.React(a, w.ann, "👍", true)
		w.fake.React(a, w.ann, "👍", false)
		w.fake.React(a, w.ann, "👍", true)
		w.fake.UserDelete(a)
		w.fake.BulkDelete(b, c)
		w.fake.DeleteChannel(w.channel)
		all := w.changes()
		want := []chat.Inbound{
			chat.Reaction{Room: room, Author: chat.EntityID("discord/" + w.ann), Name: "ann", On: on(a), Message: a, Emoji: "👍", Added: true},
			chat.Reaction{Room: room, Author: chat.EntityID("discord/" + w.ann), On: on(a), Message: a, Emoji: "👍"},
			chat.Reaction{Room: room, Author: chat.EntityID("discord/" + w.ann), Name: "ann", On: on(a), Message: a, Emoji: "👍", Added: true},
			chat.Deleted{Room: room, ID: on(a)}, chat.Deleted{Room: room, ID: on(b)}, chat.Deleted{Room: room, ID: on(c)},
			chat.Cleared{Room: room, Entirely: true},
		}
		if len(all) != len(want) {
			t.Fatalf("handed in %+v", all)
		}
		events := map[string]bool{}
		for i, in := range all {
			if r, ok := in.(chat.Reaction); ok {
				if r.At.IsZero() {
					t.Errorf("%+v has no time", r)
				}
				if r.Event == "" || events[r.Event] {
					t.Errorf("%+v is not told from other events", r)
				}
				events[r.Event] = true
				r.At, r.Event = want[i].(chat.Reaction).At, ""
				in = r
			}
			if in != want[i] {
				t.Errorf("handed in %+v, want %+v", in, want[i])
			}
		}
	})
}
