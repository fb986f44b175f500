package attachment_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"parley/core/action"
	"parley/core/attachment"
	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/require"
)

// reader reads every file, and counts.
type reader struct{ read []string }

func (r *reader) Read(_ context.Context, _ string, files []chat.Attachment, _ string) []chat.Attachment {
	all := slices.Clone(files)
	for i := range all {
		r.read = append(r.read, all[i].Ref)
		all[i].Text = "text of " + all[i].Ref
	}
	return all
}

func (*reader) Pictures(context.Context, string, []chat.Attachment, int) ([]llm.File, []chat.Attachment) {
	return nil, nil
}

// store has memories by their ids.
type store map[chat.MemoryID]chat.Memory

func (s store) Memory(_ context.Context, id chat.MemoryID) (chat.Memory, error) {
	if m, ok := s[id]; ok {
		return m, nil
	}
	return chat.Memory{}, chat.ErrNotFound
}

func (s store) Revise(_ context.Context, id chat.MemoryID, text string, files []chat.Attachment) error {
	m := s[id]
	m.Text, m.Files = text, files
	s[id] = m
	return nil
}

// What a turn is about is read once: files of the question, and what its author sent shortly before; nothing older, and nothing
// that another author sent.
func TestReadOnce(t *testing.T) {
	now := time.Now()
	file := func(ref string) []chat.Attachment { return []chat.Attachment{{Ref: ref, Name: ref}} }
	recent := []chat.Memory{
		{ID: "1", Author: "ada", At: now.Add(-time.Hour), Files: file("old")},
		{ID: "2", Author: "bob", At: now, Files: file("other")},
		{ID: "3", Author: "ada", At: now.Add(-time.Minute), Files: file("before")},
		{ID: "4", Author: "ada", At: now, Text: "What is that?", Files: file("asked")},
	}
	kept, r := store{}, &reader{}
	for _, m := range recent {
		kept[m.ID] = m
	}
	turn := action.TurnContext{Recent: recent, Message: recent[3]}
	rd := attachment.Reading{Reader: r, Store: kept, Inputs: []chat.MemoryID{"4"}, Describe: func(context.Context, action.TurnContext) string { return "" }, Life: t.Context(), Log: slog.New(slog.DiscardHandler)}
	for range 2 {
		rd.Read(t.Context(), &turn, attachment.Any)
	}
	if !slices.Equal(r.read, []string{"before", "asked"}) {
		t.Errorf("it read %q", r.read)
	}
	if turn.Message.Files[0].Text != "text of asked" || kept["3"].Files[0].Text != "text of before" || rd.HasUnread(turn, attachment.Any) {
		t.Errorf("known is %+v", kept)
	}
}

func TestCheck(t *testing.T) {
	long := chat.Memory{ID: "1", Files: []chat.Attachment{{Ref: string(make([]byte, chat.MaxOwn+1))}}}
	if err := attachment.Check(long); !errors.Is(err, chat.ErrTooLarge) {
		t.Errorf("a reference that is too long: %v", err)
	}
	long.Files[0].Ref = long.Files[0].Ref[1:]
	require.NoError(t, attachment.Check(long))
}
