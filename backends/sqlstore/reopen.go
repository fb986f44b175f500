package sqlstore

import (
	"context"

	"parley/backends/record"
	"parley/core/answer"
	"parley/core/chat"
)

// RunOf implements [storage.Runs].
func (s *journal) RunOf(ctx context.Context, id chat.MemoryID) (chat.Run, error) {
	run, err := one(ctx, s.Shared, s.scanChatRun, s.selectRuns+`
		JOIN memories i ON i.room = r.room AND i.turn = r.turn AND i.role = 'input' WHERE i.id = $2`, s.Present(), id)
	return run, s.wrap(err, "looking for the run of %q", id)
}

// RunShowing implements [storage.Runs]. The ids of topics are a range of the primary key of rooms (0 follows / in ASCII), and CROSS JOIN
// makes SQLite begin with it: so this reads only the last answers of the rooms, by index.
func (s *journal) RunShowing(ctx context.Context, room chat.RoomID, topics bool, message string, turns int) (chat.Run, error) {
	last := room
	if topics {
		last += "0"
	}
	run, err := one(ctx, s.Shared, s.scanChatRun, s.selectRuns+`
		WHERE r.id IN (
			SELECT m.id FROM rooms w CROSS JOIN memories m
			WHERE m.room = w.id AND m.turn > w.turns - CAST($5 AS bigint) AND m.role = 'said'
				AND w.id BETWEEN $2 AND $3 AND (w.id = $2 OR substr(w.id, 1, length($2) + 1) = $2 || '/'))
		AND `+s.ShownID+`
		ORDER BY r.opened DESC LIMIT 1`, s.Present(), string(room), string(last), message, turns)
	return run, s.wrap(err, "looking for the run that a message shows")
}

// ShownIn implements [storage.Runs]. No index finds the ended runs of a room, because it is only needed after a crash.
func (s *journal) ShownIn(ctx context.Context, room chat.RoomID, most int) (map[chat.RunID][]chat.Shown, error) {
	all := map[chat.RunID][]chat.Shown{}
	_, err := list(ctx, s.Shared, func(r record.Row) (id chat.RunID, err error) { return record.ScanShown(r, all) }, `
		SELECT id, shown FROM runs WHERE shown <> '' AND (room = $1 OR substr(room, 1, length($1) + 1) = $1 || '/')
		ORDER BY opened DESC LIMIT $2`, string(room), most)
	return all, s.wrap(err, "reading what is shown in %q", room)
}

// Reopen implements [storage.Retries].
func (s *journal) Reopen(ctx context.Context, id chat.RunID) error {
	err := s.Write(ctx, s.run(id).deleting(), func(ctx context.Context, tx Conn) error {
		run, err := s.findRun(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := reopenable(ctx, tx, run.Run); err != nil {
			return err
		}
		return reopen(ctx, tx, run)
	})
	return s.wrap(err, "reopening the run %q", id)
}

// reopen makes an ended or lost run one that was never answered. The epoch rises, so a holder that still works on it
// loses it. The text of the verdict stays as Text: the next answer is edited into the messages that show it, instead of
// being posted once more.
func reopen(ctx context.Context, tx Conn, run record.HeldRun) error {
	if run.Outcome.Done() {
		run.Owner = "" // its last owner may be alive, but works on it no more; another can start it at once
	}
	if run.Verdict != nil {
		run.Text = run.Verdict.Text
	}
	_, err := tx.Exec(ctx, `
		UPDATE runs SET epoch = epoch + 1, owner = $1, status = '', failure = '', partial = FALSE, outcome = '', counted = FALSE,
			text = $2, verdict = '', deaths = 0, blamed = 0, risk = '', lasting = FALSE, attempts = 0, parked = FALSE, ending = '', continuation = ''
		WHERE id = $3`, run.Owner, run.Text, run.ID)
	if err == nil {
		_, err = tx.Exec(ctx, `DELETE FROM memories WHERE room = $1 AND turn = $2 AND role IN ('said', 'beside')`,
			run.Room, run.Response)
	}
	if err == nil {
		err = keepFiles(ctx, tx, run.ID, nil)
	}
	return err
}

// reopenable returns [answer.ErrLost] if the run must stay as it is. A newer run of the room has seen this answer in
// its prompt, so changing it would falsify the conversation; commands and choices do not count, as they read none. The result of
// a choice stays the same.
func reopenable(ctx context.Context, tx Conn, run chat.Run) error {
	newer, err := scan[bool](tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM runs WHERE room = $1 AND turn > $2 AND duty NOT IN ($3, $4))`,
		run.Room, run.Response, chat.RunCommand, chat.RunChoiceResult))
	if err == nil && (newer && !run.Kind.OutOfBand() || !run.Retryable()) {
		err = answer.ErrLost
	}
	return err
}

// newestStarted selects the newest turn of a run that has claimed the room of the row in runs. Runs that were never
// started have claimed nothing yet; notices, commands and choices never claim; tasks and other runs claim places of
// their own, so each counts only its like, see chat.RunKind.Claims. The kinds are spelled as they are stored.
const newestStarted = `(SELECT max(CASE WHEN s.turn > s.retried THEN s.turn ELSE s.retried END) FROM runs s WHERE s.room = runs.room AND s.epoch > 0
	AND s.duty NOT IN ('tell', 'obey', 'carry') AND (s.duty = 'task') = (runs.duty = 'task'))`

// Park implements [storage.Parking]. The epoch rises, so that nothing which the previous holder still writes can
// succeed.
func (s *journal) Park(ctx context.Context, id chat.RunID, epoch chat.Epoch, w chat.Wait) error {
	err := s.Write(ctx, s.run(id), func(ctx context.Context, tx Conn) error {
		return some(tx.Exec(ctx, `
			UPDATE runs SET parked = TRUE, ready = CASE WHEN ending = '' THEN CAST($1 AS bigint) ELSE $6 END, continuation = $2, epoch = epoch + 1, owner = '', deaths = 0,
				blamed = 0, risk = '', attempts = 0, lasting = $5
			WHERE id = $3 AND epoch = $4 AND status = '' AND NOT parked`, s.Stored(w.Until), string(w.Continuation), id, epoch, w.Lasting, s.Present()))
	})
	return s.wrap(err, "parking the run %q", id)
}

// Wake implements [storage.Parking]. It keeps an earlier time and the first ending: of several users
// who decide, the first one counts.
func (s *journal) Wake(ctx context.Context, id chat.RunID, end answer.Status) error {
	err := s.Write(ctx, s.run(id), func(ctx context.Context, tx Conn) error {
		return some(tx.Exec(ctx, `
			UPDATE runs SET ready = CASE WHEN ready < $1 OR NOT parked THEN ready ELSE $1 END, ending = coalesce(nullif(ending, ''), $2)
			WHERE id = $3 AND (parked OR epoch > 0 AND $4) AND status = ''`, s.Present(), end, id, end == answer.Stopped))
	})
	return s.wrap(err, "waking the run %q", id)
}

// Continuation implements [storage.Parking].
func (s *journal) Continuation(ctx context.Context, id chat.RunID) (continuation []byte, err error) {
	continuation, err = one(ctx, s.Shared, scan[[]byte], `SELECT continuation FROM runs WHERE id = $1 AND continuation <> ''`, id)
	return continuation, s.wrap(err, "reading how the run %q goes on", id)
}
