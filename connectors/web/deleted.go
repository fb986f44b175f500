package web

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"parley/core/chat"
)

const (
	undoTime   = 10 * time.Second // how long a deleted conversation can be restored
	eraseAgain = time.Minute      // how long the process that is to erase it has, before another one does
	// deletedReader is the key of the note, among the readers of a conversation, that it is deleted. It is erased with them.
	deletedReader = Name + "/deleted"
)

// deletedReply is the reply to the deletion of a conversation.
type deletedReply struct {
	OK        bool      `json:"ok"`
	Deleted   int       `json:"deletedCount"` // messages, at most 2000 of them are counted
	UndoUntil time.Time `json:"undoUntil"`
}

// eraser deletes conversations.
type eraser struct{ door }

// delete deletes a conversation: DELETE /api/conversations/{id}. Its messages are erased after undoTime, or with the next
// message if that comes first. The conversation itself stays, so an open page can continue.
func (d eraser) delete(_ http.ResponseWriter, r *http.Request) (any, *refusal) {
	room, note, no := d.find(r, r.PathValue("id"))
	if no != nil {
		return nil, no
	}
	all, err := d.web.opts.Store.Recent(r.Context(), room.ID, chat.Said, 0, maxExported)
	if err == nil && note.Key == "" {
		note = chat.RoomNote{Room: room.ID, Kind: chat.ReaderNote, Key: deletedReader, About: deletedReader, Text: "deleted", At: time.Now()}
		err = d.web.opts.Store.SaveNote(r.Context(), note)
	}
	if err != nil {
		return nil, d.web.failures.refuse("delete a conversation", err)
	}
	select {
	case d.web.deleted <- struct{}{}:
	default: // the eraser looks soon
	}
	return deletedReply{true, len(all), note.At.Add(undoTime).UTC()}, nil
}

// restore takes the deletion of a conversation back: POST /api/conversations/{id}/restore.
func (d eraser) restore(_ http.ResponseWriter, r *http.Request) (any, *refusal) {
	room, note, no := d.find(r, r.PathValue("id"))
	if no != nil {
		return nil, no
	}
	if note.Key == "" {
		return nil, refused(http.StatusConflict, "refused.not_deleted")
	}
	mine, err := d.settle(r.Context(), note)
	if err == nil && !mine {
		return nil, refused(http.StatusConflict, "refused.not_restorable")
	}
	if err == nil {
		err = d.unread(r, room.ID, deletedReader)
	}
	if err != nil {
		return nil, d.web.failures.refuse("restore a conversation", err)
	}
	return okReply{true}, nil
}

// settle reports whether the caller alone decides about a deletion: to erase, or to restore. If the process that has decided
// died, another one can after some time; nothing is written to the conversation until then.
func (d eraser) settle(ctx context.Context, note chat.RoomNote) (bool, error) {
	acc, err := d.web.opts.Store.Mark(ctx, note.Room, chat.MemoryID("deleted/"+strconv.FormatInt(note.At.UnixNano(), 10)))
	return err == nil && (!acc.Duplicate || time.Since(note.At) > undoTime+eraseAgain), err
}

// erase erases a deleted conversation, and reports whether it did: another process can be about to. Its readers stay, as
// long as an empty conversation does. The details of its anonymous visitor are deleted, too.
func (d eraser) erase(ctx context.Context, note chat.RoomNote) (bool, error) {
	mine, err := d.settle(ctx, note)
	if err != nil || !mine {
		return false, err
	}
	readers, err := d.web.opts.Store.Notes(ctx, note.Room, chat.ReaderNote, chat.MaxNotes)
	if err == nil {
		_, err = d.web.submit(ctx, chat.Cleared{Room: note.Room, Entirely: true, Person: visitor(note.Room)})
	}
	for _, n := range readers {
		if err == nil && n.Key != deletedReader {
			err = d.note(ctx, note.Room, n.About, n.Text, time.Now().Add(emptyFor))
		}
	}
	return err == nil, err
}

// eraseDeleted erases deleted conversations until ctx is done, also those of processes that died. It also sends visitors' messages on, each minute.
func (d eraser) eraseDeleted(ctx context.Context) {
	for ctx.Err() == nil {
		next := eraseAgain
		contactAPI{d.web.latest.Load()}.sendStored(ctx)
		notes, err := d.web.opts.Store.NotesAbout(ctx, deletedReader, chat.ReaderNote, false, chat.MaxNotes)
		for _, n := range notes {
			left := time.Until(n.At.Add(undoTime))
			if left <= 0 {
				_, eerr := d.erase(ctx, n)
				err = errors.Join(err, chat.Unless(eerr, chat.ErrNotFound))
			} else {
				next = min(next, left)
			}
		}
		if err != nil && ctx.Err() == nil {
			d.web.failures.note("erase deleted conversations", err)
		}
		select {
		case <-d.web.deleted:
		case <-time.After(next):
		case <-ctx.Done():
		}
	}
}

// deletions returns the rooms that are deleted and can be restored.
func (d eraser) deletions(ctx context.Context) (map[chat.RoomID]bool, error) {
	notes, err := d.web.opts.Store.NotesAbout(ctx, deletedReader, chat.ReaderNote, false, chat.MaxNotes)
	all := map[chat.RoomID]bool{}
	for _, n := range notes {
		all[n.Room] = true
	}
	return all, err
}
