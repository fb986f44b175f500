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
	"parley/core/quota"
)

// selectRuns selects the columns that [record.ScanRun] reads. Its first argument is the present. Two columns are
// computed, because they change without a write when a lease ends: whether a living owner holds the run, and its
// deaths, which count the last owner too if that died on it without announcing its end and without a verdict (a run
// with a verdict only remains to be shown). The inputs are the messages of the turn with the role input, so deleting
// one takes it from the run.
const selectRuns = `
	SELECT r.id, r.turn, r.room, r.kind, r.address, r.author, r.opened, r.ready, r.duty,
		r.epoch, r.epoch > 0 AND r.status = '' AND ifnull(o.alive_until > ?1, FALSE), r.owner,
		r.deaths + (r.epoch > 0 AND r.status = '' AND r.verdict = '' AND ifnull(o.alive_until <= ?1 AND o.leaving = 0, FALSE)),
		r.blamed, r.attempts, r.retried,
		r.status, r.failure, r.withdrawn, r.partial, r.shown, r.text, r.acting, r.acted, r.verdict, r.parked, r.lasting, r.ending, r.continuation <> '', r.outcome,
		(SELECT json_group_array(m.id ORDER BY m.seq) FROM memories m
			WHERE m.room = r.room AND m.turn = r.turn AND m.role = 'input')
	FROM runs r LEFT JOIN owners o ON o.id = r.owner `

func findRun(ctx context.Context, q *conn, id chat.RunID) (record.HeldRun, error) {
	return record.ScanRun(q.QueryRowContext(ctx, selectRuns+`WHERE r.id = ?`, record.Nanos(time.Now()), id))
}

// Run implements [storage.Runs].
func (s *journal) Run(ctx context.Context, id chat.RunID) (chat.Run, error) {
	var run record.HeldRun
	err := s.read(ctx, func(db *conn) (err error) {
		run, err = findRun(ctx, db, id)
		return err
	})
	return run.Run, wrap(err, "reading the run %q", id)
}

