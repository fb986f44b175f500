package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"parley/backends/record"
	"parley/core/chat"
	"parley/core/quota"
)

// errOver takes a charge back.
var errOver = errors.New("over the limit")

// Spend implements [quota.UsageStore].
func (s *usage) Spend(ctx context.Context, day string, charges ...quota.Charge) (over string, err error) {
	err = s.write(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		over, err = spendAll(ctx, tx, day, charges)
		return err
	})
	if errors.Is(err, errOver) {
		return over, nil
	}
	return "", wrap(err, "charging what is spent")
}

// Count implements [quota.UsageStore].
func (s *usage) Count(ctx context.Context, day string, run chat.RunID, charges ...quota.Charge) (over string, err error) {
	err = s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		var known bool
		err := tx.QueryRowContext(ctx, `UPDATE runs SET counted = 1 WHERE id = ? AND NOT counted RETURNING TRUE`, run).Scan(&known)
		if errors.Is(err, sql.ErrNoRows) { // it was counted before, or there is none
			return record.Found(tx.QueryRowContext(ctx, `SELECT TRUE FROM runs WHERE id = ?`, run).Scan(&known))
		}
		if err == nil {
			over, err = spendAll(ctx, tx, day, charges)
		}
		return err
	})
	if errors.Is(err, errOver) {
		return over, nil
	}
	return "", wrap(err, "counting the run %q", run)
}

// Reserve implements [quota.UsageStore].
func (s *usage) Reserve(ctx context.Context, day string, least, most int, charges ...quota.Charge) (tokens int, over string, err error) {
	err = s.write(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		tokens, over, err = fitting(ctx, tx, day, most, charges)
		if err != nil {
			return err
		}
		if tokens < least {
			return errOver
		}
		charges = slices.Clone(charges) // the caller keeps its own
		for i := range charges {
			charges[i].Cost, charges[i].Max = quota.Cost{Tokens: tokens}, quota.Cost{}
		}
		_, err = spendAll(ctx, tx, day, charges)
		return err
	})
	switch {
	case errors.Is(err, errOver):
		return 0, over, nil
	case err != nil:
		return 0, "", wrap(err, "reserving tokens")
	}
	return tokens, "", nil
}

// fitting returns how many tokens, up to most, fit into all buckets, and the bucket that has room for the fewest.
func fitting(ctx context.Context, tx *sql.Tx, day string, most int, charges []quota.Charge) (tokens int, narrowest string, err error) {
	tokens = most
	for _, c := range charges {
		if c.Max.Tokens == 0 {
			continue
		}
		var spent int
		err := tx.QueryRowContext(ctx, `SELECT tokens FROM spending WHERE day = ? AND bucket = ?`, day, c.Bucket).Scan(&spent)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return 0, "", err
		}
		if left := c.Max.Tokens - spent; left < tokens {
			tokens, narrowest = left, c.Bucket
		}
	}
	return tokens, narrowest, nil
}

// spendAll adds all charges, or returns [errOver] and the bucket of the first that exceeds its limit.
func spendAll(ctx context.Context, tx *sql.Tx, day string, charges []quota.Charge) (over string, err error) {
	for _, c := range charges {
		if err := spend(ctx, tx, day, c); err != nil {
			return c.Bucket, err
		}
	}
	return "", nil
}

// spend adds one charge. The first one of a bucket and day deletes days that no reservation can settle any more.
func spend(ctx context.Context, tx *sql.Tx, day string, c quota.Charge) error {
	if err := record.CheckText(c.Bucket); err != nil {
		return err
	}
	var sum quota.Cost
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
	if sum != c.Cost {
		return nil
	}
	_, err = tx.ExecContext(ctx, `DELETE FROM spending WHERE day < date(?, '-1 day')`, day)
	return err
}

// Spent implements [quota.UsageStore].
func (s *usage) Spent(ctx context.Context, day, bucket string) (c quota.Cost, err error) {
	err = s.read(func(db *sql.DB) error {
		return record.Found(db.QueryRowContext(ctx, `SELECT messages, tokens FROM spending WHERE day = ? AND bucket = ?`, day, bucket).
			Scan(&c.Messages, &c.Tokens))
	})
	if errors.Is(err, chat.ErrNotFound) {
		return quota.Cost{}, nil
	}
	return c, wrap(err, "reading what was spent")
}

// Warn implements [quota.UsageStore].
func (s *usage) Warn(ctx context.Context, day, bucket string) (first bool, err error) {
	err = s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `
			INSERT INTO spending (day, bucket, warned) VALUES (?, ?, 1)
			ON CONFLICT (day, bucket) DO UPDATE SET warned = warned + 1
			RETURNING warned = 1`, day, bucket).Scan(&first)
	})
	return first, wrap(err, "noting a warning")
}
