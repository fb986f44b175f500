package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"
	"time"

	"parley/backends/record"
	"parley/core/chat"
)

// Accept implements [storage.Inbox]. One transaction stores the message, its room and its run, so a platform is told
// that a message arrived only when nothing of it can be lost, and a redelivery finds either all or nothing. A message
// that is only remembered takes a turn number of its own, so that the prompts of earlier turns, which hold the room up
// to their own number, do not show it; one that joins a run shares the run's.
func (s *journal) Accept(ctx context.Context, in chat.Message, j chat.JoinRule) (chat.Accepted, error) {
	var acc chat.Accepted
	err := record.CheckMessage(in)
	write := s.write
	if j.Again { // it can delete a text
		write = s.forgetting
	}
	if err == nil {
		err = write(ctx, func(ctx context.Context, tx *conn) error {
			// Looked up within the transaction: two deliveries of one event can run at the same time.
			if acc, err = findAccepted(ctx, tx, in.Memory); err == nil && j.Again {
				err = unhear(ctx, tx, in.ID)
			}
			if errors.Is(err, chat.ErrNotFound) {
				acc, err = accept(ctx, tx, in, j)
			}
			return err
		})
	}
	if err != nil {
		return chat.Accepted{}, wrap(err, "accepting %q", in.ID)
	}
	return acc, nil
}

// Known implements [storage.Inbox].
func (s *journal) Known(ctx context.Context, in chat.Memory) (acc chat.Accepted, err error) {
	err = s.read(ctx, func(db *conn) error {
		acc, err = findAccepted(ctx, db, in)
		return err
	})
	if err != nil {
		return chat.Accepted{}, wrap(err, "looking for %q", in.ID)
	}
	return acc, nil
}

// findAccepted returns the result of accepting in when it first arrived, or [chat.ErrNotFound]. A message is known by its
// memory or, if that was deleted, by its mark. One query looks for both, because every accepted message makes it.
func findAccepted(ctx context.Context, q *conn, in chat.Memory) (chat.Accepted, error) {
	var room chat.RoomID
	var role, text string
	var remembered, isMarked, answered bool
	acc := chat.Accepted{Memory: in.ID, Duplicate: true}
	err := q.QueryRowContext(ctx, `
		SELECT m.id IS NOT NULL, ifnull(m.room, ''), ifnull(m.role, ''), ifnull(m.text, ''), ifnull(m.turn, ifnull(k.turn, 0)),
			k.id IS NOT NULL, ifnull(k.answered, FALSE)
		FROM (SELECT 1) LEFT JOIN memories m ON m.id = ? LEFT JOIN marks k ON k.id = ?`, in.ID, record.MarkID(in.ID)).
		Scan(&remembered, &room, &role, &text, &acc.Response, &isMarked, &answered)
	switch {
	case err != nil:
		return acc, err
	case !remembered && !isMarked:
		return acc, chat.ErrNotFound
	case !remembered:
		return findMark(ctx, q, in, acc, answered)
	}
	// An edited message can be delivered again under its id; the caller handles the edit.
	acc.Altered = text != in.Text
	if role != record.Input {
		return acc, nil
	}
	acc.Run = record.RunID(room, acc.Response)
	err = q.QueryRowContext(ctx, `SELECT duty = ? FROM runs WHERE id = ?`, chat.RunChoiceResult, acc.Run).Scan(&acc.Chosen)
	if errors.Is(err, sql.ErrNoRows) {
		acc.Run, err = "", nil // it has expired
	}
	return acc, err
}

// accept stores a new message: it joins a run that waits, opens a run, or is only remembered, as j says.
func accept(ctx context.Context, tx *conn, in chat.Message, j chat.JoinRule) (chat.Accepted, error) {
	acc := chat.Accepted{Memory: in.ID}
	if j.NoRun {
		return hear(ctx, tx, in)
	}
	var err error
	if acc.Response, err = join(ctx, tx, in, j); err == nil {
		err = saveRoom(ctx, tx, in.Here())
	} else if errors.Is(err, chat.ErrNotFound) {
		// No run waits that the message could join.
		if j.JoinOnly {
			return hear(ctx, tx, in)
		}
		if err = restrain(ctx, tx, in.Room, &j); err == nil && j.NoRun {
			return hear(ctx, tx, in)
		}
		if err == nil {
			acc.Response, err = openRun(ctx, tx, in, j)
		}
	}
	if err != nil {
		return acc, err
	}
	acc.Run = record.RunID(in.Room, acc.Response)
	if j.Ask != nil {
		// The question is stored with the run that asks it: after a crash there is no run that waits for the answer to
		// a question that can't be found. A copy is changed, because this can run again.
		q := *j.Ask
		q.Run, q.Room = acc.Run, in.Room
		if err := ask(ctx, tx, q); err != nil {
			return acc, err
		}
	}
	return acc, remember(ctx, tx, in.Memory, acc.Response, record.Input)
}

