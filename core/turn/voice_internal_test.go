package turn

import (
	"context"
	"errors"
	"testing"

	"parley/core/access"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/storage"
)

// What is spoken has no code, addresses and marks, and nothing of actions and notices.
func TestSpoken(t *testing.T) {
	for text, want := range map[string]string{
		"**Bold** and `code`.": "Bold and code.", "# Title\n\n```go\nx := 1\n```\nDone.": "Title\n\n\nDone.",
		"See [the docs](https://example.org/a) or https://example.org.": "See the docs or", "```go\nopen": "", "3 * 4": "3  4",
	} {
		v := answer.View{Segments: []answer.Segment{{Text: text}, {Call: "c", Text: "tool"}, {Notice: true, Text: "notice"}}}
		if got := spoken(v); got != want {
			t.Errorf("%q is spoken as %q; want %q", text, got, want)
		}
	}
}

// commandStore has one account, whose details it stores, and a command of its author.
type commandStore struct {
	storage.Store
	text     string
	saved    map[string]string
	unlinked error // of the links
}

func (s *commandStore) Memory(context.Context, chat.MemoryID) (chat.Memory, error) {
	return chat.Memory{ID: "m", Room: "room", Author: "ada", Text: s.text}, nil
}

func (s *commandStore) Room(context.Context, chat.RoomID) (chat.Room, error) { return chat.Room{}, nil }

func (s *commandStore) Entity(context.Context, chat.EntityID) (chat.Entity, error) {
	return chat.Entity{ID: "ada", Details: s.saved}, nil
}

func (s *commandStore) SaveEntity(_ context.Context, e chat.Entity) (chat.News, error) {
	s.saved = e.Details
	return chat.Nothing, nil
}

func (s *commandStore) NotesAbout(context.Context, chat.EntityID, chat.NoteKind, bool, int) ([]chat.RoomNote, error) {
	return nil, s.unlinked
}

// command returns the run of the command.
func (s *commandStore) command() *commandRun {
	at := &attempt{run: chat.Run{Inputs: []chat.MemoryID{"m"}}}
	return &commandRun{Replies: &Replies{Store: s, Links: &access.Links{Store: s}}, journal: &journal{Journals: &Journals{Store: s}, at: at}, at: at}
}

// Both words after the command are stored, each as its detail; other words change nothing.
func TestOnOrOff(t *testing.T) {
	for text, want := range map[string]string{"/voice on": "on", "/voice OFF": "off", "/voice": "before", "/voice perhaps": "before"} {
		s := &commandStore{text: text, saved: map[string]string{chat.VoiceDetail: "before"}}
		if _, _, err := s.command().onOrOff(t.Context(), chat.VoiceDetail, "on", "off"); err != nil || s.saved[chat.VoiceDetail] != want {
			t.Errorf("%s stores %q, %v; want %q", text, s.saved[chat.VoiceDetail], err, want)
		}
	}
}

// A command about linked accounts fails if they can't be read.
func TestLinkFailsWithTheStore(t *testing.T) {
	down := errors.New("down")
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // the time of the turn is over: it is not tried again
	if said, err := (&commandStore{text: "/link", unlinked: down}).command().link(ctx); !errors.Is(err, down) {
		t.Errorf("it says %q, %v; want the error of the store", said, err)
	}
}
