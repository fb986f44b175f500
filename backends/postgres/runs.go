package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"parley/backends/record"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/quota"
)

// selectRuns selects the columns that [record.ScanRun] reads. Its first argument is the present by the clock of the
// database. Two columns are computed, because they change without a write when a lease ends: whether a living owner
// holds the run, and its deaths, which count the last owner too if that died on it without announcing its end and
// without a verdict (a run with a verdict only remains to be shown). The inputs are the messages of the turn with the
// role input, so deleting one takes it from the run.
const selectRuns = `
	SELECT r.id, r.turn, r.room, r.kind, r.address, r.author, r.opened, r.ready, r.duty,
		r.epoch, r.epoch > 0 AND r.status = '' AND coalesce(o.alive_until > $1::bigint, FALSE), r.owner,
		r.deaths + (r.epoch > 0 AND r.status = '' AND r.verdict = '' AND coalesce(o.alive_until <= $1 AND NOT o.leaving, FALSE))::int,
		r.blamed, r.attempts, r.retried,
		r.status, r.failure, r.withdrawn, r.partial, r.shown, r.text, r.acting, r.acted, r.verdict, r.parked, r.lasting, r.ending, r.continuation <> '', r.outcome,
		(SELECT coalesce(json_agg(m.id ORDER BY m.seq)::text, '') FROM memories m
			WHERE m.room = r.room AND m.turn = r.turn AND m.role = 'input')
	FROM runs r LEFT JOIN owners o ON o.id = r.owner `

// findRun returns one run, or [chat.ErrNotFound].
func (s *database) findRun(ctx context.Context, q querier, id chat.RunID) (record.HeldRun, error) {
	return s.scanRun(q.QueryRow(ctx, selectRuns+`WHERE r.id = $2`, s.clock.nanos(), id))
}

// scanRun reads a run and converts its times to the clock of the process.
func (s *database) scanRun(r record.Row) (record.HeldRun, error) {
	run, err := record.ScanRun(r)
	run.Opened, run.Ready = s.clock.local(run.Opened), s.clock.local(run.Ready)
	return run, err
}

// scanChatRun is scanRun without the name of the owner.
func (s *database) scanChatRun(r record.Row) (chat.Run, error) {
	run, err := s.scanRun(r)
	return run.Run, err
}

// Run implements [storage.Runs].
func (s *journal) Run(ctx context.Context, id chat.RunID) (chat.Run, error) {
	var run record.HeldRun
	err := s.read(ctx, func(ctx context.Context, q querier) (err error) {
		run, err = s.findRun(ctx, q, id)
		return err
	})
	return run.Run, wrap(err, "reading the run %q", id)
}

// OpenRuns implements [storage.Runs].
func (s *journal) OpenRuns(ctx context.Context, room chat.RoomID) ([]chat.Run, error) {
	var open []chat.Run
	err := s.read(ctx, func(ctx context.Context, q querier) error {
		rows, err := q.Query(ctx, selectRuns+`WHERE r.room = $2 AND r.status = '' ORDER BY r.turn`,
			s.clock.nanos(), room)
		open, err = collect(rows, err, s.scanChatRun)
		return err
	})
	return open, wrap(err, "reading the open runs of %q", room)
}

// OpenRooms implements [storage.Runs].
func (s *journal) OpenRooms(ctx context.Context) ([]chat.RoomID, error) {
	var rooms []chat.RoomID
	err := s.read(ctx, func(ctx context.Context, q querier) error {
		rows, err := q.Query(ctx, `
			SELECT DISTINCT room FROM runs WHERE status = '' AND (NOT parked OR ready <= $1) ORDER BY room`, s.clock.nanos())
		rooms, err = collect(rows, err, func(r record.Row) (room chat.RoomID, err error) { return room, r.Scan(&room) })
		return err
	})
	return rooms, wrap(err, "reading which rooms have open runs")
}

