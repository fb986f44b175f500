package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"parley/backends/record"
	"parley/core/chat"
	"parley/core/quota"
)

// errOver takes a charge back.
var errOver = errors.New("over the limit")

// Spend implements [quota.UsageStore].
func (s *usage) Spend(ctx context.Context, day string, charges ...quota.Charge) (over string, err error) {
	err = s.write(ctx, func(ctx context.Context, tx *sql.Conn) (err error) {
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
	err = s.write(ctx, func(ctx context.Context, tx *sql.Conn) error {
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
	err = s.write(ctx, func(ctx context.Context, tx *sql.Conn) (err error) {
		tokens, over, err = fitting(ctx, tx, day, most, charges)
		if err != nil {
			return err
		}
		if tokens < least {
			return errOver
		}
		reserved := slices.Clone(charges) // the caller keeps its own, and this can run again
		for i := range reserved {
			reserved[i].Cost, reserved[i].Max = quota.Cost{Tokens: tokens}, quota.Cost{}
		}
		_, err = spendAll(ctx, tx, day, reserved)
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
func fitting(ctx context.Context, tx *sql.Conn, day string, most int, charges []quota.Charge) (tokens int, narrowest string, err error) {
	tokens = most
	spent, err := spentOf(ctx, tx, day, charges)
	for _, c := range charges {
		if left := c.Max.Tokens - spent[c.Bucket]; c.Max.Tokens > 0 && left < tokens {
			tokens, narrowest = left, c.Bucket
		}
	}
	return tokens, narrowest, err
}

// spentOf returns the tokens of each bucket that has a limit.
func spentOf(ctx context.Context, tx *sql.Conn, day string, charges []quota.Charge) (map[string]int, error) {
	args := []any{day}
	for _, c := range charges {
		if c.Max.Tokens > 0 {
			args = append(args, c.Bucket)
		}
	}
	if len(args) == 1 {
		return nil, nil
	}
	rows, err := tx.QueryContext(ctx, `SELECT bucket, tokens FROM spending WHERE day = ? AND bucket IN (`+repeated("?", len(args)-1)+`)`, args...)
	if err != nil {
		return nil, err
	}
	spent := make(map[string]int, len(charges))
	_, err = collect(rows, func(r record.Row) (tokens int, err error) {
		var bucket string
		err = r.Scan(&bucket, &tokens)
		spent[bucket] = tokens
		return tokens, err
	})
	return spent, err
}

// repeated is a list of n times what.
func repeated(what string, n int) string { return strings.Repeat(what+", ", n-1) + what }

// spendAll adds all charges in one statement, or returns [errOver] and the bucket of the first that exceeds its limit. The first charge
// of a bucket and day deletes days that no reservation can settle any more.
func spendAll(ctx context.Context, tx *sql.Conn, day string, charges []quota.Charge) (over string, err error) {
	if len(charges) == 0 {
		return "", nil
	}
	args := make([]any, 0, 4*len(charges))
	for _, c := range charges {
		if err := record.CheckText(c.Bucket); err != nil {
			return c.Bucket, err
		}
		args = append(args, day, c.Bucket, c.Messages, c.Tokens)
	}
	rows, err := tx.QueryContext(ctx, `
		INSERT INTO spending (day, bucket, messages, tokens) VALUES `+repeated("(?, ?, ?, ?)", len(charges))+`
		ON CONFLICT (day, bucket) DO UPDATE SET messages = messages + excluded.messages, tokens = tokens + excluded.tokens
		RETURNING bucket, messages, tokens`, args...)
	if err != nil {
		return "", err
	}
	sums := make(map[string]quota.Cost, len(charges))
	_, err = collect(rows, func(r record.Row) (sum quota.Cost, err error) {
		var bucket string
		err = r.Scan(&bucket, &sum.Messages, &sum.Tokens)
		sums[bucket] = sum
		return sum, err
	})
	if err != nil {
		return "", err
	}
	fresh := false
	for _, c := range charges {
		if c.Exceeds(sums[c.Bucket]) {
			return c.Bucket, errOver
		}
		fresh = fresh || sums[c.Bucket] == c.Cost
	}
	if fresh {
		_, err = tx.ExecContext(ctx, `DELETE FROM spending WHERE day < date(?, '-1 day')`, day)
	}
	return "", err
}

// Spent implements [quota.UsageStore].
func (s *usage) Spent(ctx context.Context, day, bucket string) (c quota.Cost, err error) {
	err = s.read(ctx, func(db reader) error {
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
	err = s.write(ctx, func(ctx context.Context, tx *sql.Conn) error {
		return tx.QueryRowContext(ctx, `
			INSERT INTO spending (day, bucket, warned) VALUES (?, ?, 1)
			ON CONFLICT (day, bucket) DO UPDATE SET warned = warned + 1
			RETURNING warned = 1`, day, bucket).Scan(&first)
	})
	return first, wrap(err, "noting a warning")
}
