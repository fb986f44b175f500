package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"math"
	"time"

	"database/sql"

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
	on := s.room(in.Room)
	on.Deletes = j.Again // it can delete a text
	if err == nil {
		err = s.Write(ctx, on, func(ctx context.Context, tx Conn) error {
			// Looked up within the transaction: two deliveries of one event can run at the same time, also on two replicas.
			if acc, err = findAccepted(ctx, tx, in.Memory); err == nil && j.Again {
				err = unhear(ctx, tx, in.ID)
			}
			if !errors.Is(err, chat.ErrNotFound) {
				return err
			}
			acc, err = s.accept(ctx, tx, in, j)
			return err
		})
	}
	if err != nil {
		return chat.Accepted{}, s.wrap(err, "accepting %q", in.ID)
	}
	return acc, nil
}

// unhear deletes a message that was only remembered, and returns [chat.ErrNotFound] if it did: the message is not known any more. Notes
// such as summaries were made of its old text. It leaves no mark, because the message is stored again.
func unhear(ctx context.Context, tx Conn, id chat.MemoryID) error {
	var room chat.RoomID
	var turn chat.ResponseID
	err := tx.QueryRow(ctx, `DELETE FROM memories WHERE id = $1 AND role = $2 RETURNING room, turn`, id, record.Heard).Scan(&room, &turn)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	} else if err == nil {
		err = dropNotes(ctx, tx, room, turn, requested)
	}
	return cmp.Or(err, chat.ErrNotFound)
}

// Known implements [storage.Inbox].
func (s *journal) Known(ctx context.Context, in chat.Memory) (acc chat.Accepted, err error) {
	err = s.Read(ctx, func(ctx context.Context, tx Conn) error {
		acc, err = findAccepted(ctx, tx, in)
		return err
	})
	if err != nil {
		return chat.Accepted{}, s.wrap(err, "looking for %q", in.ID)
	}
	return acc, nil
}

// findAccepted returns the result of accepting in when it first arrived, or [chat.ErrNotFound]. A message is known by its
// memory or, if that was deleted, by its mark. One query looks for both, because every accepted message makes it.
func findAccepted(ctx context.Context, c Conn, in chat.Memory) (chat.Accepted, error) {
	var room chat.RoomID
	var role, text string
	var remembered, isMarked, answered bool
	acc := chat.Accepted{Memory: in.ID, Duplicate: true}
	err := c.QueryRow(ctx, `
		SELECT m.id IS NOT NULL, coalesce(m.room, ''), coalesce(m.role, ''), coalesce(m.text, ''), coalesce(m.turn, k.turn, 0),
			k.id IS NOT NULL, coalesce(k.answered, FALSE)
		FROM (SELECT 1) event LEFT JOIN memories m ON m.id = $1 LEFT JOIN marks k ON k.id = $2`, in.ID, record.MarkID(in.ID)).
		Scan(&remembered, &room, &role, &text, &acc.Response, &isMarked, &answered)
	switch {
	case err != nil:
		return acc, err
	case !remembered && !isMarked:
		return acc, chat.ErrNotFound
	case !remembered:
		return findMark(ctx, c, in, acc, answered)
	}
	// An edited message can be delivered again under its id; the caller handles the edit.
	acc.Altered = text != in.Text
	if role != record.Input {
		return acc, nil
	}
	acc.Run = record.RunID(room, acc.Response)
	acc.Chosen, err = scan[bool](c.QueryRow(ctx, `SELECT duty = $1 FROM runs WHERE id = $2`, chat.RunChoiceResult, acc.Run))
	if errors.Is(err, chat.ErrNotFound) {
		acc.Run, err = "", nil // it has expired
	}
	return acc, err
}

