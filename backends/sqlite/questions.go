package sqlite

import (
	"context"
	"errors"
	"time"

	"parley/backends/record"
	"parley/core/answer"
	"parley/core/chat"
)

// Ask implements [storage.Questions].
func (s *questions) Ask(ctx context.Context, q chat.Question) error {
	err := record.CheckQuestion(q)
	if err == nil {
		err = s.write(ctx, func(ctx context.Context, tx *conn) error { return ask(ctx, tx, q) })
	}
	return wrap(err, "asking the question of %q", q.Run)
}

// ask stores q. A run has at most one question that is not answered, which the unique partial index
// questions_unanswered says; a further one takes its place.
func ask(ctx context.Context, tx *conn, q chat.Question) error {
	_, err := tx.ExecContext(ctx, `
		INSERT INTO questions (id, run, room, expires, question) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (run) WHERE carrier = '' DO UPDATE SET
			id = excluded.id, room = excluded.room, expires = excluded.expires, question = excluded.question`,
		q.ID, q.Run, q.Room, record.Nanos(q.Expires), record.JSON(q))
	return err
}

const selectQuestions = `SELECT question, expires FROM questions `

// Question implements [storage.Questions].
func (s *questions) Question(ctx context.Context, id string) (q chat.Question, err error) {
	err = s.read(ctx, func(db *conn) (err error) {
		q, err = record.ScanQuestion(db.QueryRowContext(ctx, selectQuestions+`WHERE id = ?`, id))
		return err
	})
	return q, wrap(err, "reading the question %q", id)
}

// QuestionOf implements [storage.Questions].
func (s *questions) QuestionOf(ctx context.Context, run chat.RunID) (q chat.Question, err error) {
	err = s.read(ctx, func(db *conn) (err error) {
		q, err = record.ScanQuestion(db.QueryRowContext(ctx, selectQuestions+`WHERE run = ?1 OR carrier = ?1 AND carrier <> '' ORDER BY rowid DESC LIMIT 1`, run))
		return err
	})
	return q, wrap(err, "reading the question of %q", run)
}

// OpenQuestions implements [storage.Questions].
func (s *questions) OpenQuestions(ctx context.Context, room chat.RoomID) ([]chat.Question, error) {
	all, err := cached(ctx, s.database, subject{cachedQuestions, string(room), ""}, nil, func(ctx context.Context, db *conn) (openQuestions, error) {
		rows, err := db.QueryContext(ctx, selectQuestions+`WHERE room = ? AND carrier = '' AND expires > ? ORDER BY rowid`,
			room, record.Nanos(time.Now()))
		if err != nil {
			return nil, err
		}
		return collect(rows, record.ScanQuestion)
	})
	return all.open(), wrap(err, "reading the open questions in %q", room)
}

// Withdraw implements [storage.Questions].
func (s *questions) Withdraw(ctx context.Context, room chat.RoomID, run chat.RunID) error {
	err := s.write(ctx, func(ctx context.Context, tx *conn) error { return withdraw(ctx, tx, room, run) })
	return wrap(err, "withdrawing the open questions in %q", room)
}

// withdraw closes the open questions of a room, or of one run. The rows stay, with the time 0: their options may still
// be shown and have to be removed, see [storage.Questions.Retire].
func withdraw(ctx context.Context, tx *conn, room chat.RoomID, run chat.RunID) error {
	_, err := tx.ExecContext(ctx, `
		UPDATE questions SET expires = 0 WHERE room = ?1 AND carrier = '' AND expires > 0 AND (?2 = '' OR run = ?2)`, room, run)
	return err
}

