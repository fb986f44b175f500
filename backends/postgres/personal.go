package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/backends/record"
	"parley/core/answer"
	"parley/core/chat"
)

// PersonalRecords implements [storage.PersonalData].
func (s *personal) PersonalRecords(ctx context.Context, person chat.EntityID, after string) (page chat.PersonalPage, err error) {
	page, err = s.records(ctx, record.PersonalTables(), string(person), after)
	return page, wrap(err, "reading what is stored about %q", person)
}

// RoomRecords implements [storage.Transcripts].
func (s *personal) RoomRecords(ctx context.Context, room chat.RoomID, after string) (page chat.PersonalPage, err error) {
	page, err = s.records(ctx, record.RoomTables(), string(room), after)
	return page, wrap(err, "reading the room %q", room)
}

// ListRooms implements [storage.Transcripts].
func (s *personal) ListRooms(ctx context.Context, limit int) (all []chat.ListedRoom, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		rows, err := q.Query(ctx, numbered(record.ListRooms), limit)
		all, err = collect(rows, err, record.ScanListedRoom)
		return err
	})
	return all, wrap(err, "listing the rooms")
}

// newOverview returns the lists of all rooms.
func newOverview(s *database) record.Overview {
	return record.Overview{
		Runs: selectRuns, Now: s.clock.nanos, Scan: s.scanChatRun,
		Query: func(ctx context.Context, query string, args []any, each func(record.Row) error) error {
			return s.read(ctx, func(ctx context.Context, q querier) error {
				rows, err := q.Query(ctx, numbered(query), args...)
				_ = each(nil)
				_, err = collect(rows, err, func(r record.Row) (struct{}, error) { return struct{}{}, each(r) })
				return err
			})
		},
	}
}

// records returns a page of the rows about a person or a room.
func (s *personal) records(ctx context.Context, tables []record.PersonalTable, about, after string) (chat.PersonalPage, error) {
	return record.PersonalPageOf(tables, after, func(t record.PersonalTable, key []any) (found [][]any, err error) {
		err = s.read(ctx, func(ctx context.Context, q querier) error {
			rows, err := q.Query(ctx, numbered(t.Query(len(key) == 0)), append([]any{about}, key...)...)
			if found, err = collectAny(rows, err); err != nil {
				return fmt.Errorf("%s: %w", t.Name, err)
			}
			return nil
		})
		return found, err
	})
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
	return d, wrap(err, "deleting what is stored about %q", person)
}

// list returns the rows of a query of both stores whose only parameter is a text.
func list[T any](ctx context.Context, s *database, query, of string, scan func(record.Row) (T, error)) (all []T, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		rows, err := q.Query(ctx, numbered(query), of)
		all, err = collect(rows, err, scan)
		return err
	})
	return all, err
}

func scanText[T ~string](r record.Row) (text T, err error) { return text, r.Scan(&text) }

// deleteChats deletes the next of a person's own chats. A chat with an open run stays in the list and would be found
// again, so there is more only if something was deleted.
func (s *personal) deleteChats(ctx context.Context, person chat.EntityID, d *chat.PersonalDeletion) error {
	query := fmt.Sprintf(`%s LIMIT %d`, record.OwnChats, record.PersonalChats)
	chats, err := list(ctx, s.database, query, string(person), scanText[chat.RoomID])
	if err != nil {
		return err
	}
	for _, room := range chats {
		if err := s.deleting(ctx, roomScope(room), d, func(ctx context.Context, q querier, n counts) error { return s.deleteChat(ctx, q, room, n) }); err != nil {
			return err
		}
	}
	d.More = len(chats) == record.PersonalChats && d.Deleted["messages"]+d.Deleted["runs"] > 0
	return nil
}

// counts has the number of deleted rows by section of an export.
type counts map[string]int

// deleting is write for transactions that count deleted rows. The counts are added to d after the commit, as the
// transaction can be repeated.
func (s *personal) deleting(ctx context.Context, on scope, d *chat.PersonalDeletion, do func(context.Context, querier, counts) error) error {
	var n counts
	err := s.write(ctx, on, func(ctx context.Context, q querier) error {
		n = counts{} // it may run again
		return do(ctx, q, n)
	})
	if err == nil {
		for section, more := range n {
			d.Deleted[section] += more
		}
	}
	return err
}

