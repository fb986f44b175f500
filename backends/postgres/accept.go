package postgres

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"parley/backends/record"
	"parley/core/chat"
)

// Accept implements [storage.Inbox]. A message that is only remembered takes a turn number of its own, so that the
// prompts of earlier turns do not hold it; one that joins a run shares the run's.
func (s *journal) Accept(ctx context.Context, in chat.Message, j chat.JoinRule) (chat.Accepted, error) {
	var acc chat.Accepted
	err := record.CheckMessage(in)
	if err == nil {
		err = s.write(ctx, roomScope(in.Room), func(ctx context.Context, q querier) error {
			if acc, err = known(ctx, q, in.Memory); !errors.Is(err, chat.ErrNotFound) {
				return err
			}
			acc, err = s.accept(ctx, q, in, j)
			return err
		})
	}
	if err != nil {
		return chat.Accepted{}, wrap(err, "accepting %q", in.ID)
	}
	return acc, nil
}

// Known implements [storage.Inbox].
func (s *journal) Known(ctx context.Context, in chat.Memory) (acc chat.Accepted, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		acc, err = known(ctx, q, in)
		return err
	})
	if err != nil {
		return chat.Accepted{}, wrap(err, "looking for %q", in.ID)
	}
	return acc, nil
}

// known looks for the first arrival of in.
func known(ctx context.Context, q querier, in chat.Memory) (chat.Accepted, error) {
	var room chat.RoomID
	var role, text string
	acc := chat.Accepted{Memory: in.ID, Duplicate: true}
	err := q.QueryRow(ctx, `SELECT room, turn, role, text FROM memories WHERE id = $1`, in.ID).
		Scan(&room, &acc.Response, &role, &text)
	if errors.Is(err, pgx.ErrNoRows) {
		return marked(ctx, q, in)
	} else if err != nil {
		return acc, err
	}
	acc.Altered = text != in.Text
	if role != record.Input {
		return acc, nil
	}
	acc.Run = record.RunID(room, acc.Response)
	err = q.QueryRow(ctx, `SELECT duty = $1 FROM runs WHERE id = $2`, chat.RunChoiceResult, acc.Run).Scan(&acc.Chosen)
	if errors.Is(err, pgx.ErrNoRows) {
		acc.Run, err = "", nil // it has expired
	}
	return acc, err
}

func (s *journal) accept(ctx context.Context, q querier, in chat.Message, j chat.JoinRule) (chat.Accepted, error) {
	acc := chat.Accepted{Memory: in.ID}
	if err := saveRoom(ctx, q, in.Here()); err != nil {
		return acc, err
	}
	if j.NoRun {
		return hear(ctx, q, in)
	}
	var err error
	acc.Response, err = join(ctx, q, in, j, s.clock.nanos())
	if errors.Is(err, chat.ErrNotFound) {
		if j.JoinOnly {
			return hear(ctx, q, in)
		}
		if err = restrain(ctx, q, in.Room, &j); err == nil && j.NoRun {
			return hear(ctx, q, in)
		}
		if err == nil {
			acc.Response, err = openRun(ctx, q, in, j, s.clock.nanos())
		}
	}
	if err != nil {
		return acc, err
	}
	acc.Run = record.RunID(in.Room, acc.Response)
	if j.Ask != nil {
		asked := *j.Ask
		asked.Run, asked.Room = acc.Run, in.Room
		if err := ask(ctx, q, asked, s.clock.stored(asked.Expires)); err != nil {
			return acc, err
		}
	}
	return acc, remember(ctx, q, in.Memory, acc.Response, record.Input)
}

// hear stores a message that is only remembered.
func hear(ctx context.Context, q querier, in chat.Message) (chat.Accepted, error) {
	turn, err := nextTurn(ctx, q, in.Room)
	if err == nil {
		err = remember(ctx, q, in.Memory, turn, record.Heard)
	}
	return chat.Accepted{Memory: in.ID, Response: turn}, err
}

// restrain makes of j what is left of it when enough runs wait.
func restrain(ctx context.Context, q querier, room chat.RoomID, j *chat.JoinRule) error {
	if j.Limit == 0 {
		return nil
	}
	var waiting, excuses int
	err := q.QueryRow(ctx, `
		SELECT count(*), count(*) FILTER (WHERE duty = $1) FROM runs WHERE room = $2 AND status = '' AND epoch = 0`,
		chat.RunOverflow, room).Scan(&waiting, &excuses)
	if waiting >= j.Limit {
		j.NoRun, j.Kind = j.Kind != chat.RunReply || excuses > 0, chat.RunOverflow
	}
	return err
}

// join adds in to the newest run that waits for it, or finds none.
func join(ctx context.Context, q querier, in chat.Message, j chat.JoinRule, now int64) (turn chat.ResponseID, err error) {
	if j.Kind.Single() {
		return 0, chat.ErrNotFound
	}
	err = q.QueryRow(ctx, `
		UPDATE runs SET address = $1, author = $2, duty = CASE WHEN $3::text = '' THEN '' ELSE duty END,
			ready = CASE WHEN $4::bigint - opened > $5::bigint THEN opened + $5 ELSE $4 END
		WHERE id = (
			SELECT id FROM runs
			WHERE room = $6 AND status = '' AND epoch = 0 AND duty IN ('', $7) AND ($8::boolean OR ready > $9 AND author = $2)
			ORDER BY turn DESC LIMIT 1)
		RETURNING turn`,
		record.JSON(in.Address), in.Author, j.Kind, now+int64(j.Window), int64(most(j)), in.Room, chat.RunDecide, j.Collect, now).Scan(&turn)
	return turn, record.Found(err)
}

// most is how long a run may wait.
func most(j chat.JoinRule) time.Duration {
	if j.Most == 0 {
		return math.MaxInt64
	}
	return j.Most
}

func openRun(ctx context.Context, q querier, in chat.Message, j chat.JoinRule, now int64) (chat.ResponseID, error) {
	turn, err := nextTurn(ctx, q, in.Room)
	if err != nil {
		return 0, err
	}
	_, err = q.Exec(ctx, `
		INSERT INTO runs (id, room, turn, kind, address, author, opened, ready, duty) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		record.RunID(in.Room, turn), in.Room, turn, in.Place.Kind, record.JSON(in.Address), in.Author, now,
		now+int64(min(j.Window, most(j))), j.Kind)
	return turn, err
}
