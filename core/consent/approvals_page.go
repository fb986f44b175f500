package consent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"parley/core/chat"
	"parley/internal/lang"
)

// keptWords is how long words that decided a call on the operator's page are stored. The call is made as soon as a process runs.
const keptWords = 7 * 24 * time.Hour

// Decide decides a call that waits as by would in a direct chat: to is [chat.Approved], [chat.Denied], or [chat.Amended] with the arguments, or the text of the held
// answer, that by has written. refused reports that these do not fit, and nothing was decided; says is then the reason, and otherwise the result of Chosen.
func (ap *Approvals) Decide(ctx context.Context, id string, to chat.Decision, arguments string, by chat.EntityID) (says string, refused bool, err error) {
	q := chat.Question{By: by, Payload: id, Options: []string{lang.Say(ctx, map[bool]string{true: once, false: deny}[to == chat.Approved])}}
	r, err := ap.Store.Approval(ctx, id)
	if chat.Unless(err, chat.ErrNotFound) != nil {
		return "", false, err
	}
	if q.Replies = to == chat.Amended && r.Tool == HeldTool; q.Replies {
		q.Options[0] = arguments
	} else if to == chat.Amended {
		if q.Edit, err = ap.EditOf(ctx, id); err != nil || q.Edit == nil {
			return lang.Say(ctx, "approval.over"), true, err
		}
		q.Options[0] = lang.Say(ctx, "hold.edit") + ": " + arguments
		if why := ap.Unfit(ctx, q, q.Options[0]); why != "" {
			return why, true, nil
		}
	}
	says, err = ap.Chosen(ctx, q)
	if why := chat.Refused(""); errors.As(err, &why) {
		return string(why), false, nil
	}
	return says, false, err
}

// EditOf returns the arguments of a call that waits or waited for the approval id, or nil if approvers can't change them. It fails with the error of
// the store.
func (ap *Approvals) EditOf(ctx context.Context, id string) (*chat.Edit, error) {
	r, err := ap.Store.Approval(ctx, id)
	if err != nil {
		return nil, chat.Unless(err, chat.ErrNotFound)
	}
	kept, err := noted(ctx, ap.Notes, r.Room, id)
	var edit *chat.Edit
	if err == nil && kept != "" {
		err = json.Unmarshal([]byte(kept), &edit)
	}
	return edit, err
}

// keepEdit stores the arguments of r for the operator's page: there can be no card.
func keepEdit(ctx context.Context, store NoteStore, r chat.Approval, edit *chat.Edit) error {
	if edit == nil {
		return nil
	}
	kept, err := json.Marshal(edit)
	if err != nil {
		return err
	}
	return store.SaveNote(ctx, chat.RoomNote{Room: r.Room, Kind: chat.EditNote, Key: r.ID, Text: string(kept), At: r.At, Expires: r.Expires.Add(keptWords)})
}

// keepWritten stores the words of q before they decide r at a time. Of several decisions only one counts, so the time is a part of the key.
func keepWritten(ctx context.Context, store NoteStore, r chat.Approval, q chat.Question, at time.Time) error {
	r.By, r.Decided = q.By, at
	return store.SaveNote(ctx, chat.RoomNote{Room: r.Room, Kind: chat.EditNote, Key: writtenKey(r), Text: q.Options[q.Choice], At: at, Expires: at.Add(keptWords)})
}

func writtenKey(r chat.Approval) string {
	return fmt.Sprint(r.ID, " ", r.By, " ", r.Decided.UnixNano())
}

// noted returns the text of the note with a key; "" if there is none.
func noted(ctx context.Context, store NoteStore, room chat.RoomID, key string) (string, error) {
	notes, err := store.Notes(ctx, room, chat.EditNote, chat.MaxNotes)
	for _, n := range notes {
		if n.Key == key {
			return n.Text, nil
		}
	}
	return "", err
}
