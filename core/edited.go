package core

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/core/access"
	"parley/core/attachment"
	"parley/core/changes"
	"parley/core/chat"
	"parley/core/command"
)

// edited takes a message after an edit. One that is addressed to the agent since the edit is a new question; all others change what is
// remembered.
func (t *intake) edited(ctx context.Context, e chat.Edited) (chat.Accepted, error) {
	acc, asked, err := t.askedByEdit(ctx, e.Message)
	if asked || err != nil {
		return acc, err
	}
	return chat.Accepted{Memory: e.ID}, t.rt.changes.Edited(ctx, e)
}

// askedByEdit accepts a message that was edited so that it addresses the agent, and reports whether it did. A message that a run answers
// or has answered is none of those, so a redelivery is none either. Neither are commands, because an edit makes no command, and messages
// of bots, which edit their messages all the time.
func (t *intake) askedByEdit(ctx context.Context, m chat.Message) (acc chat.Accepted, asked bool, err error) {
	if !m.Addressed || m.Bot || time.Since(m.At) > changes.FreshFor || m.Author == t.rt.cfg.Agent.Entity() || m.Empty() || command.Is(m.Text) {
		return acc, false, nil
	}
	if m, err = t.clean(m); err != nil {
		return acc, false, err
	}
	if m.Memory, asked, err = t.unasked(ctx, m.Memory); err != nil || !asked {
		return acc, false, err
	}
	a, err := t.admission(ctx, m)
	if err != nil {
		return acc, false, fmt.Errorf("accept the edit of %s: %w", m.ID, err)
	}
	verdict, attention, err := t.admit(ctx, m, a)
	if err != nil || verdict != access.Yes {
		return acc, false, err
	}
	j := t.rt.cfg.Turns.JoinRule(m, verdict)
	j.Again = true
	acc, err = t.save(ctx, m, a, j, attention)
	return acc, err == nil && !acc.Duplicate, err
}

// unasked returns m with what is known of it from before its edit, and reports whether no run has it as an input.
func (t *intake) unasked(ctx context.Context, m chat.Memory) (chat.Memory, bool, error) {
	acc, known, err := t.arrived(ctx, m)
	if err != nil || !known {
		return m, err == nil, err
	}
	old, err := t.store.Memory(ctx, m.ID)
	switch {
	case errors.Is(err, chat.ErrNotFound): // it was deleted
		return m, false, nil
	case err != nil:
		return m, false, fmt.Errorf("find the edited message %s: %w", m.ID, err)
	case acc.Run != "" || old.Author != m.Author || old.Kind != chat.Said:
		return m, false, nil
	}
	m.Quoted, m.InReplyTo = old.Quoted, old.InReplyTo // an edit does not change what a message replies to
	m.Files = attachment.KeepRead(attachment.Edited(m.Files, old.Files), old.Files)
	m.Text = chat.WithTranscripts(m.Text, m.Files)
	return m, true, nil
}