// hear stores a message that is only remembered, under a turn number of its own.
func hear(ctx context.Context, tx *conn, in chat.Message) (chat.Accepted, error) {
	turn, err := nextTurnIn(ctx, tx, in.Here())
	if err == nil {
		err = remember(ctx, tx, in.Memory, turn, record.Heard)
	}
	return chat.Accepted{Memory: in.ID, Response: turn}, err
}

// unhear deletes a message that was only remembered, and returns [chat.ErrNotFound] if it did: the message is not known any more. Notes
// such as summaries were made of its old text. It leaves no mark, because the message is stored again.
func unhear(ctx context.Context, tx *conn, id chat.MemoryID) error {
	var room chat.RoomID
	var turn chat.ResponseID
	err := tx.QueryRowContext(ctx, `DELETE FROM memories WHERE id = ? AND role = ? RETURNING room, turn`, id, record.Heard).Scan(&room, &turn)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	} else if err == nil {
		err = dropNotes(ctx, tx, room, turn, requested)
	}
	return cmp.Or(err, chat.ErrNotFound)
}

// restrain applies j.Limit: if that many runs of the room wait, it changes j so that no further one is opened, except
// for a single one that tells the room that messages remain unanswered. j belongs to this attempt; the caller's rule
// does not change.
func restrain(ctx context.Context, tx *conn, room chat.RoomID, j *chat.JoinRule) error {
	if j.Limit == 0 {
		return nil
	}
	var waiting, excuses int
	err := tx.QueryRowContext(ctx, `
		SELECT count(*), count(*) FILTER (WHERE duty = ?) FROM runs WHERE room = ? AND status = '' AND epoch = 0`,
		chat.RunOverflow, room).Scan(&waiting, &excuses)
	if waiting >= j.Limit {
		j.NoRun, j.Kind = j.Kind != chat.RunReply || excuses > 0, chat.RunOverflow
	}
	return err
}

// join adds in to the newest run that still waits for messages, and returns its turn, or [chat.ErrNotFound] if none
// does. A run that was started has its prompt, so only runs with epoch 0 qualify. Without Collect, only messages of the
// author of its newest input join, within the window that began with that input. The run replies to the newest message,
// so it takes its address; a message that wants a reply turns a run that was to decide whether to reply into one that
// replies. Each message extends the wait by the window, but not beyond longestWait(j) after the run was opened: otherwise a
// room that never rests would never be answered. That sum is compared by subtraction, because opened plus an unlimited
// wait would overflow.
func join(ctx context.Context, tx *conn, in chat.Message, j chat.JoinRule) (turn chat.ResponseID, err error) {
	if j.Kind.Single() {
		return 0, chat.ErrNotFound
	}
	now := time.Now()
	err = tx.QueryRowContext(ctx, `
		UPDATE runs SET address = ?1, author = ?2, duty = iif(?3 = '', '', duty),
			ready = CASE WHEN ?4 - opened > ?5 THEN opened + ?5 ELSE ?4 END
		WHERE id = (
			SELECT id FROM runs
			WHERE room = ?6 AND status = '' AND epoch = 0 AND duty IN ('', ?7) AND (?8 OR ready > ?9 AND author = ?2)
			ORDER BY turn DESC LIMIT 1)
		RETURNING turn`,
		record.JSON(in.Address), in.Author, j.Kind, record.Nanos(now.Add(j.Window)), longestWait(j), in.Room, chat.RunDecide, j.Collect, record.Nanos(now)).Scan(&turn)
	return turn, record.Found(err)
}

// longestWait returns the time that a run may wait for messages after it was opened.
func longestWait(j chat.JoinRule) time.Duration {
	if j.Most == 0 {
		return math.MaxInt64
	}
	return j.Most
}

// openRun opens a run under the room's next turn number. It is ready to start after the window for more messages
// to join.
func openRun(ctx context.Context, tx *conn, in chat.Message, j chat.JoinRule) (chat.ResponseID, error) {
	turn, err := nextTurnIn(ctx, tx, in.Here())
	if err != nil {
		return 0, err
	}
	now := time.Now()
	_, err = tx.ExecContext(ctx, `
		INSERT INTO runs (id, room, turn, kind, address, author, opened, ready, duty) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		record.RunID(in.Room, turn), in.Room, turn, in.Place.Kind, record.JSON(in.Address), in.Author, record.Nanos(now),
		record.Nanos(now.Add(min(j.Window, longestWait(j)))), j.Kind)
	return turn, err
}