// OpenRuns implements [storage.Runs].
func (s *journal) OpenRuns(ctx context.Context, room chat.RoomID) ([]chat.Run, error) {
	var open []chat.Run
	err := s.read(ctx, func(db *conn) error {
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
	err := s.read(ctx, func(db *conn) error {
		rows, err := db.QueryContext(ctx, `
			SELECT DISTINCT room FROM runs WHERE status = '' AND (NOT parked OR ready <= ?) ORDER BY room`, record.Nanos(time.Now()))
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
	err := s.write(ctx, func(ctx context.Context, tx *conn) (err error) {
		if run, err = findRun(ctx, tx, id); err != nil {
			return err
		}
		return start(ctx, tx, &run, owner)
	})
	if err != nil {
		return chat.Run{}, wrap(err, "starting the run %q", id)
	}
	return run.Run, nil
}

// start makes owner the holder of run and updates run to its stored state. It returns [chat.ErrBusy] if another
// owner holds the run, if it is parked and not ready, or if another run of the room is under way, and [answer.ErrLost]
// if it has ended.
//
// The epoch rises with each start, so every later write of an earlier holder fails. The death of the previous owner,
// which selectRuns counted from the lease, is stored now, because the column owner no longer names that one. A parked
// run takes the newest turn that was started meanwhile as its claim, so that the tracker does not cancel it in favor of
// those turns. The statement itself checks that no other run is under way and returns the new columns: starting is on
// the path of every message, and a second query would cost as much again.
func start(ctx context.Context, tx *conn, run *record.HeldRun, owner string) error {
	if run.Outcome.Done() {
		return answer.ErrLost
	}
	if run.Held && run.Owner != owner {
		return chat.ErrBusy
	}
	if run.Parked && run.Ready.After(time.Now()) {
		return chat.ErrBusy
	}
	if err := countHeld(ctx, tx, run, owner); err != nil {
		return err
	}
	args := append([]any{owner, run.Deaths, run.ID, chat.SuspectDeaths}, underWay(run.Run)...)
	err := tx.QueryRowContext(ctx, `
		UPDATE runs SET epoch = epoch + 1, owner = ?1, deaths = CASE owner WHEN ?1 THEN deaths ELSE ?2 END,
			blamed = blamed + (owner <> ?1 AND ?2 > deaths AND (
				deaths >= ?4 OR risk <> '' OR ifnull((SELECT o.died_with = 1 FROM owners o WHERE o.id = runs.owner), FALSE))),
			risk = '', parked = 0, retried = iif(parked, ifnull(`+newestStarted+`, retried), retried)
		WHERE id = ?3 AND NOT `+existsUnderWay+`
		RETURNING epoch, ifnull((SELECT o.alive_until > ?10 FROM owners o WHERE o.id = owner), FALSE), deaths, blamed, parked, retried`,
		append(args, record.Nanos(time.Now()))...).
		Scan(&run.Epoch, &run.Held, &run.Deaths, &run.Blamed, &run.Parked, &run.Retried) // a holder that starts it lives, whatever its last heartbeat says
	if errors.Is(err, sql.ErrNoRows) {
		return chat.ErrBusy
	}
	return err
}

// countHeld stores the number of open runs of the last owner of run, before the first of them is adopted: afterwards their rows do not name
// that owner any more. It writes only where another owner's run is adopted.
func countHeld(ctx context.Context, tx *conn, run *record.HeldRun, owner string) error {
	if run.Epoch == 0 || run.Owner == "" || run.Owner == owner {
		return nil
	}
	_, err := tx.ExecContext(ctx, `
		UPDATE owners SET died_with = (SELECT count(*) FROM runs r WHERE r.owner = owners.id AND r.status = '' AND r.epoch > 0)
		WHERE id = ? AND died_with = 0`, run.Owner)
	return err
}

// existsUnderWay tests whether another run of the room is under way. Runs that bypass the queue (commands, choices)
// only exclude each other, so that /stop works while an answer is being written; parked runs exclude nothing. Its
// arguments are those of underWay. It reads the partial index of open runs.
const existsUnderWay = `EXISTS (SELECT 1 FROM runs r WHERE r.room = ? AND r.status = '' AND r.epoch > 0 AND NOT r.parked AND r.id <> ? AND (r.duty IN (?, ?)) = ?)`

// underWay returns the arguments of existsUnderWay.
func underWay(run chat.Run) []any {
	return []any{run.Room, run.ID, chat.RunCommand, chat.RunChoiceResult, run.Kind.OutOfBand()}
}

// roomFree returns [chat.ErrBusy] if another run of the room is under way.
func roomFree(ctx context.Context, tx *conn, run chat.Run) error {
	var other bool
	err := tx.QueryRowContext(ctx, `SELECT `+existsUnderWay, underWay(run)...).Scan(&other)
	if err == nil && other {
		err = chat.ErrBusy
	}
	return err
}

// Attempt implements [storage.Journal]. Nearly always the message is counted with its first attempt, which takes one statement.
func (s *journal) Attempt(ctx context.Context, id chat.RunID, epoch chat.Epoch, day string, message ...quota.Charge) (over string, err error) {
	err = s.write(ctx, func(ctx context.Context, tx *conn) error {
		over = ""
		if len(message) > 0 {
			counted, err := tx.ExecContext(ctx, `
				UPDATE runs SET attempts = attempts + 1, counted = 1
				WHERE id = ? AND epoch = ? AND status = '' AND NOT counted`, id, epoch)
			if err == nil && counted > 0 {
				over, err = s.spendAll(ctx, tx, day, message)
			}
			if err != nil || counted > 0 {
				return err
			}
		}
		return held(tx.ExecContext(ctx, `UPDATE runs SET attempts = attempts + 1 WHERE id = ? AND epoch = ? AND status = ''`, id, epoch))
	})
	if errors.Is(err, errOver) {
		return over, nil
	}
	return "", wrap(err, "counting an attempt of the run %q", id)
}

// Note implements [storage.Journal].
func (s *journal) Note(ctx context.Context, id chat.RunID, epoch chat.Epoch, n chat.Note) error {
	err := record.CheckNote(n)
	if err == nil {
		err = s.write(ctx, func(ctx context.Context, tx *conn) error { return note(ctx, tx, id, epoch, n) })
	}
	return wrap(err, "noting on the run %q", id)
}

// note adds n to the run if it is open and has this epoch. Empty fields of n leave the stored ones as they are, hence
// ifnull and nullif.
func note(ctx context.Context, tx *conn, id chat.RunID, epoch chat.Epoch, n chat.Note) error {
	var shown any // nil leaves the column unchanged, while '' is an empty list
	if n.Shown != nil {
		shown = record.List(n.Shown)
	}
	const update = `
		UPDATE runs SET shown = ifnull(?, shown),
			text = ifnull(nullif(?, ''), text), acting = ifnull(nullif(?, ''), acting),
			acted = ifnull(nullif(?, ''), acted), verdict = ifnull(nullif(?, ''), verdict), risk = ?
		WHERE id = ? AND epoch = ? AND status = ''`
	args := []any{shown, n.Text, n.Acting, n.Acted, record.Verdict(n.Verdict), n.Risk, id, epoch}
	if n.Verdict == nil { // SQLite collects the rows that a statement returns in a table that it makes and drops for each run
		return held(tx.ExecContext(ctx, update, args...))
	}
	var hadFiles bool
	err := tx.QueryRowContext(ctx, update+` RETURNING EXISTS (SELECT 1 FROM files WHERE run = runs.id)`, args...).Scan(&hadFiles)
	if err == nil && (hadFiles || len(n.Files) > 0) {
		// The files of the answer are stored with its verdict, in the same transaction: the verdict refers to them by
		// number.
		err = keepFiles(ctx, tx, id, n.Files)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return answer.ErrLost
	}
	return err
}

// held returns [answer.ErrLost] if a statement with the condition "open, and of this epoch" has changed nothing: the run has ended, or
// another holder has started it since.
func held(changed int, err error) error {
	if err == nil && changed == 0 {
		return answer.ErrLost
	}
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
		err = s.write(ctx, func(ctx context.Context, tx *conn) error {
			// Without an input, all that the run was about was deleted while it ran. Then nothing of its text may stay,
			// neither in its row nor in the log.
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

// endRun ends the run, stores its answer, and reports whether the run still has an input. Without inputs the answer is
// not stored, as it would quote the deleted messages, unless the run carries out a choice, which has none by nature.
func endRun(ctx context.Context, tx *conn, id chat.RunID, epoch chat.Epoch, o answer.Outcome, out chat.Memory) (asked bool, err error) {
	var room chat.RoomID
	var turn chat.ResponseID
	err = tx.QueryRowContext(ctx, `
		UPDATE runs SET status = ?, failure = ?, withdrawn = ?, partial = ?, outcome = ?, parked = 0, ending = '', continuation = ''
		WHERE id = ? AND epoch = ? AND status = ''
		RETURNING room, turn, EXISTS (SELECT 1 FROM memories m WHERE m.room = runs.room AND m.turn = runs.turn AND m.role = 'input')`,
		o.Status, o.Failure, o.Withdrawn, o.Partial, record.OutcomeOf(o, epoch), id, epoch).Scan(&room, &turn, &asked)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, answer.ErrLost
	case err != nil:
		return false, err
	case out.ID != "" && out.Room != room:
		return false, fmt.Errorf("the answer belongs to the room %q, but its run to %q", out.Room, room)
	}
	// The common case, a run with an input, needs no further query.
	carried := false
	if !asked {
		if carried, err = carriesOut(ctx, tx, id); err != nil {
			return false, err
		}
	}
	if out.ID != "" && (asked || carried) {
		return asked, remember(ctx, tx, out, turn, record.Said)
	}
	return asked, keepFiles(ctx, tx, id, nil)
}

// carriesOut reports whether the run carries out a user's choice, or removes the options of a question that is
// still remembered (a run that [storage.Questions.Retire] opened: its question was answered by no one).
func carriesOut(ctx context.Context, tx *conn, id chat.RunID) (carried bool, err error) {
	q, err := record.ScanQuestion(tx.QueryRowContext(ctx, selectQuestions+`WHERE carrier = ?1 AND carrier <> ''`, id))
	if err != nil || q.By != "" {
		return err == nil, record.UnlessMissing(err)
	}
	err = tx.QueryRowContext(ctx, `
		SELECT EXISTS (SELECT 1 FROM memories m JOIN runs r ON r.room = m.room AND r.turn = m.turn
			WHERE r.id = ? AND m.role IN ('input', 'said'))`, q.Run).Scan(&carried)
	return carried, err
}

// RenewLease implements [storage.Leases].
func (s *journal) RenewLease(ctx context.Context, owner string, until time.Time) error {
	err := s.write(ctx, func(ctx context.Context, tx *conn) error {
		_, err := tx.ExecContext(ctx, `
			INSERT INTO owners (id, alive_until) VALUES (?, ?)
			ON CONFLICT (id) DO UPDATE SET alive_until = excluded.alive_until`, owner, record.Nanos(until))
		return err
	})
	return wrap(err, "renewing the lease of %q", owner)
}