// accept stores a new message: it joins a run that waits, opens a run, or is only remembered, as j says.
func (s *journal) accept(ctx context.Context, tx Conn, in chat.Message, j chat.JoinRule) (chat.Accepted, error) {
	acc := chat.Accepted{Memory: in.ID}
	if j.NoRun {
		return s.hear(ctx, tx, in)
	}
	var err error
	if acc.Response, err = join(ctx, tx, in, j, s.Present()); err == nil {
		err = saveRoom(ctx, tx, in.Here())
	} else if errors.Is(err, chat.ErrNotFound) {
		// No run waits that the message could join.
		if j.JoinOnly {
			return s.hear(ctx, tx, in)
		}
		if err = restrain(ctx, tx, in.Room, &j); err == nil && j.NoRun {
			return s.hear(ctx, tx, in)
		}
		if err == nil {
			acc.Response, err = s.openRun(ctx, tx, in, j)
		}
	}
	if err != nil {
		return acc, err
	}
	acc.Run = record.RunID(in.Room, acc.Response)
	if j.Ask != nil {
		// The question is stored with the run that asks it: after a crash there is no run that waits for the answer to
		// a question that can't be found. A copy is changed, because this can run again.
		asked := *j.Ask
		asked.Run, asked.Room = acc.Run, in.Room
		if err := s.ask(ctx, tx, asked); err != nil {
			return acc, err
		}
	}
	return acc, s.remember(ctx, tx, in.Memory, acc.Response, record.Input)
}

// hear stores a message that is only remembered, under a turn number of its own.
func (s *journal) hear(ctx context.Context, tx Conn, in chat.Message) (chat.Accepted, error) {
	turn, err := s.nextTurnIn(ctx, tx, in.Here())
	if err == nil {
		err = s.remember(ctx, tx, in.Memory, turn, record.Heard)
	}
	return chat.Accepted{Memory: in.ID, Response: turn}, err
}

// restrain applies j.Limit: if that many runs of the room wait, it changes j so that no further one is opened, except
// for a single one that tells the room that messages remain unanswered. j belongs to this attempt; the caller's rule
// does not change.
func restrain(ctx context.Context, tx Conn, room chat.RoomID, j *chat.JoinRule) error {
	if j.Limit == 0 {
		return nil
	}
	var waiting, excuses int
	err := tx.QueryRow(ctx, `
		SELECT count(*), count(*) FILTER (WHERE duty = $1) FROM runs WHERE room = $2 AND status = '' AND epoch = 0`,
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
func join(ctx context.Context, tx Conn, in chat.Message, j chat.JoinRule, now int64) (turn chat.ResponseID, err error) {
	if j.Kind.Single() {
		return 0, chat.ErrNotFound
	}
	err = tx.QueryRow(ctx, `
		UPDATE runs SET address = $1, author = $2, duty = CASE WHEN CAST($3 AS text) = '' THEN '' ELSE duty END,
			ready = CASE WHEN CAST($4 AS bigint) - opened > CAST($5 AS bigint) THEN opened + $5 ELSE $4 END
		WHERE id = (
			SELECT id FROM runs
			WHERE room = $6 AND status = '' AND epoch = 0 AND ending = '' AND duty IN ('', $7) AND (CAST($8 AS boolean) OR ready > $9 AND author = $2)
			ORDER BY turn DESC LIMIT 1)
		RETURNING turn`,
		record.JSON(in.Address), in.Author, j.Kind, now+int64(j.Window), int64(longestWait(j)), in.Room, chat.RunDecide, j.Collect, now).Scan(&turn)
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
func (s *journal) openRun(ctx context.Context, tx Conn, in chat.Message, j chat.JoinRule) (chat.ResponseID, error) {
	turn, err := s.nextTurnIn(ctx, tx, in.Here())
	if err != nil {
		return 0, err
	}
	now := s.Present()
	_, err = tx.Exec(ctx, `
		INSERT INTO runs (id, room, turn, kind, address, author, opened, ready, duty) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		record.RunID(in.Room, turn), in.Room, turn, in.Place.Kind, record.JSON(in.Address), in.Author, now,
		now+int64(min(j.Window, longestWait(j))), j.Kind)
	return turn, err
}
