package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"parley/backends/record"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/quota"
)

// selectRuns selects the columns that [record.ScanRun] reads; %s is [Dialect.Inputs]. Its first argument is the present by the clock
// of the database. Two columns are computed, because they change without a write when a lease ends: whether a living owner
// holds the run, and its deaths, which count the last owner too if that died on it without announcing its end and
// without a verdict (a run with a verdict only remains to be shown). The inputs are the messages of the turn with the
// role input, so deleting one takes it from the run.
const selectRuns = `
	SELECT r.id, r.turn, r.room, r.kind, r.address, r.author, r.opened, r.ready, r.duty,
		r.epoch, r.epoch > 0 AND r.status = '' AND coalesce(o.alive_until > CAST($1 AS bigint), FALSE), r.owner,
		r.deaths + CAST((r.epoch > 0 AND r.status = '' AND r.verdict = '' AND coalesce(o.alive_until <= $1 AND NOT o.leaving, FALSE)) AS int),
		r.blamed, r.attempts, r.retried,
		r.status, r.failure, r.withdrawn, r.partial, r.shown, r.text, r.acting, r.acted, r.verdict, r.parked, r.lasting, r.ending, r.continuation <> '', r.outcome,
		(SELECT %s FROM memories m WHERE m.room = r.room AND m.turn = r.turn AND m.role = 'input')
	FROM runs r LEFT JOIN owners o ON o.id = r.owner `

// findRun returns one run, or [chat.ErrNotFound].
func (s *Shared) findRun(ctx context.Context, c Conn, id chat.RunID) (record.HeldRun, error) {
	return s.scanRun(c.QueryRow(ctx, s.selectRun, s.Present(), id))
}

// scanRun reads a run and converts its times to the clock of the process.
func (s *Shared) scanRun(r record.Row) (record.HeldRun, error) {
	run, err := record.ScanRun(r)
	run.Opened, run.Ready = s.Local(run.Opened), s.Local(run.Ready)
	return run, err
}

// scanChatRun is scanRun without the name of the owner.
func (s *Shared) scanChatRun(r record.Row) (chat.Run, error) {
	run, err := s.scanRun(r)
	return run.Run, err
}

// Run implements [storage.Runs].
func (s *journal) Run(ctx context.Context, id chat.RunID) (chat.Run, error) {
	run, err := one(ctx, s.Shared, s.scanChatRun, s.selectRun, s.Present(), id)
	return run, s.wrap(err, "reading the run %q", id)
}

// OpenRuns implements [storage.Runs].
func (s *journal) OpenRuns(ctx context.Context, room chat.RoomID) ([]chat.Run, error) {
	open, err := list(ctx, s.Shared, s.scanChatRun, s.selectOpenRuns, s.Present(), room)
	return open, s.wrap(err, "reading the open runs of %q", room)
}

// OpenRooms implements [storage.Runs].
func (s *journal) OpenRooms(ctx context.Context) ([]chat.RoomID, error) {
	rooms, err := list(ctx, s.Shared, scan[chat.RoomID], `
		SELECT DISTINCT room FROM runs WHERE status = '' AND (NOT parked OR ready <= $1) ORDER BY room`, s.Present())
	return rooms, s.wrap(err, "reading which rooms have open runs")
}

