package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"parley/backends/record"
	"parley/core/answer"
	"parley/core/chat"
)

// PersonalRecords implements [storage.PersonalData].
func (s *personal) PersonalRecords(ctx context.Context, person chat.EntityID, after string) (page chat.PersonalPage, err error) {
	page, err = s.records(ctx, record.PersonalTables(), string(person), after)
	return page, s.wrap(err, "reading what is stored about %q", person)
}

// RoomRecords implements [storage.Transcripts].
func (s *personal) RoomRecords(ctx context.Context, room chat.RoomID, after string) (page chat.PersonalPage, err error) {
	page, err = s.records(ctx, record.RoomTables(), string(room), after)
	return page, s.wrap(err, "reading the room %q", room)
}

// ListRooms implements [storage.Transcripts].
func (s *personal) ListRooms(ctx context.Context, part string, limit int) (all []chat.ListedRoom, err error) {
	where, args := contains("r.id || ' ' || r.name || ' ' || m.name", part)
	all, err = list(ctx, s.Shared, record.ScanListedRoom, fmt.Sprintf(record.ListRooms, where), append(args, limit)...)
	return all, s.wrap(err, "listing the rooms")
}

// records returns a page of the rows about a person or a room.
func (s *personal) records(ctx context.Context, tables []record.PersonalTable, about, after string) (chat.PersonalPage, error) {
	return record.PersonalPageOf(tables, after, func(t record.PersonalTable, key []any) ([][]any, error) {
		found, err := list(ctx, s.Shared, RowOf(len(t.Key)+len(t.Columns)), t.Query(len(key) == 0), append([]any{about}, key...)...)
		if err != nil {
			err = fmt.Errorf("%s: %w", t.Name, err)
		}
		return found, err
	})
}

// RowOf returns a function that reads a row of any types. NUL in a text is left out.
func RowOf(columns int) func(record.Row) ([]any, error) {
	return func(r record.Row) ([]any, error) {
		row, into := make([]any, columns), make([]any, columns)
		for i := range row {
			into[i] = &row[i]
		}
		err := r.Scan(into...)
		for i, v := range row {
			if text, ok := v.(string); ok {
				row[i] = strings.ReplaceAll(text, "\x00", "")
			}
		}
		return row, err
	}
}

// DeletePersonal implements [storage.PersonalData]. It works in transactions of one room each, so that other writers
// never wait long, and so can be interrupted: the next call finds the rest. Messages come first, as other data
// about a person (deleteRest) can only be recognized and deleted without them.
func (s *personal) DeletePersonal(ctx context.Context, person chat.EntityID) (chat.PersonalDeletion, error) {
	d := chat.PersonalDeletion{Deleted: map[string]int{}}
	err := s.deleteChats(ctx, person, &d)
	if err == nil {
		err = s.deleteMessages(ctx, person, &d)
	}
	if err == nil && !d.More {
		err = s.deleteRest(ctx, person, &d)
	}
	return d, s.wrap(err, "deleting what is stored about %q", person)
}

// deleteChats deletes the next of a person's own chats. A chat with an open run stays in the list and would be found
// again, so there is more only if something was deleted.
func (s *personal) deleteChats(ctx context.Context, person chat.EntityID, d *chat.PersonalDeletion) error {
	query := fmt.Sprintf(`%s LIMIT %d`, record.OwnChats, record.PersonalChats)
	chats, err := list(ctx, s.Shared, scan[chat.RoomID], query, string(person))
	if err != nil {
		return err
	}
	for _, room := range chats {
		if err := s.deleting(ctx, s.room(room), person, d, func(ctx context.Context, tx Conn, n counts) error { return s.deleteChat(ctx, tx, room, n) }); err != nil {
			return err
		}
	}
	d.More = len(chats) == record.PersonalChats && d.Deleted["messages"]+d.Deleted["runs"] > 0
	return nil
}

// counts has the number of deleted rows by section of an export.
type counts map[string]int

