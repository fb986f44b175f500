package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/backends/record"
	"parley/core/chat"
)

// erase removes the text of runs of room with ids from first to last, and their questions, where nothing of their turn
// is remembered any more. Runs that are open keep theirs until they end (eraseEnded): they still need it to go on. Of
// the actions only a dash remains, for "there was one": a run that has written something must not be retried.
//
// The ids are a range of the primary key, so that one run and all runs of a room are erased by the same statements. The
// range can contain runs of other rooms, whose ids begin alike, hence the condition on room.
func erase(ctx context.Context, tx *conn, room chat.RoomID, first, last chat.RunID) error {
	_, err := tx.ExecContext(ctx, `
		DELETE FROM questions WHERE run BETWEEN ?1 AND ?2 AND room = ?3
			AND NOT EXISTS (SELECT 1 FROM runs WHERE id IN (questions.run, questions.carrier) AND status = '')
			AND NOT EXISTS (SELECT 1 FROM memories m JOIN runs r ON r.room = m.room AND r.turn = m.turn
				WHERE r.id = questions.run AND m.role IN ('input', 'said'))`, first, last, room)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `
		UPDATE runs SET text = '', verdict = '', acting = iif(acting = '', '', '-'), acted = iif(acted = '', '', '-')
		WHERE id BETWEEN ?1 AND ?2 AND room = ?3 AND status <> '' AND text || verdict || acting || acted <> ''
			AND NOT EXISTS (SELECT 1 FROM memories m WHERE m.room = runs.room AND m.turn = runs.turn AND m.role IN ('input', 'said'))
			AND NOT EXISTS (SELECT 1 FROM questions WHERE run = runs.id AND carrier <> '')`, first, last, room)
	return err
}

// eraseRoom is erase for all runs of room.
func eraseRoom(ctx context.Context, tx *conn, room chat.RoomID) error {
	return erase(ctx, tx, room, chat.RunID(room+"#"), chat.RunID(room+"$")) // a run id is room#turn, and $ follows # in ASCII, see record.RunID
}

// eraseEnded erases a run that has just ended, and the one whose question it carried out, which had to wait for it.
func eraseEnded(ctx context.Context, tx *conn, run chat.RunID) error {
	var room chat.RoomID
	if err := tx.QueryRowContext(ctx, `SELECT room FROM runs WHERE id = ?`, run).Scan(&room); err != nil {
		return err
	}
	asked, err := record.ScanQuestion(tx.QueryRowContext(ctx, selectQuestions+`WHERE carrier = ?1 AND carrier <> ''`, run))
	if err == nil {
		err = erase(ctx, tx, room, asked.Run, asked.Run)
	}
	if record.UnlessMissing(err) != nil {
		return err
	}
	return erase(ctx, tx, room, run, run)
}

// forgetting is write for transactions that delete text on request. They leave earlier versions of the pages in the
// write-ahead log, so it also requests the next truncate.
func (s *database) forgetting(ctx context.Context, do func(context.Context, *conn) error) error {
	return s.write(ctx, func(ctx context.Context, tx *conn) error {
		s.deleted.Store(true) // before the commit: truncate needs the turn of writes, so it runs after this transaction or finds the flag set
		return do(ctx, tx)
	})
}

// truncate empties the write-ahead log if it can still hold deleted text. While another connection reads the log that
// is not possible; the flag then stays set, and the next call tries again.
func (s *database) truncate(ctx context.Context) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return ErrClosed
	}
	// The flag is cleared before the checkpoint, not after: a deletion that comes in between sets it again, for the
	// next call.
	if !s.deleted.Swap(false) {
		return nil
	}
	done, err := s.checkpoint(ctx)
	if err != nil || !done {
		s.deleted.Store(true)
	}
	return err
}

// logWait is the time that a checkpoint waits for readers. Writers wait for the checkpoint, so it is far shorter than
// the timeout for writes.
const logWait = 250 * time.Millisecond

// checkpoint moves the write-ahead log into the file and empties it. It reports false if another connection, such as a
// backup, reads the log.
func (s *database) checkpoint(ctx context.Context) (done bool, err error) {
	select {
	case s.writes.turn <- struct{}{}: // so nothing is written meanwhile
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	defer func() { <-s.writes.turn }()
	writer := s.writer
	var before, busy, frames, moved int
	if err := writer.QueryRowContext(ctx, `PRAGMA busy_timeout`).Scan(&before); err != nil {
		return false, err
	}
	if err := waitOn(ctx, writer, int(logWait.Milliseconds())); err != nil {
		return false, err
	}
	err = writer.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &frames, &moved)
	// The timeout is restored even if ctx has ended, because the connection serves all later writes.
	return err == nil && busy == 0, errors.Join(err, waitOn(context.WithoutCancel(ctx), writer, before))
}

// waitOn sets the busy timeout of a connection, in milliseconds. The pragma returns the new value, which must be read.
func waitOn(ctx context.Context, c *conn, wait int) error {
	var is int
	return c.QueryRowContext(ctx, fmt.Sprintf(`PRAGMA busy_timeout = %d`, wait)).Scan(&is)
}