// Start implements [storage.Journal].
func (s *journal) Start(ctx context.Context, id chat.RunID, owner string) (chat.Run, error) {
	var run record.HeldRun
	err := s.Write(ctx, s.run(id), func(ctx context.Context, tx Conn) (err error) {
		if run, err = s.findRun(ctx, tx, id); err != nil {
			return err
		}
		return s.start(ctx, tx, &run, owner)
	})
	if err != nil {
		return chat.Run{}, s.wrap(err, "starting the run %q", id)
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
func (s *journal) start(ctx context.Context, tx Conn, run *record.HeldRun, owner string) error {
	if run.Outcome.Done() {
		return answer.ErrLost
	}
	if run.Held && run.Owner != owner {
		return chat.ErrBusy
	}
	if run.Parked && run.Ready.After(s.Now()) {
		return chat.ErrBusy
	}
	if err := countHeld(ctx, tx, run, owner); err != nil {
		return err
	}
	err := tx.QueryRow(ctx, `
		UPDATE runs SET epoch = epoch + 1, owner = $6, deaths = CASE owner WHEN $6 THEN deaths ELSE CAST($7 AS bigint) END,
			blamed = blamed + CASE WHEN owner <> $6 AND CAST($7 AS bigint) > deaths AND (
				deaths >= CAST($8 AS bigint) OR risk <> '' OR coalesce((SELECT o.died_with = 1 FROM owners o WHERE o.id = runs.owner), FALSE)) THEN 1 ELSE 0 END,
			risk = '', parked = FALSE, retried = CASE WHEN parked THEN coalesce(`+newestStarted+`, retried) ELSE retried END
		WHERE id = $2 AND NOT `+existsUnderWay+`
		RETURNING epoch, coalesce((SELECT o.alive_until > CAST($9 AS bigint) FROM owners o WHERE o.id = owner), FALSE), deaths, blamed, parked, retried`,
		append(underWay(run.Run), owner, run.Deaths, chat.SuspectDeaths, s.Present())...).
		Scan(&run.Epoch, &run.Held, &run.Deaths, &run.Blamed, &run.Parked, &run.Retried) // a holder that starts it lives, whatever its last heartbeat says
	if errors.Is(err, sql.ErrNoRows) {
		return chat.ErrBusy
	}
	return err
}

// countHeld stores the number of open runs of the last owner of run, before the first of them is adopted: afterwards their rows do not name
// that owner any more. It writes only where another owner's run is adopted.
func countHeld(ctx context.Context, tx Conn, run *record.HeldRun, owner string) error {
	if run.Epoch == 0 || run.Owner == "" || run.Owner == owner {
		return nil
	}
	_, err := tx.Exec(ctx, `
		UPDATE owners SET died_with = (SELECT count(*) FROM runs r WHERE r.owner = owners.id AND r.status = '' AND r.epoch > 0)
		WHERE id = $1 AND died_with = 0`, run.Owner)
	return err
}

// existsUnderWay tests whether another run of the room is under way. Runs that bypass the queue (commands, choices)
// only exclude each other, so that /stop works while an answer is being written; parked and reopened runs exclude nothing. Its
// arguments are those of underWay. It reads the partial index of open runs.
const existsUnderWay = `EXISTS (SELECT 1 FROM runs r WHERE r.room = $1 AND r.status = '' AND r.epoch > 0 AND r.owner <> '' AND NOT r.parked AND r.id <> $2 AND (r.duty IN ($3, $4)) = $5)`

// underWay returns the arguments of existsUnderWay.
func underWay(run chat.Run) []any {
	return []any{run.Room, run.ID, chat.RunCommand, chat.RunChoiceResult, run.Kind.OutOfBand()}
}

// roomFree returns [chat.ErrBusy] if another run of the room is under way.
func roomFree(ctx context.Context, tx Conn, run chat.Run) error {
	other, err := scan[bool](tx.QueryRow(ctx, `SELECT `+existsUnderWay, underWay(run)...))
	if err == nil && other {
		err = chat.ErrBusy
	}
	return err
}

// Attempt implements [storage.Journal]. Nearly always the message is counted with its first attempt, which takes one statement.
func (s *journal) Attempt(ctx context.Context, id chat.RunID, epoch chat.Epoch, day string, message ...quota.Charge) (over string, err error) {
	err = s.Write(ctx, s.buckets(message), func(ctx context.Context, tx Conn) error {
		over = ""
		if len(message) > 0 {
			counted, err := tx.Exec(ctx, `
				UPDATE runs SET attempts = attempts + 1, counted = TRUE
				WHERE id = $1 AND epoch = $2 AND status = '' AND NOT counted`, id, epoch)
			if err == nil && counted > 0 {
				over, err = s.spendAll(ctx, tx, day, message)
			}
			if err != nil || counted > 0 {
				return err
			}
		}
		return some(tx.Exec(ctx, `UPDATE runs SET attempts = attempts + 1 WHERE id = $1 AND epoch = $2 AND status = ''`, id, epoch))
	})
	if errors.Is(err, errOver) {
		return over, nil
	}
	return "", s.wrap(err, "counting an attempt of the run %q", id)
}

// Join implements [storage.Journal].
func (s *journal) Join(ctx context.Context, id chat.RunID, epoch chat.Epoch, from chat.RunID, day string, message ...quota.Charge) (joined []chat.MemoryID, over string, err error) {
	locks := s.run(id)
	locks.On = append(locks.On, s.buckets(message).On...)
	err = s.Write(ctx, locks, func(ctx context.Context, tx Conn) (err error) {
		over = ""
		if err := some(tx.Exec(ctx, `
			UPDATE runs SET ending = $1 WHERE id = $2 AND status = '' AND epoch = 0 AND ending = '' AND ready <= $5
				AND EXISTS (SELECT 1 FROM runs r WHERE r.id = $3 AND r.epoch = $4 AND r.status = '' AND r.room = runs.room)`,
			answer.Superseded, from, id, epoch, s.Present())); err != nil {
			return err
		}
		if over, err = s.spendAll(ctx, tx, day, message); err != nil {
			return err
		}
		waiting, err := s.findRun(ctx, tx, from)
		if err == nil {
			// The vectors of messages keep the turn, which only bounds searches.
			_, err = tx.Exec(ctx, `
				UPDATE memories SET turn = (SELECT turn FROM runs WHERE id = $1) WHERE room = $2 AND turn = $3 AND role = 'input'`,
				id, waiting.Room, waiting.Response)
		}
		joined = waiting.Inputs
		return err
	})
	if errors.Is(err, errOver) {
		return nil, over, nil
	}
	return joined, "", s.wrap(err, "joining the messages of %q to %q", from, id)
}

// Note implements [storage.Journal].
func (s *journal) Note(ctx context.Context, id chat.RunID, epoch chat.Epoch, n chat.Note) error {
	err := record.CheckNote(n)
	if err == nil {
		err = s.Write(ctx, Change{}, func(ctx context.Context, tx Conn) error { return note(ctx, tx, id, epoch, n) })
	}
	if errors.Is(err, answer.ErrLost) && n.Shown != nil {
		err = cmp.Or(s.handOver(ctx, id, n.Shown), err)
	}
	return s.wrap(err, "noting on the run %q", id)
}

// handOver stores the ids of messages that an earlier holder had begun to create.
func (s *journal) handOver(ctx context.Context, id chat.RunID, shown []chat.Shown) error {
	err := s.Write(ctx, Change{}, func(ctx context.Context, tx Conn) error {
		run, err := s.findRun(ctx, tx, id)
		if now := chat.WithIDs(run.Shown, shown); err == nil && !slices.Equal(now, run.Shown) {
			_, err = tx.Exec(ctx, `UPDATE runs SET shown = $1 WHERE id = $2 AND status = '' AND shown = $3`, record.List(now), id, record.List(run.Shown))
		}
		return err
	})
	return chat.Unless(err, chat.ErrNotFound)
}

// note adds n to the run if it is open and has this epoch. The lock of the run's row is enough here, because notes
// concern no other run: the room stays free for messages while an answer is being written. Empty fields of n leave the
// stored ones as they are, hence coalesce and nullif.
func note(ctx context.Context, tx Conn, id chat.RunID, epoch chat.Epoch, n chat.Note) error {
	var shown any // nil leaves the column unchanged, while '' is an empty list
	if n.Shown != nil {
		shown = record.List(n.Shown)
	}
	const update = `
		UPDATE runs SET shown = coalesce($1, shown),
			text = coalesce(nullif($2, ''), text), acting = coalesce(nullif($3, ''), acting),
			acted = coalesce(nullif($4, ''), acted), verdict = coalesce(nullif($5, ''), verdict), risk = $6
		WHERE id = $7 AND epoch = $8 AND status = ''`
	args := []any{shown, n.Text, n.Acting, n.Acted, record.Verdict(n.Verdict), n.Risk, id, epoch}
	if n.Verdict == nil { // SQLite collects the rows that a statement returns in a table that it makes and drops for each run
		return some(tx.Exec(ctx, update, args...))
	}
	hadFiles, err := scan[bool](tx.QueryRow(ctx, update+` RETURNING EXISTS (SELECT 1 FROM files WHERE run = runs.id)`, args...))
	if err == nil && (hadFiles || len(n.Files) > 0) {
		// The files of the answer are stored with its verdict, in the same transaction: the verdict refers to them by
		// number.
		err = keepFiles(ctx, tx, id, n.Files)
	}
	if errors.Is(err, chat.ErrNotFound) {
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
		err = s.Write(ctx, s.run(id), func(ctx context.Context, tx Conn) error {
			// Without an input, all that the run was about was deleted while it ran. Then nothing of its text may stay,
			// neither in its row nor in the log of the database.
			asked, err := s.endRun(ctx, tx, id, epoch, o, out)
			if err == nil && !asked {
				s.Erasing()
				err = eraseEnded(ctx, tx, id)
			}
			return err
		})
	}
	return s.wrap(err, "finishing the run %q", id)
}

// endRun ends the run, stores its answer, and reports whether the run still has an input. Without inputs the answer is
// not stored, as it would quote the deleted messages, unless the run carries out a choice, which has none by nature.
func (s *journal) endRun(ctx context.Context, tx Conn, id chat.RunID, epoch chat.Epoch, o answer.Outcome, out chat.Memory) (asked bool, err error) {
	var room chat.RoomID
	var turn chat.ResponseID
	err = tx.QueryRow(ctx, `
		UPDATE runs SET status = $1, failure = $2, withdrawn = $3, partial = $4, outcome = $5, parked = FALSE, ending = '', continuation = ''
		WHERE id = $6 AND epoch = $7 AND status = ''
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
		return asked, s.remember(ctx, tx, out, turn, record.Said)
	}
	return asked, keepFiles(ctx, tx, id, nil)
}

// carriesOut reports whether the run carries out a user's choice, or removes the options of a question that is
// still remembered (a run that [storage.Questions.Retire] opened: its question was answered by no one).
func carriesOut(ctx context.Context, tx Conn, id chat.RunID) (bool, error) {
	q, err := record.ScanQuestion(tx.QueryRow(ctx, selectQuestions+`WHERE carrier = $1 AND carrier <> ''`, id))
	if err != nil || q.By != "" {
		return err == nil, record.UnlessMissing(err)
	}
	return scan[bool](tx.QueryRow(ctx, `
		SELECT EXISTS (SELECT 1 FROM memories m JOIN runs r ON r.room = m.room AND r.turn = m.turn
			WHERE r.id = $1 AND m.role IN ('input', 'said'))`, q.Run))
}
