package changes

import (
	"context"
	"fmt"
	"time"

	"parley/core/attachment"
	"parley/core/chat"
)

// Asks reports whether an edit made m a question: it now addresses the agent, and no run has answered it or will. It returns m with what
// is known of it from before the edit. Commands are no questions, because an edit makes no command, and messages of bots aren't, which
// edit their messages all the time. A message that is unknown was not received before, or is deleted: [chat.JoinRule.Again] tells.
func (h *Handler) Asks(ctx context.Context, m chat.Message) (chat.Message, bool, error) {
	if !m.Addressed || m.Bot || m.Author == h.Agent.Entity() || time.Since(m.At) > freshFor || m.Empty() || chat.IsCommand(m.Text) {
		return m, false, nil
	}
	old, err := h.Store.Memory(ctx, m.ID)
	if chat.Unless(err, chat.ErrNotFound) != nil {
		return m, false, fmt.Errorf("edit %s: %w", m.ID, err)
	}
	if err != nil {
		return m, true, nil
	}
	run, err := h.Store.RunOf(ctx, m.ID)
	if chat.Unless(err, chat.ErrNotFound) != nil {
		return m, false, fmt.Errorf("edit %s: %w", m.ID, err)
	}
	if run.ID != "" || old.Author != m.Author || old.Room != m.Room || old.Kind != chat.Said && old.Kind != chat.Overheard {
		return m, false, nil
	}
	m.Quoted, m.InReplyTo = old.Quoted, old.InReplyTo // an edit does not change what a message replies to
	m.Files = attachment.KeepRead(attachment.Edited(m.Files, old.Files), old.Files)
	m.Text = chat.WithTranscripts(m.Text, m.Files)
	return m, true, nil
}
