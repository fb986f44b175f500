package postgres

import (
	"context"

	"parley/backends/record"
	"parley/core/chat"
)

// erase takes the text from the runs of room whose ids are from first to last, and their questions, if they have ended and nothing of
// their turn is remembered. What an open run still has to carry out stays until that ends.
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
	return erase(ctx, q, room, chat.RunID(room+"#"), chat.RunID(room+"$")) // see record.RunID
}

// eraseEnded is erase for a run that has just ended, and for the one whose question it carried out.
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
