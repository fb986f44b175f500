package sqlstore

import (
	"context"
	"errors"

	"parley/backends/record"
	"parley/core/answer"
	"parley/core/chat"
)

// Ask implements [storage.Questions].
func (s *questions) Ask(ctx context.Context, q chat.Question) error {
	err := record.CheckQuestion(q)
	if err == nil {
		err = s.Write(ctx, s.room(q.Room), func(ctx context.Context, tx Conn) error { return s.ask(ctx, tx, q) })
	}
	return s.wrap(err, "asking the question of %q", q.Run)
}

// ask stores q, with its end by the clock of the database. A run has at most one question that is not answered, which
// the unique partial index questions_unanswered says; a further one takes its place.
func (s *Shared) ask(ctx context.Context, tx Conn, q chat.Question) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO questions (id, run, room, expires, question) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (run) WHERE carrier = '' DO UPDATE SET
			id = excluded.id, room = excluded.room, expires = excluded.expires, question = excluded.question`,
		q.ID, q.Run, q.Room, s.Stored(q.Expires), record.JSON(q))
	return err
}

const selectQuestions = `SELECT question, expires FROM questions `

// scanQuestion reads a question and converts its end to the clock of the process.
func (s *Shared) scanQuestion(r record.Row) (chat.Question, error) {
	q, err := record.ScanQuestion(r)
	q.Expires = s.Local(q.Expires)
	return q, err
}

// Question implements [storage.Questions].
func (s *questions) Question(ctx context.Context, id string) (q chat.Question, err error) {
	q, err = one(ctx, s.Shared, s.scanQuestion, selectQuestions+`WHERE id = $1`, id)
	return q, s.wrap(err, "reading the question %q", id)
}

// QuestionOf implements [storage.Questions].
func (s *questions) QuestionOf(ctx context.Context, run chat.RunID) (q chat.Question, err error) {
	q, err = one(ctx, s.Shared, s.scanQuestion, selectQuestions+`WHERE run = $1 OR carrier = $1 AND carrier <> '' ORDER BY `+s.Seq+` DESC LIMIT 1`, run)
	return q, s.wrap(err, "reading the question of %q", run)
}

// OpenQuestions implements [storage.Questions].
func (s *questions) OpenQuestions(ctx context.Context, room chat.RoomID) (open []chat.Question, err error) {
	err = s.Read(ctx, func(ctx context.Context, c Conn) error {
		open, err = s.ReadOpenQuestions(ctx, c, room)
		return err
	})
	return open, s.wrap(err, "reading the open questions in %q", room)
}

// ReadOpenQuestions is [storage.Questions.OpenQuestions] over a connection.
func (s *Shared) ReadOpenQuestions(ctx context.Context, c Conn, room chat.RoomID) ([]chat.Question, error) {
	rows, err := c.Query(ctx, selectQuestions+`WHERE room = $1 AND carrier = '' AND expires > $2 ORDER BY `+s.Seq, room, s.Present())
	return Collect(rows, err, s.scanQuestion)
}

// Withdraw implements [storage.Questions].
func (s *questions) Withdraw(ctx context.Context, room chat.RoomID, run chat.RunID) error {
	err := s.Write(ctx, s.room(room), func(ctx context.Context, tx Conn) error { return withdraw(ctx, tx, room, run) })
	return s.wrap(err, "withdrawing the open questions in %q", room)
}

// withdraw closes the open questions of a room, or of one run. The rows stay, with the time 0: their options may still
// be shown and have to be removed, see [storage.Questions.Retire].
func withdraw(ctx context.Context, tx Conn, room chat.RoomID, run chat.RunID) error {
	_, err := tx.Exec(ctx, `
		UPDATE questions SET expires = 0 WHERE room = $1 AND carrier = '' AND expires > 0 AND (CAST($2 AS text) = '' OR run = $2)`, room, run)
	return err
}

// Choose implements [storage.Questions].
func (s *questions) Choose(ctx context.Context, id string, option int, in chat.Memory, payer chat.EntityID) (chat.Accepted, error) {
	var acc chat.Accepted
	err := errors.Join(record.CheckMemory(in), record.CheckText(string(payer)))
	if err == nil {
		err = s.Write(ctx, s.room(in.Room), func(ctx context.Context, tx Conn) (err error) {
			acc, err = s.choose(ctx, tx, id, option, in, payer)
			return err
		})
	}
	if err != nil {
		return chat.Accepted{}, s.wrap(err, "choosing for the question %q", id)
	}
	return acc, nil
}

// choose records the choice, opens the run that carries it out, and stores in as its input. The question must be open,
// and of the room of the press: a forged or replayed press of another room finds nothing.
func (s *questions) choose(ctx context.Context, tx Conn, id string, option int, in chat.Memory, payer chat.EntityID) (chat.Accepted, error) {
	if acc, err := findAccepted(ctx, tx, in); !errors.Is(err, chat.ErrNotFound) {
		return acc, err
	}
	q, err := s.scanQuestion(tx.QueryRow(ctx, selectQuestions+`WHERE id = $1`, id))
	switch {
	case errors.Is(err, chat.ErrNotFound), err == nil && !q.Open(s.Now()), err == nil && q.Room != in.Room:
		return chat.Accepted{}, answer.ErrLost
	case err != nil:
		return chat.Accepted{}, err
	}
	if option == len(q.Options) && q.Other != "" {
		q.Options = append(q.Options, in.Text)
	}
	q.Files = append(q.Files, in.Files...)
	q.Choice, q.By, q.Name, q.BilledTo = option, in.Author, in.Name, payer
	acc, err := s.carryOn(ctx, tx, q)
	if err != nil {
		return chat.Accepted{}, err
	}
	acc.Memory = in.ID
	return acc, s.remember(ctx, tx, in, acc.Response, record.Input)
}

// Retire implements [storage.Questions].
func (s *questions) Retire(ctx context.Context, id string) (acc chat.Accepted, err error) {
	asked, err := s.Question(ctx, id) // for its room, whose lock comes first and which never changes
	if errors.Is(err, chat.ErrNotFound) {
		err = answer.ErrLost
	}
	if err == nil {
		err = s.Write(ctx, s.room(asked.Room), func(ctx context.Context, tx Conn) error {
			q, err := s.scanQuestion(tx.QueryRow(ctx, selectQuestions+`WHERE id = $1 AND carrier = ''`, id))
			if errors.Is(err, chat.ErrNotFound) {
				return answer.ErrLost
			} else if err != nil {
				return err
			}
			acc, err = s.carryOn(ctx, tx, q)
			return err
		})
	}
	if err != nil {
		return chat.Accepted{}, s.wrap(err, "retiring the question %q", id)
	}
	return acc, nil
}

// carryOn opens the run that continues after question q, under the room's next turn. It takes over the messages of the
// run that asked, if that is done with them (it has ended or has a verdict); otherwise both would edit the same
// messages. Storing the new run's id in the question closes it, so it can be answered once only. If the asking run has
// expired, the error is [answer.ErrLost].
func (s *questions) carryOn(ctx context.Context, tx Conn, q chat.Question) (acc chat.Accepted, err error) {
	if acc.Response, err = nextTurn(ctx, tx, q.Room); err != nil {
		return acc, err
	}
	acc.Run = record.RunID(q.Room, acc.Response)
	asker, err := s.findRun(ctx, tx, q.Run)
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
	now := s.Present()
	_, err = tx.Exec(ctx, `
		INSERT INTO runs (id, room, turn, kind, address, author, opened, ready, duty, shown)
		SELECT $1, room, CAST($2 AS bigint), kind, $3, $4, CAST($5 AS bigint), CAST($6 AS bigint), $7, CASE WHEN status = '' AND verdict = '' THEN '' ELSE shown END FROM runs WHERE id = $8`,
		acc.Run, acc.Response, record.JSON(address), q.By, now, now, chat.RunChoiceResult, q.Run)
	if err != nil {
		return acc, err
	}
	q.ResultRun = acc.Run
	_, err = tx.Exec(ctx, `UPDATE questions SET carrier = $1, question = $2 WHERE id = $3`, q.ResultRun, record.JSON(q), q.ID)
	return acc, err
}
