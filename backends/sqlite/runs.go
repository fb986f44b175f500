package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"parley/backends/record"
	"parley/core/answer"
	"parley/core/chat"
)

// selectRuns takes the present as its first argument.
const selectRuns = `
	SELECT r.id, r.turn, r.room, r.kind, r.address, r.opened, r.ready, r.duty,
		r.epoch, r.epoch > 0 AND r.status = '' AND ifnull(o.alive_until > ?1, FALSE), r.owner,
		r.deaths + (r.epoch > 0 AND r.status = '' AND r.verdict = '' AND ifnull(o.alive_until <= ?1 AND o.leaving = 0, FALSE)),
		r.attempts, r.retried,
		r.status, r.failure, r.withdrawn, r.partial, r.shown, r.text, r.acting, r.acted, r.verdict,
		(SELECT json_group_array(m.id ORDER BY m.seq) FROM memories m
			WHERE m.room = r.room AND m.turn = r.turn AND m.role = 'input')
	FROM runs r LEFT JOIN owners o ON o.id = r.owner `

// querier is what *sql.DB and *sql.Tx have in common.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func findRun(ctx context.Context, q querier, id chat.RunID) (record.HeldRun, error) {
	return record.ScanRun(q.QueryRowContext(ctx, selectRuns+`WHERE r.id = ?`, record.Nanos(time.Now()), id))
}

// Run implements [storage.Runs].
func (s *journal) Run(ctx context.Context, id chat.RunID) (chat.Run, error) {
	var run record.HeldRun
	err := s.read(func(db *sql.DB) (err error) {
		run, err = findRun(ctx, db, id)
		return err
	})
	return run.Run, wrap(err, "reading the run %q", id)
}

// OpenRuns implements [storage.Runs].
func (s *journal) OpenRuns(ctx context.Context, room chat.RoomID) ([]chat.Run, error) {
	var open []chat.Run
	err := s.read(func(db *sql.DB) error {
		rows, err := db.QueryContext(ctx, selectRuns+`WHERE r.room = ? AND r.status = '' ORDER BY r.turn`,
			record.Nanos(time.Now()), room)
		if err != nil {
			return err
		}
		open, err = collect(rows, func(r record.Row) (chat.Run, error) {
			run, err := record.ScanRun(r)
			return run.Run, err
		})
		return err
	})
	return open, wrap(err, "reading the open runs of %q", room)
}

// OpenRooms implements [storage.Runs].
func (s *journal) OpenRooms(ctx context.Context) ([]chat.RoomID, error) {
	var rooms []chat.RoomID
	err := s.read(func(db *sql.DB) error {
		rows, err := db.QueryContext(ctx, `SELECT DISTINCT room FROM runs WHERE status = '' ORDER BY room`)
		if err != nil {
			return err
		}
		rooms, err = collect(rows, func(r record.Row) (room chat.RoomID, err error) { return room, r.Scan(&room) })
		return err
	})
	return rooms, wrap(err, "reading which rooms have open runs")
}

// Start implements [storage.Journal].
func (s *journal) Start(ctx context.Context, id chat.RunID, owner string) (chat.Run, error) {
	var run record.HeldRun
	err := s.write(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		if run, err = findRun(ctx, tx, id); err != nil {
			return err
		}
		if err := startable(ctx, tx, run, owner); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `
			UPDATE runs SET epoch = epoch + 1, owner = ?1, deaths = CASE owner WHEN ?1 THEN deaths ELSE ?2 END WHERE id = ?3`,
			owner, run.Deaths, id) // a holder that starts it once more has not died
		if err != nil {
			return err
		}
		run, err = findRun(ctx, tx, id)
		return err
	})
	if err != nil {
		return chat.Run{}, wrap(err, "starting the run %q", id)
	}
	return run.Run, nil
}

func startable(ctx context.Context, tx *sql.Tx, run record.HeldRun, owner string) error {
	if run.Outcome.Done() {
		return answer.ErrLost
	}
	if run.Held && run.Owner != owner {
		return chat.ErrBusy
	}
	return roomFree(ctx, tx, run.Run)
}

// roomFree is [chat.ErrBusy] if another run of the room is under way.
func roomFree(ctx context.Context, tx *sql.Tx, run chat.Run) error {
	var other bool
	err := tx.QueryRowContext(ctx, `
		SELECT EXISTS (SELECT 1 FROM runs WHERE room = ? AND status = '' AND epoch > 0 AND id <> ? AND (duty IN (?, ?)) = ?)`,
		run.Room, run.ID, chat.RunCommand, chat.RunChoiceResult, run.Kind.OutOfBand()).Scan(&other)
	if err == nil && other {
		err = chat.ErrBusy
	}
	return err
}

