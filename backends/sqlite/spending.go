package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"parley/core"
)

// errOver takes a charge back.
var errOver = errors.New("over the limit")

// Spend implements [core.Ledger].
func (s *Store) Spend(ctx context.Context, day string, charges ...core.Charge) (over string, err error) {
	err = s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		for _, c := range charges {
			if err := spend(ctx, tx, day, c); errors.Is(err, errOver) {
				over = c.Bucket
				return err
			} else if err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, errOver) {
		return over, nil
	}
	return "", wrap(err, "charging what is spent")
}

// spend adds one charge, and forgets days that nobody settles any more.
func spend(ctx context.Context, tx *sql.Tx, day string, c core.Charge) error {
	if err := checkText(c.Bucket); err != nil {
		return err
	}
	var sum core.Cost
	err := tx.QueryRowContext(ctx, `
		INSERT INTO spending (day, bucket, messages, tokens) VALUES (?, ?, ?, ?)
		ON CONFLICT (day, bucket) DO UPDATE SET messages = messages + excluded.messages, tokens = tokens + excluded.tokens
		RETURNING messages, tokens`, day, c.Bucket, c.Messages, c.Tokens).Scan(&sum.Messages, &sum.Tokens)
	if err != nil {
		return err
	}
	if c.Exceeds(sum) {
		return errOver
	}
	_, err = tx.ExecContext(ctx, `DELETE FROM spending WHERE day < date(?, '-1 day')`, day)
	return err
}

// Spent implements [core.Ledger].
func (s *Store) Spent(ctx context.Context, day, bucket string) (c core.Cost, err error) {
	err = s.read(func(db *sql.DB) error {
		return found(db.QueryRowContext(ctx, `SELECT messages, tokens FROM spending WHERE day = ? AND bucket = ?`, day, bucket).
			Scan(&c.Messages, &c.Tokens))
	})
	if errors.Is(err, core.ErrNotFound) {
		return core.Cost{}, nil
	}
	return c, wrap(err, "reading what was spent")
}

// Warn implements [core.Ledger].
func (s *Store) Warn(ctx context.Context, day, bucket string) (first bool, err error) {
	err = s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `
			INSERT INTO spending (day, bucket, warned) VALUES (?, ?, 1)
			ON CONFLICT (day, bucket) DO UPDATE SET warned = warned + 1
			RETURNING warned = 1`, day, bucket).Scan(&first)
	})
	return first, wrap(err, "noting a warning")
}
