package intake

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"parley/core/chat"
)

var errDown = errors.New("the store is down")

// noticeStore has one notice, whose run can't be reopened.
type noticeStore struct {
	ChangeStore
	notice chat.Memory
}

func (s *noticeStore) Memory(context.Context, chat.MemoryID) (chat.Memory, error) {
	return s.notice, nil
}

func (s *noticeStore) RunOf(context.Context, chat.MemoryID) (chat.Run, error) {
	return chat.Run{ID: "room#1", Epoch: 1}, nil
}

func (s *noticeStore) Reopen(context.Context, chat.RunID) error { return errDown }

func (s *noticeStore) Revise(_ context.Context, _ chat.MemoryID, text string, _ []chat.Attachment) error {
	s.notice.Text = text
	return nil
}

// A notice that can't be shown with its new text keeps the old one: a repetition would otherwise find the new text and do nothing.
func TestAmendFailsBeforeItWrites(t *testing.T) {
	s := &noticeStore{notice: chat.Memory{ID: "n", Text: "old"}}
	c := &Changes{Store: s, Log: slog.New(slog.DiscardHandler)}
	_, err := c.Amend(t.Context(), "room", "n", func(was string) (string, bool) { return was + ", new", true })
	if !errors.Is(err, errDown) || s.notice.Text != "old" {
		t.Errorf("Amend fails with %v, and the text is %q", err, s.notice.Text)
	}
}
