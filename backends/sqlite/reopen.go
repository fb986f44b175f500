package sqlite

import (
	"context"
	"time"

	"parley/backends/record"
	"parley/core/answer"
	"parley/core/chat"
)

// RunOf implements [storage.Runs].
func (s *journal) RunOf(ctx context.Context, id chat.MemoryID) (chat.Run, error) {
	var run record.HeldRun
	err := s.read(ctx, func(db *conn) (err error) {
		run, err = record.ScanRun(db.QueryRowContext(ctx, selectRuns+`
			JOIN memories i ON i.room = r.room AND i.turn = r.turn AND i.role = 'input' WHERE i.id = ?`,
			record.Nanos(time.Now()), id))
		return err
	})
	return run.Run, wrap(err, "looking for the run of %q", id)
}

// RunShowing implements [storage.Runs]. The ids of topics are a range of the primary key of rooms (0 follows / in ASCII), and CROSS JOIN
// makes SQLite begin with it: so this reads only the last answers of the rooms, by index.
func (s *journal) RunShowing(ctx context.Context, room chat.RoomID, topics bool, message string, turns int) (chat.Run, error) {
	last := room
	if topics {
		last += "0"
	}
	var run record.HeldRun
	err := s.read(ctx, func(db *conn) (err error) {
		run, err = record.ScanRun(db.QueryRowContext(ctx, selectRuns+`
			WHERE r.id IN (
				SELECT m.id FROM rooms w CROSS JOIN memories m ON m.room = w.id AND m.turn > w.turns - ?5 AND m.role = 'said'
				WHERE w.id BETWEEN ?2 AND ?3 AND (w.id = ?2 OR substr(w.id, 1, length(?2) + 1) = ?2 || '/'))
			AND r.shown <> '' AND EXISTS (SELECT 1 FROM json_each(r.shown) WHERE value ->> '$.id' = ?4)
			ORDER BY r.opened DESC LIMIT 1`, record.Nanos(time.Now()), room, last, message, turns))
		return err
	})
	return run.Run, wrap(err, "looking for the run that a message shows")
}

// ShownIn implements [storage.Runs]. No index finds the ended runs of a room, because it is only needed after a crash.
func (s *journal) ShownIn(ctx context.Context, room chat.RoomID, most int) (map[chat.RunID][]chat.Shown, error) {
	all := map[chat.RunID][]chat.Shown{}
	err := s.read(ctx, func(db *conn) error {
		rows, err := db.QueryContext(ctx, `
			SELECT id, shown FROM runs WHERE shown <> '' AND (room = ?1 OR substr(room, 1, length(?1) + 1) = ?1 || '/')
			ORDER BY opened DESC LIMIT ?2`, room, most)
		if err != nil {
			return err
		}
		_, err = collect(rows, func(r record.Row) (id chat.RunID, err error) { return record.ScanShown(r, all) })
		return err
	})
	return all, wrap(err, "reading what is shown in %q", room)
}

// Reopen implements [storage.Retries].
func (s *journal) Reopen(ctx context.Context, id chat.RunID) error {
	err := s.forgetting(ctx, func(ctx context.Context, tx *conn) error {
		run, err := findRun(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := reopenable(ctx, tx, run.Run); err != nil {
			return err
		}
		return reopen(ctx, tx, run)
	})
	return wrap(err, "reopening the run %q", id)
}

// reopen makes an ended or lost run one that was never answered. The epoch rises, so a holder that still works on it
// loses it. The text of the verdict stays as Text: the next answer is edited into the messages that show it, instead of
// being posted once more.
func reopen(ctx context.Context, tx *conn, run record.HeldRun) error {
	if run.Outcome.Done() {
		run.Owner = "" // its last owner may be alive, but works on it no more; another can start it at once
	}
	if run.Verdict != nil {
		run.Text = run.Verdict.Text
	}
	_, err := tx.ExecContext(ctx, `
		UPDATE runs SET epoch = epoch + 1, owner = ?, status = '', failure = '', partial = 0, outcome = '', counted = 0, text = ?, verdict = '', deaths = 0, blamed = 0, risk = '', lasting = 0, attempts = 0,
			parked = 0, ending = '', continuation = ''
		WHERE id = ?`, run.Owner, run.Text, run.ID)
	if err == nil {
		_, err = tx.ExecContext(ctx, `DELETE FROM memories WHERE room = ? AND turn = ? AND role IN ('said', 'beside')`,
			run.Room, run.Response)
	}
	if err == nil {
		err = keepFiles(ctx, tx, run.ID, nil)
	}
	return err
}

// reopenable returns [answer.ErrLost] if the run must stay as it is. A newer run of the room has seen this answer in
// its prompt, so changing it would falsify the conversation; commands and choices do not count, as they read none.
func reopenable(ctx context.Context, tx *conn, run chat.Run) error {
	var newer bool
	err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM runs WHERE room = ? AND turn > ? AND duty NOT IN (?, ?))`,
		run.Room, run.Response, chat.RunCommand, chat.RunChoiceResult).Scan(&newer)
	if err == nil && (newer || !run.Retryable()) {
		err = answer.ErrLost
	}
	return err
}

// newestStarted selects the newest turn of a run that has claimed the room of the row in runs. Runs that were never
// started have claimed nothing yet; notices, commands and choices never claim; tasks and other runs claim places of
// their own, so each counts only its like, see chat.RunKind.Claims. The kinds are spelled as they are stored.
const newestStarted = `(SELECT max(max(s.turn, s.retried)) FROM runs s WHERE s.room = runs.room AND s.epoch > 0 
	AND s.duty NOT IN ('tell', 'obey', 'carry') AND (s.duty = 'task') = (runs.duty = 'task'))`

// Park implements [storage.Parking]. The epoch rises, so that nothing which the previous holder still writes can
// succeed.
func (s *journal) Park(ctx context.Context, id chat.RunID, epoch chat.Epoch, w chat.Wait) error {
	err := s.write(ctx, func(ctx context.Context, tx *conn) error {
		return held(tx.ExecContext(ctx, `
			UPDATE runs SET parked = 1, ready = ?, ending = '', continuation = ?, epoch = epoch + 1, owner = '', deaths = 0,
				blamed = 0, risk = '', attempts = 0, lasting = ?
			WHERE id = ? AND epoch = ? AND status = '' AND NOT parked`,
			record.Nanos(w.Until), string(w.Continuation), w.Lasting, id, epoch))
	})
	return wrap(err, "parking the run %q", id)
}

// Wake implements [storage.Parking]. min and iif keep an earlier time and the first ending: of several users who
// decide, the first one counts.
func (s *journal) Wake(ctx context.Context, id chat.RunID, end answer.Status) error {
	err := s.write(ctx, func(ctx context.Context, tx *conn) error {
		return held(tx.ExecContext(ctx, `
			UPDATE runs SET ready = min(ready, ?), ending = iif(ending = '', ?, ending) WHERE id = ? AND parked AND status = ''`,
			record.Nanos(time.Now()), end, id))
	})
	return wrap(err, "waking the run %q", id)
}

// Continuation implements [storage.Parking].
func (s *journal) Continuation(ctx context.Context, id chat.RunID) (continuation []byte, err error) {
	err = s.read(ctx, func(db *conn) error {
		return record.Found(db.QueryRowContext(ctx, `SELECT continuation FROM runs WHERE id = ? AND continuation <> ''`, id).Scan(&continuation))
	})
	return continuation, wrap(err, "reading how the run %q goes on", id)
}
