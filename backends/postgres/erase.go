package postgres

import (
	"context"

	"parley/backends/record"
	"parley/core/chat"
)

// erase removes the text of runs of room with ids from first to last, and their questions, where nothing of their turn
// is remembered any more. Runs that are open keep theirs until they end (eraseEnded): they still need it to go on. Of
// the actions only a dash remains, for "there was one": a run that has written something must not be retried.
//
// The ids are a range of the primary key, so that one run and all runs of a room are erased by the same statements. The
// range can contain runs of other rooms, whose ids begin alike, hence the condition on room. The collation "C" makes it
// the same range as in SQLite.
func erase(ctx context.Context, q querier, room chat.RoomID, first, last chat.RunID) error {
	_, err := q.Exec(ctx, `
		DELETE FROM questions WHERE run BETWEEN $1 AND $2 AND room = $3
			AND NOT EXISTS (SELECT 1 FROM runs WHERE id IN (questions.run, questions.carrier) AND status = '')
			AND NOT EXISTS (SELECT 1 FROM memories m JOIN runs r ON r.room = m.room AND r.turn = m.turn
				WHERE r.id = questions.run AND m.role IN ('input', 'said'))`, first, last, room)
	if err != nil {
		return err
	}
	_, err = q.Exec(ctx, `
		UPDATE runs SET text = '', verdict = '', acting = CASE WHEN acting = '' THEN '' ELSE '-' END, acted = CASE WHEN acted = '' THEN '' ELSE '-' END
		WHERE id BETWEEN $1 AND $2 AND room = $3 AND status <> '' AND text || verdict || acting || acted <> ''
			AND NOT EXISTS (SELECT 1 FROM memories m WHERE m.room = runs.room AND m.turn = runs.turn AND m.role IN ('input', 'said'))
			AND NOT EXISTS (SELECT 1 FROM questions WHERE run = runs.id AND carrier <> '')`, first, last, room)
	return err
}

// eraseRoom is erase for all runs of room.
func eraseRoom(ctx context.Context, q querier, room chat.RoomID) error {
	return erase(ctx, q, room, chat.RunID(room+"#"), chat.RunID(room+"$")) // a run id is room#turn, and $ follows # in ASCII, see record.RunID
}

// eraseEnded erases a run that has just ended, and the one whose question it carried out, which had to wait for it.
func eraseEnded(ctx context.Context, q querier, run chat.RunID) error {
	var room chat.RoomID
	if err := q.QueryRow(ctx, `SELECT room FROM runs WHERE id = $1`, run).Scan(&room); err != nil {
		return err
	}
	asked, err := record.ScanQuestion(q.QueryRow(ctx, selectQuestions+`WHERE carrier = $1 AND carrier <> ''`, run))
	if err == nil {
		err = erase(ctx, q, room, asked.Run, asked.Run)
	}
	if record.UnlessMissing(err) != nil {
		return err
	}
	return erase(ctx, q, room, run, run)
}
