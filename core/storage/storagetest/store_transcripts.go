package storagetest

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/chat"
	"parley/core/storage"
	"parley/internal/require"
)

// Transcripts tests the contract of [storage.Transcripts].
func Transcripts(t *testing.T, open func(t *testing.T) storage.Store) {
	synctest.Test(t, func(t *testing.T) {
		s := store{open(t), t}
		for _, room := range []chat.RoomID{"first", "second"} {
			s.told(room, 1)
			time.Sleep(time.Minute)
		}
		s.opened("first", 2)
		s.must(s.SaveRoom(t.Context(), chat.Room{ID: "empty", Kind: chat.API, Created: time.Now()}))
		all := require.Value(s.ListRooms(t.Context(), "", 5))(s.t)
		var listed []string
		for _, l := range all {
			listed = append(listed, string(l.ID)+" "+l.Name+" "+string(l.Author)+" "+l.Connector)
		}
		s.same("the rooms", listed, []string{"first the first ada fake", "second the second ada fake"})
		for part, want := range map[string]int{"THE SEC": 1, "ada": 2, "fIrst": 1, "none": 0, "%": 0} {
			all = require.Value(s.ListRooms(t.Context(), part, 5))(s.t)
			s.same("the number of rooms for "+part, len(all), want)
		}
		all = require.Value(s.ListRooms(t.Context(), "", 1))(s.t)
		s.same("the number of rooms", len(all), 1)
		var texts []string
		for page := (chat.PersonalPage{Next: ""}); ; {
			page = require.Value(s.RoomRecords(t.Context(), "first", page.Next))(s.t)
			for _, r := range page.Records {
				var m struct{ Text string }
				s.must(json.Unmarshal(r, &m))
				if strings.Contains(string(r), "second") {
					t.Errorf("the export of a room has %s of another", r)
				}
				if page.Section == "messages" {
					texts = append(texts, m.Text)
				}
			}
			if page.Next == "" {
				break
			}
		}
		s.same("the messages", texts, []string{"message 1", "the answer", "message 2"})
		page := require.Value(s.RoomRecords(t.Context(), "none", ""))(s.t)
		s.same("the records of no room", len(page.Records), 0)
	})
}