// Start implements [storage.Journal].
func (s *journal) Start(ctx context.Context, id chat.RunID, owner string) (chat.Run, error) {
	var run record.HeldRun
	err := s.write(ctx, roomScope(roomOf(id)), func(ctx context.Context, q querier) (err error) {
		// The lock of the room is held, so no run of it can be started between these checks and the update. The death
		// of the previous owner, which findRun counted from the lease, is stored now, because the column owner no
		// longer names that one. A parked run takes the newest turn that was started meanwhile as its claim, so that
		// the tracker does not cancel it in favor of those turns.
		if run, err = s.findRun(ctx, q, id); err != nil {
			return err
		}
		if run.Parked && run.Ready.After(s.clock.now()) {
			return chat.ErrBusy
		}
		if err := startable(ctx, q, run, owner); err != nil {
			return err
		}
		if err := countHeld(ctx, q, run, owner); err != nil {
			return err
		}
		var deaths int
		err = q.QueryRow(ctx, `
			UPDATE runs SET epoch = epoch + 1, owner = $1, deaths = CASE owner WHEN $1 THEN deaths ELSE $2::bigint END,
				blamed = blamed + CASE WHEN owner <> $1 AND $2::bigint > deaths AND (
					deaths >= $4::bigint OR risk <> '' OR coalesce((SELECT o.died_with = 1 FROM owners o WHERE o.id = runs.owner), false)) THEN 1 ELSE 0 END,
				risk = '', parked = false, retried = CASE WHEN parked THEN coalesce(`+newestStarted+`, retried) ELSE retried END
			WHERE id = $3 RETURNING deaths`,
			owner, run.Deaths, id, chat.SuspectDeaths).Scan(&deaths)
		if err != nil {
			return err
		}
		run, err = s.findRun(ctx, q, id)
		run.Deaths = deaths // a holder that starts it lives, whatever its last heartbeat says
		return err
	})
	if err != nil {
		return chat.Run{}, wrap(err, "starting the run %q", id)
	}
	return run.Run, nil
}

// countHeld stores the number of open runs of the last owner of run, before the first of them is adopted: afterwards their rows do not name
// that owner any more. It writes only where another owner's run is adopted.
func countHeld(ctx context.Context, q querier, run record.HeldRun, owner string) error {
	if run.Epoch == 0 || run.Owner == "" || run.Owner == owner {
		return nil
	}
	_, err := q.Exec(ctx, `
		UPDATE owners SET died_with = (SELECT count(*) FROM runs r WHERE r.owner = owners.id AND r.status = '' AND r.epoch > 0)
		WHERE id = $1 AND died_with = 0`, run.Owner)
	return err
}

// startable returns nil if owner can start the run: it is open, no other living owner holds it, and the room is free.
func startable(ctx context.Context, q querier, run record.HeldRun, owner string) error {
	if run.Outcome.Done() {
		return answer.ErrLost
	}
	if run.Held && run.Owner != owner {
		return chat.ErrBusy
	}
	return roomFree(ctx, q, run.Run)
}

// roomFree returns [chat.ErrBusy] if another run of the room is under way. Runs that bypass the queue (commands,
// choices) only exclude each other, so that /stop works while an answer is being written; parked runs exclude nothing.
func roomFree(ctx context.Context, q querier, run chat.Run) error {
	var other bool
	err := q.QueryRow(ctx, `
		SELECT EXISTS (SELECT 1 FROM runs WHERE room = $1 AND status = '' AND epoch > 0 AND NOT parked AND id <> $2 AND (duty IN ($3, $4)) = $5)`,
		run.Room, run.ID, chat.RunCommand, chat.RunChoiceResult, run.Kind.OutOfBand()).Scan(&other)
	if err == nil && other {
		err = chat.ErrBusy
	}
	return err
}

// Attempt implements [storage.Journal]. Nearly always the message is counted with its first attempt, which takes one statement.
func (s *journal) Attempt(ctx context.Context, id chat.RunID, epoch chat.Epoch, day string, message ...quota.Charge) (over string, err error) {
	err = s.write(ctx, buckets(message), func(ctx context.Context, q querier) error {
		over = ""
		if len(message) > 0 {
			err := q.QueryRow(ctx, `
				UPDATE runs SET attempts = attempts + 1, counted = true
				WHERE id = $1 AND epoch = $2 AND status = '' AND NOT counted RETURNING id`, id, epoch).Scan(&id)
			if err == nil {
				over, err = spendAll(ctx, q, day, message)
			}
			if !errors.Is(err, pgx.ErrNoRows) {
				return err
			}
		}
		err := q.QueryRow(ctx, `
			UPDATE runs SET attempts = attempts + 1 WHERE id = $1 AND epoch = $2 AND status = '' RETURNING id`, id, epoch).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			return answer.ErrLost
		}
		return err
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
		err = s.write(ctx, nil, func(ctx context.Context, q querier) error { return note(ctx, q, id, epoch, n) })
	}
	return wrap(err, "noting on the run %q", id)
}

