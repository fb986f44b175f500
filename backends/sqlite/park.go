package sqlite

import (
	"context"
	"time"

	"parley/backends/record"
	"parley/core/answer"
	"parley/core/chat"
)

// newestStarted selects the newest turn with which a run has claimed the room of the row in runs. Runs that were never
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

// Wake implements [storage.Parking]. min and iif keep an earlier time and the first ending: of several people who
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