// Note implements [storage.Journal].
func (s *journal) Note(ctx context.Context, id chat.RunID, epoch chat.Epoch, n chat.Note) error {
	err := record.CheckNote(n)
	if err == nil {
		err = s.write(ctx, func(ctx context.Context, tx *sql.Tx) error { return note(ctx, tx, id, epoch, n) })
	}
	return wrap(err, "noting on the run %q", id)
}

func note(ctx context.Context, tx *sql.Tx, id chat.RunID, epoch chat.Epoch, n chat.Note) error {
	var shown []chat.Shown
	err := tx.QueryRowContext(ctx, `SELECT shown FROM runs WHERE id = ? AND epoch = ? AND status = ''`, id, epoch).
		Scan(record.JSONInto(&shown))
	if errors.Is(err, sql.ErrNoRows) {
		return answer.ErrLost
	}
	if err != nil {
		return err
	}
	if n.Verdict != nil {
		if err := keepFiles(ctx, tx, id, n.Files); err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(ctx, `
		UPDATE runs SET shown = ?,
			text = ifnull(nullif(?, ''), text), acting = ifnull(nullif(?, ''), acting),
			acted = ifnull(nullif(?, ''), acted), verdict = ifnull(nullif(?, ''), verdict), attempts = attempts + ?
		WHERE id = ?`, record.List(record.Merge(shown, n.Shown)), n.Text, n.Acting, n.Acted, record.Verdict(n.Verdict), n.Attempt, id)
	return err
}

// Finish implements [storage.Journal].
func (s *journal) Finish(ctx context.Context, id chat.RunID, epoch chat.Epoch, o answer.Outcome, out chat.Memory) error {
	var err error
	switch {
	case !o.Done():
		err = record.ErrNoStatus
	case out.ID != "":
		err = record.CheckMemory(out)
	}
	if err == nil {
		err = s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
			asked, err := endRun(ctx, tx, id, epoch, o, out)
			if err == nil && !asked {
				s.deleted.Store(true)
				err = eraseEnded(ctx, tx, id)
			}
			return err
		})
	}
	return wrap(err, "finishing the run %q", id)
}

// endRun reports whether the run still has an input. If not, nothing is to stay of what it was about.
func endRun(ctx context.Context, tx *sql.Tx, id chat.RunID, epoch chat.Epoch, o answer.Outcome, out chat.Memory) (asked bool, err error) {
	var room chat.RoomID
	var turn chat.ResponseID
	err = tx.QueryRowContext(ctx, `
		UPDATE runs SET status = ?, failure = ?, withdrawn = ?, partial = ? WHERE id = ? AND epoch = ? AND status = ''
		RETURNING room, turn`, o.Status, o.Failure, o.Withdrawn, o.Partial, id, epoch).Scan(&room, &turn)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, answer.ErrLost
	case err != nil:
		return false, err
	case out.ID != "" && out.Room != room:
		return false, fmt.Errorf("the answer belongs to the room %q, but its run to %q", out.Room, room)
	}
	asked, carried, err := wanted(ctx, tx, id, room, turn)
	if err != nil {
		return asked, err
	}
	if out.ID != "" && (asked || carried) {
		return asked, remember(ctx, tx, out, turn, record.Said)
	}
	return asked, keepFiles(ctx, tx, id, nil)
}

// wanted reports whether the run still has an input, and whether it carries out what a person chose, or takes away the options of
// a question that is still remembered.
func wanted(ctx context.Context, tx *sql.Tx, id chat.RunID, room chat.RoomID, turn chat.ResponseID) (asked, carried bool, err error) {
	err = tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM memories WHERE room = ? AND turn = ? AND role = 'input')`, room, turn).Scan(&asked)
	if err != nil || asked {
		return asked, false, err
	}
	q, err := record.ScanQuestion(tx.QueryRowContext(ctx, selectQuestions+`WHERE carrier = ?1 AND carrier <> ''`, id))
	if err != nil || q.By != "" {
		return false, err == nil, record.UnlessMissing(err)
	}
	err = tx.QueryRowContext(ctx, `
		SELECT EXISTS (SELECT 1 FROM memories m JOIN runs r ON r.room = m.room AND r.turn = m.turn
			WHERE r.id = ? AND m.role IN ('input', 'said'))`, q.Run).Scan(&carried)
	return false, carried, err
}

// Beat implements [storage.Leases].
func (s *journal) Beat(ctx context.Context, owner string, until time.Time) error {
	err := s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `
			INSERT INTO owners (id, alive_until) VALUES (?, ?)
			ON CONFLICT (id) DO UPDATE SET alive_until = excluded.alive_until`, owner, record.Nanos(until))
		return err
	})
	return wrap(err, "renewing the lease of %q", owner)
}
