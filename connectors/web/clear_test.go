package web

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/connectors/connectortest"
	"parley/core/chat"
	"parley/core/storage/storagetest"
	"parley/internal/require"
)

// A deleted conversation can be restored for ten seconds and does not exist meanwhile. Then its messages are erased, also by the next
// process; the next message erases them at once. Its reader can continue it, but no list has it then.
func TestDeletionCanBeUndone(t *testing.T) {
	s, ada, path, _ := answered(t)
	bob := account(t, "bob", nil)
	messages := func() (int, int) {
		status, reply := s.ask("GET", path+"/messages", ada, "")
		all, _ := reply["messages"].([]any)
		return status, len(all)
	}
	listed := func() int {
		_, reply := s.ask("GET", "/api/conversations", ada, "")
		return len(reply["conversations"].([]any))
	}
	_, link := s.ask("POST", path+"/shares", ada, `{}`)
	url := "/" + link["share"].(map[string]any)["url"].(string)
	if status, _ := s.ask("POST", path+"/restore", ada, "{}"); status != http.StatusConflict {
		t.Errorf("one that is not deleted is restored with %d", status)
	}
	for range 2 { // the second is a repeated request
		status, reply := s.ask("DELETE", path, ada, "")
		until, err := time.Parse(time.RFC3339, reply["undoUntil"].(string))
		if left := time.Until(until); status != http.StatusOK || err != nil || reply["deletedCount"] != 2.0 || left > undoTime || left < undoTime/2 {
			t.Errorf("deleting: %d %v, %v", status, reply, err)
		}
	}
	for what, request := range map[string][2]string{
		"reading": {"GET", "/messages"}, "exporting": {"GET", "/export"}, "stopping": {"POST", "/stop"}, "sharing": {"POST", "/shares"},
	} {
		if status, reply := s.ask(request[0], path+request[1], ada, "{}"); status != http.StatusNotFound {
			t.Errorf("%s a deleted one: %d %v", what, status, reply)
		}
	}
	if status, _ := s.ask("GET", url, "", ""); status != http.StatusNotFound || listed() != 0 {
		t.Errorf("its link is %d, and listed are %d", status, listed())
	}
	if status, _ := s.ask("POST", path+"/restore", bob, "{}"); status != http.StatusNotFound {
		t.Errorf("another visitor restores it with %d", status)
	}
	if status, reply := s.ask("POST", path+"/restore", ada, "{}"); status != http.StatusOK {
		t.Errorf("restoring: %d %v", status, reply)
	}
	if status, n := messages(); status != http.StatusOK || n != 2 || listed() != 1 {
		t.Errorf("restored are %d messages with %d, listed %d", n, status, listed())
	}

	s.ask("DELETE", path, ada, "")
	s.ask("POST", path+"/messages/stream", ada, `{"text":"Another one","clientMessageId":"2"}`)
	if status, n := messages(); status != http.StatusOK || n != 1 {
		t.Errorf("after another message, there are %d with %d", n, status)
	}

	s.ask("DELETE", path, ada, "")
	notes, err := s.web.opts.Store.NotesAbout(t.Context(), deletedReader, chat.ReaderNote, false, 9)
	if err != nil || len(notes) != 1 {
		t.Fatal(notes, err)
	}
	notes[0].At = notes[0].At.Add(-undoTime)
	require.NoError(t, s.web.opts.Store.SaveNote(t.Context(), notes[0]))
	for range 2 {
		if _, err := (eraser{door{s.web}}).erase(t.Context(), notes[0]); err != nil { // as several processes do
			t.Error(err)
		}
	}
	if status, n := messages(); status != http.StatusOK || n != 0 || listed() != 0 {
		t.Errorf("erased, there are %d messages with %d, listed %d", n, status, listed())
	}
}

// The eraser looks for deleted conversations when it starts and when one is deleted, and erases each in its time.
func TestEraserWaitsForTheUndo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pad, erased := &storagetest.NotePad{}, atomic.Int64{}
		w := New(Options{Memo: &connectortest.Memory{}, Listener: public{}, Store: rooms{NotePad: pad}, Log: slog.New(slog.DiscardHandler)})
		w.submit = func(_ context.Context, in chat.Inbound) (chat.Accepted, error) {
			erased.Add(1)
			return chat.Accepted{}, pad.SaveNote(t.Context(), chat.RoomNote{Room: in.(chat.Cleared).Room, Kind: chat.ReaderNote, Key: deletedReader})
		}
		deletes := func(room chat.RoomID) {
			note := chat.RoomNote{Room: room, Kind: chat.ReaderNote, Key: deletedReader, About: deletedReader, Text: "deleted", At: time.Now()}
			require.NoError(t, pad.SaveNote(t.Context(), note))
		}
		deletes("web/before")
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go eraser{door{w}}.eraseDeleted(ctx)
		time.Sleep(undoTime / 2)
		deletes("web/after")
		w.deleted <- struct{}{}
		for n, pause := range []time.Duration{undoTime/2 - time.Millisecond, undoTime / 2, undoTime} {
			time.Sleep(pause)
			synctest.Wait()
			if got := erased.Load(); got != int64(n) {
				t.Errorf("erased are %d; want %d", got, n)
			}
		}
	})
}