// deleting is Write for transactions that count deleted rows. The counts are added to d after the commit, as the
// transaction can be repeated. Each of them records the deletion, because a backup can be made between two of them.
func (s *personal) deleting(ctx context.Context, on Change, person chat.EntityID, d *chat.PersonalDeletion, do func(context.Context, Conn, counts) error) error {
	var n counts
	err := s.burying(ctx, on, Tombstone{Kind: PersonDeleted, ID: string(person)}, func(ctx context.Context, tx Conn) error {
		n = counts{} // it may run again
		return do(ctx, tx, n)
	})
	if err == nil {
		for section, more := range n {
			d.Deleted[section] += more
		}
	}
	return err
}

// deleteChat deletes a chat with everything in it, except rows of runs that have not ended.
func (s *personal) deleteChat(ctx context.Context, tx Conn, room chat.RoomID, deleted counts) error {
	files, err := scan[int](tx.QueryRow(ctx, record.CountFilesOfRoom, room))
	if err != nil {
		return err
	}
	for _, statement := range record.PersonalRoom() { // before the messages, whose deletion takes some of it along, uncounted
		if err := execute(ctx, tx, statement, chat.EntityID(room), deleted); err != nil {
			return err
		}
	}
	messages, err := s.clearRoom(ctx, tx, room)
	deleted["files"] += files
	deleted["messages"] += messages
	return err
}

// deleteMessages forgets the next messages of a person in other rooms, with the lock of one room at a time.
func (s *personal) deleteMessages(ctx context.Context, person chat.EntityID, d *chat.PersonalDeletion) error {
	all, err := list(ctx, s.Shared, record.ScanPersonalMessage, record.SelectPersonalMessages, string(person))
	d.More = d.More || len(all) == record.PersonalMessages
	for err == nil && len(all) > 0 {
		var ids []chat.MemoryID
		room := all[0].Room
		ids, all = record.PersonalBatch(all)
		err = s.deleting(ctx, s.room(room), person, d, func(ctx context.Context, tx Conn, deleted counts) error {
			deleted["messages"] = len(ids)
			err := unquote(ctx, tx, room, ids)
			for i := 0; err == nil && i < len(ids); i++ {
				_, err = s.forget(ctx, tx, ids[i], requested)
			}
			return err
		})
	}
	return err
}

// unquote removes the text of messages from the replies to them: a reply has a copy of the text that it quotes.
func unquote(ctx context.Context, tx Conn, room chat.RoomID, ids []chat.MemoryID) error {
	rows, err := tx.Query(ctx, record.SelectQuoting, room)
	replies, err := Collect(rows, err, record.ScanMemory)
	if err != nil {
		return err
	}
	for _, m := range replies {
		if m, is := record.Unquoted(m, ids); is {
			if _, err := tx.Exec(ctx, `UPDATE memories SET content = $1 WHERE id = $2`, record.ContentOf(m), m.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// deleteRest deletes the data about a person other than messages. Parked runs whose questions were deleted are
// woken to end; nothing else would wake them before their time. It returns the number of open runs, which the caller
// waits for. It takes the locks of all that it deletes from.
func (s *personal) deleteRest(ctx context.Context, person chat.EntityID, d *chat.PersonalDeletion) error {
	parked, err := list(ctx, s.Shared, scan[chat.RunID], record.SelectParkedPersonal, string(person))
	if err != nil {
		return err
	}
	for _, run := range parked {
		if err := (&journal{s.Shared}).Wake(ctx, run, answer.Stopped); err != nil && !errors.Is(err, answer.ErrLost) {
			return err
		}
	}
	on := change(s.Shared, "entity", person)
	if s.Locks {
		on.On = append(on.On, Lock{"people", ""}, Lock{"reminders", ""}, Lock{"uploads", ""})
	}
	err = s.deleting(ctx, on, person, d, func(ctx context.Context, tx Conn, deleted counts) error {
		for _, statement := range record.PersonalStatements() {
			if err := execute(ctx, tx, statement, person, deleted); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.Open, err = one(ctx, s.Shared, scan[int], record.CountOpenPersonal, string(person))
	return err
}

// execute runs one statement of a deletion and counts its rows.
func execute(ctx context.Context, tx Conn, statement record.PersonalStatement, of chat.EntityID, deleted counts) error {
	n, err := tx.Exec(ctx, statement.SQL, statement.Args(of)...)
	if err != nil {
		return fmt.Errorf("%s: %w", statement.SQL, err)
	}
	if statement.Section != "" {
		deleted[statement.Section] += n
	}
	return nil
}