// note adds n to the run if it is open and has this epoch. The lock of the run's row is enough here, because notes
// concern no other run: the room stays free for messages while an answer is being written. Empty fields of n leave the
// stored ones as they are, hence coalesce and nullif. The files of an answer are stored in the transaction of its
// verdict, which refers to them by number.
func note(ctx context.Context, q querier, id chat.RunID, epoch chat.Epoch, n chat.Note) error {
	var shown *string // nil leaves the column unchanged, while '' is an empty list
	if n.Shown != nil {
		shown = new(record.List(n.Shown))
	}
	var hadFiles bool
	err := q.QueryRow(ctx, `
		UPDATE runs SET shown = coalesce($1, shown),
			text = coalesce(nullif($2, ''), text), acting = coalesce(nullif($3, ''), acting),
			acted = coalesce(nullif($4, ''), acted), verdict = coalesce(nullif($5, ''), verdict), risk = $8
		WHERE id = $6 AND epoch = $7 AND status = '' RETURNING EXISTS (SELECT 1 FROM files WHERE run = runs.id)`,
		shown, n.Text, n.Acting, n.Acted, record.Verdict(n.Verdict), id, epoch, n.Risk).Scan(&hadFiles)
	if errors.Is(err, pgx.ErrNoRows) {
		return answer.ErrLost
	}
	if err == nil && n.Verdict != nil && (hadFiles || len(n.Files) > 0) {
		err = keepFiles(ctx, q, id, n.Files)
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
		err = s.write(ctx, roomScope(roomOf(id)), func(ctx context.Context, q querier) error {
			// Without an input, all that the run was about was deleted while it ran. Then nothing of its text may stay.
			asked, err := endRun(ctx, q, id, epoch, o, out)
			if err == nil && !asked {
				err = eraseEnded(ctx, q, id)
			}
			return err
		})
	}
	return wrap(err, "finishing the run %q", id)
}

// endRun ends the run, stores its answer, and reports whether the run still has an input. Without inputs the answer is
// not stored, as it would quote the deleted messages, unless the run carries out a choice, which has none by nature.
func endRun(ctx context.Context, q querier, id chat.RunID, epoch chat.Epoch, o answer.Outcome, out chat.Memory) (asked bool, err error) {
	var room chat.RoomID
	var turn chat.ResponseID
	err = q.QueryRow(ctx, `
		UPDATE runs SET status = $1, failure = $2, withdrawn = $3, partial = $4, outcome = $7, parked = false, ending = '', continuation = ''
		WHERE id = $5 AND epoch = $6 AND status = ''
		RETURNING room, turn`, o.Status, o.Failure, o.Withdrawn, o.Partial, id, epoch, record.OutcomeOf(o, epoch)).Scan(&room, &turn)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, answer.ErrLost
	case err != nil:
		return false, err
	case out.ID != "" && out.Room != room:
		return false, fmt.Errorf("the answer belongs to the room %q, but its run to %q", out.Room, room)
	}
	asked, carried, err := hasInput(ctx, q, id, room, turn)
	if err != nil {
		return asked, err
	}
	if out.ID != "" && (asked || carried) {
		return asked, remember(ctx, q, out, turn, record.Said)
	}
	return asked, keepFiles(ctx, q, id, nil)
}

// hasInput reports whether the run still has an input, and if not, whether it carries out a user's choice, or removes
// the options of a question that is still remembered.
func hasInput(ctx context.Context, q querier, id chat.RunID, room chat.RoomID, turn chat.ResponseID) (asked, carried bool, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM memories WHERE room = $1 AND turn = $2 AND role = 'input')`, room, turn).Scan(&asked)
	if err != nil || asked {
		return asked, false, err
	}
	asker, err := record.ScanQuestion(q.QueryRow(ctx, selectQuestions+`WHERE carrier = $1 AND carrier <> ''`, id))
	if err != nil || asker.By != "" {
		return false, err == nil, record.UnlessMissing(err)
	}
	err = q.QueryRow(ctx, `
		SELECT EXISTS (SELECT 1 FROM memories m JOIN runs r ON r.room = m.room AND r.turn = m.turn
			WHERE r.id = $1 AND m.role IN ('input', 'said'))`, asker.Run).Scan(&carried)
	return false, carried, err
}