// Choose implements [storage.Questions].
func (s *questions) Choose(ctx context.Context, id string, option int, in chat.Memory, payer chat.EntityID) (chat.Accepted, error) {
	var acc chat.Accepted
	err := errors.Join(record.CheckMemory(in), record.CheckText(string(payer)))
	if err == nil {
		err = s.write(ctx, func(ctx context.Context, tx *conn) error {
			acc, err = choose(ctx, tx, id, option, in, payer)
			return err
		})
	}
	if err != nil {
		return chat.Accepted{}, wrap(err, "choosing for the question %q", id)
	}
	return acc, nil
}

// choose records the choice, opens the run that carries it out, and stores in as its input. The question must be open,
// and of the room of the press: a forged or replayed press of another room finds nothing.
func choose(ctx context.Context, tx *conn, id string, option int, in chat.Memory, payer chat.EntityID) (chat.Accepted, error) {
	if acc, err := findAccepted(ctx, tx, in); !errors.Is(err, chat.ErrNotFound) {
		return acc, err
	}
	q, err := record.ScanQuestion(tx.QueryRowContext(ctx, selectQuestions+`WHERE id = ?`, id))
	switch {
	case errors.Is(err, chat.ErrNotFound), err == nil && !q.Open(time.Now()), err == nil && q.Room != in.Room:
		return chat.Accepted{}, answer.ErrLost
	case err != nil:
		return chat.Accepted{}, err
	}
	q.Choice, q.By, q.Name, q.BilledTo = option, in.Author, in.Name, payer
	acc, err := carryOn(ctx, tx, q)
	if err != nil {
		return chat.Accepted{}, err
	}
	acc.Memory = in.ID
	return acc, remember(ctx, tx, in, acc.Response, record.Input)
}

// Retire implements [storage.Questions].
func (s *questions) Retire(ctx context.Context, id string) (acc chat.Accepted, err error) {
	err = s.write(ctx, func(ctx context.Context, tx *conn) error {
		q, err := record.ScanQuestion(tx.QueryRowContext(ctx, selectQuestions+`WHERE id = ? AND carrier = ''`, id))
		if errors.Is(err, chat.ErrNotFound) {
			return answer.ErrLost
		} else if err != nil {
			return err
		}
		acc, err = carryOn(ctx, tx, q)
		return err
	})
	if err != nil {
		return chat.Accepted{}, wrap(err, "retiring the question %q", id)
	}
	return acc, nil
}

// carryOn opens the run that continues after question q, under the room's next turn. It takes over the messages of the
// run that asked, if that is done with them (it has ended or has a verdict); otherwise both would edit the same
// messages. Storing the new run's id in the question closes it, so it can be answered once only. If the asking run has
// expired, the error is [answer.ErrLost].
func carryOn(ctx context.Context, tx *conn, q chat.Question) (acc chat.Accepted, err error) {
	if acc.Response, err = nextTurn(ctx, tx, q.Room); err != nil {
		return acc, err
	}
	acc.Run = record.RunID(q.Room, acc.Response)
	asker, err := findRun(ctx, tx, q.Run)
	if errors.Is(err, chat.ErrNotFound) {
		err = answer.ErrLost // the asking run has expired: there is no conversation to continue
	}
	if err != nil {
		return chat.Accepted{}, err
	}
	address := asker.Address
	if q.By != "" {
		address = address.For(q.By, q.BilledTo)
	}
	now := record.Nanos(time.Now())
	_, err = tx.ExecContext(ctx, `
		INSERT INTO runs (id, room, turn, kind, address, author, opened, ready, duty, shown)
		SELECT ?, room, ?, kind, ?, ?, ?, ?, ?, CASE WHEN status = '' AND verdict = '' THEN '' ELSE shown END FROM runs WHERE id = ?`,
		acc.Run, acc.Response, record.JSON(address), q.By, now, now, chat.RunChoiceResult, q.Run)
	if err != nil {
		return acc, err
	}
	q.ResultRun = acc.Run
	_, err = tx.ExecContext(ctx, `UPDATE questions SET carrier = ?, question = ? WHERE id = ?`, q.ResultRun, record.JSON(q), q.ID)
	return acc, err
}