// deleteChat deletes a chat with everything in it, except rows of runs that have not ended.
func (s *personal) deleteChat(ctx context.Context, q querier, room chat.RoomID, deleted counts) error {
	var files int
	if err := q.QueryRow(ctx, numbered(record.CountFilesOfRoom), room).Scan(&files); err != nil {
		return err
	}
	for _, statement := range record.PersonalRoom() { // before the messages, whose deletion takes some of it along, uncounted
		if err := execute(ctx, q, statement, chat.EntityID(room), deleted); err != nil {
			return err
		}
	}
	messages, err := (&memories{s.database}).clearRoom(ctx, q, room)
	deleted["files"] += files
	deleted["messages"] += messages
	return err
}

// deleteMessages forgets the next messages of a person in other rooms, with the lock of one room at a time.
func (s *personal) deleteMessages(ctx context.Context, person chat.EntityID, d *chat.PersonalDeletion) error {
	all, err := list(ctx, s.database, record.SelectPersonalMessages, string(person), record.ScanPersonalMessage)
	d.More = d.More || len(all) == record.PersonalMessages
	for err == nil && len(all) > 0 {
		var ids []chat.MemoryID
		room := all[0].Room
		ids, all = record.PersonalBatch(all)
		err = s.deleting(ctx, roomScope(room), d, func(ctx context.Context, q querier, deleted counts) error {
			deleted["messages"] = len(ids)
			err := unquote(ctx, q, room, ids)
			for i := 0; err == nil && i < len(ids); i++ {
				err = s.forget(ctx, q, ids[i], requested)
			}
			return err
		})
	}
	return err
}

// unquote removes the text of messages from the replies to them: a reply has a copy of the text that it quotes.
func unquote(ctx context.Context, q querier, room chat.RoomID, ids []chat.MemoryID) error {
	rows, err := q.Query(ctx, numbered(record.SelectQuoting), room)
	replies, err := collect(rows, err, record.ScanMemory)
	if err != nil {
		return err
	}
	for _, m := range replies {
		if m, is := record.Unquoted(m, ids); is {
			if _, err := q.Exec(ctx, `UPDATE memories SET content = $1 WHERE id = $2`, record.ContentOf(m), m.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// deleteRest deletes the data about a person other than messages. Parked runs whose questions were deleted are
// woken to end; nothing else would wake them before their time. It returns the number of open runs, which the caller
// waits for. It takes the locks of all that it deletes from, sorted as all locks are.
func (s *personal) deleteRest(ctx context.Context, person chat.EntityID, d *chat.PersonalDeletion) error {
	parked, err := list(ctx, s.database, record.SelectParkedPersonal, string(person), scanText[chat.RunID])
	if err != nil {
		return err
	}
	for _, run := range parked {
		if err := (&journal{s.database}).Wake(ctx, run, answer.Stopped); err != nil && !errors.Is(err, answer.ErrLost) {
			return err
		}
	}
	on := slices.Concat(peopleLock, remindersLock, uploadsLock, scopeOf("entity", person))
	slices.Sort(on) // locks are always taken in this order
	err = s.deleting(ctx, on, d, func(ctx context.Context, q querier, deleted counts) error {
		for _, statement := range record.PersonalStatements() {
			if err := execute(ctx, q, statement, person, deleted); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.read(ctx, func(ctx context.Context, q querier) error {
		return q.QueryRow(ctx, numbered(record.CountOpenPersonal), string(person)).Scan(&d.Open)
	})
}

// execute runs one statement of a deletion and counts its rows.
func execute(ctx context.Context, q querier, statement record.PersonalStatement, of chat.EntityID, deleted counts) error {
	tag, err := q.Exec(ctx, numbered(statement.SQL), statement.Args(of)...)
	if err != nil {
		return fmt.Errorf("%s: %w", statement.SQL, err)
	}
	if statement.Section != "" {
		deleted[statement.Section] += int(tag.RowsAffected())
	}
	return nil
}

// numbered returns a statement of both stores with parameters as PostgreSQL names them. The statements have no other
// question marks.
func numbered(statement string) string { return strings.ReplaceAll(statement, "?", "$") }
