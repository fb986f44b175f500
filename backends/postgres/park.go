package postgres

import (
	"context"

	"parley/backends/record"
	"parley/core/answer"
	"parley/core/chat"
)

// newestStarted selects the newest turn with which a run has claimed the room of the row in runs. Runs that were never
// started have claimed nothing yet; notices, commands and choices never claim; tasks and other runs claim places of
// their own, so each counts only its like, see chat.RunKind.Claims. The kinds are spelled as they are stored.
const newestStarted = `(SELECT max(greatest(s.turn, s.retried)) FROM runs s WHERE s.room = runs.room AND s.epoch > 0 
	AND s.duty NOT IN ('tell', 'obey', 'carry') AND (s.duty = 'task') = (runs.duty = 'task'))`

// Park implements [storage.Parking]. The epoch rises, so that nothing which the previous holder still writes can
// succeed.
func (s *journal) Park(ctx context.Context, id chat.RunID, epoch chat.Epoch, w chat.Wait) error {
	err := s.write(ctx, roomScope(roomOf(id)), func(ctx context.Context, q querier) error {
		done, err := q.Exec(ctx, `
			UPDATE runs SET parked = true, ready = $1, ending = '', continuation = $2, epoch = epoch + 1, owner = '', deaths = 0,
				blamed = 0, risk = '', attempts = 0, lasting = $5
			WHERE id = $3 AND epoch = $4 AND status = '' AND NOT parked`, s.clock.stored(w.Until), string(w.Continuation), id, epoch, w.Lasting)
		if err == nil && done.RowsAffected() == 0 {
			err = answer.ErrLost
		}
		return err
	})
	return wrap(err, "parking the run %q", id)
}

// Wake implements [storage.Parking]. least and coalesce keep an earlier time and the first ending: of several people
// who decide, the first one counts.
func (s *journal) Wake(ctx context.Context, id chat.RunID, end answer.Status) error {
	err := s.write(ctx, roomScope(roomOf(id)), func(ctx context.Context, q querier) error {
		done, err := q.Exec(ctx, `
			UPDATE runs SET ready = least(ready, $1), ending = coalesce(nullif(ending, ''), $2) WHERE id = $3 AND parked AND status = ''`,
			s.clock.nanos(), end, id)
		if err == nil && done.RowsAffected() == 0 {
			err = answer.ErrLost
		}
		return err
	})
	return wrap(err, "waking the run %q", id)
}

// Continuation implements [storage.Parking].
func (s *journal) Continuation(ctx context.Context, id chat.RunID) (continuation []byte, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		return record.Found(q.QueryRow(ctx, `SELECT continuation FROM runs WHERE id = $1 AND continuation <> ''`, id).Scan(&continuation))
	})
	return continuation, wrap(err, "reading how the run %q goes on", id)
}
