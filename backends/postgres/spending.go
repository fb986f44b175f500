package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"parley/backends/record"
	"parley/core/chat"
	"parley/core/quota"
)

// errOver takes a charge back.
var errOver = errors.New("over the limit")

// buckets is what charges lock, in one order: they are charged in any.
func buckets(charges []quota.Charge) scope {
	var names []string
	for _, c := range charges {
		names = append(names, c.Bucket)
	}
	return scopeOf("bucket", names...)
}

// Spend implements [quota.UsageStore].
func (s *usage) Spend(ctx context.Context, day string, charges ...quota.Charge) (over string, err error) {
	err = s.write(ctx, buckets(charges), func(ctx context.Context, q querier) (err error) {
		over, err = spendAll(ctx, q, day, charges)
		return err
	})
	if errors.Is(err, errOver) {
		return over, nil
	}
	return "", wrap(err, "charging what is spent")
}

// Count implements [quota.UsageStore].
func (s *usage) Count(ctx context.Context, day string, run chat.RunID, charges ...quota.Charge) (over string, err error) {
	err = s.write(ctx, buckets(charges), func(ctx context.Context, q querier) error {
		var counted bool
		err := q.QueryRow(ctx, `SELECT counted FROM runs WHERE id = $1 FOR UPDATE`, run).Scan(&counted)
		if err != nil || counted {
			return record.Found(err)
		}
		if over, err = spendAll(ctx, q, day, charges); err != nil {
			return err
		}
		_, err = q.Exec(ctx, `UPDATE runs SET counted = true WHERE id = $1`, run)
		return err
	})
	if errors.Is(err, errOver) {
		return over, nil
	}
	return "", wrap(err, "counting the run %q", run)
}

// Reserve implements [quota.UsageStore].
func (s *usage) Reserve(ctx context.Context, day string, least, most int, charges ...quota.Charge) (tokens int, over string, err error) {
	err = s.write(ctx, buckets(charges), func(ctx context.Context, q querier) (err error) {
		tokens, over, err = fitting(ctx, q, day, most, charges)
		if err != nil {
			return err
		}
		if tokens < least {
			return errOver
		}
		reserved := slices.Clone(charges) // the caller keeps its own
		for i := range reserved {
			reserved[i].Cost, reserved[i].Max = quota.Cost{Tokens: tokens}, quota.Cost{}
		}
		_, err = spendAll(ctx, q, day, reserved)
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
func fitting(ctx context.Context, q querier, day string, most int, charges []quota.Charge) (tokens int, narrowest string, err error) {
	tokens = most
	for _, c := range charges {
		if c.Max.Tokens == 0 {
			continue
		}
		var spent int
		err := q.QueryRow(ctx, `SELECT tokens FROM spending WHERE day = $1 AND bucket = $2`, day, c.Bucket).Scan(&spent)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return 0, "", err
		}
		if left := c.Max.Tokens - spent; left < tokens {
			tokens, narrowest = left, c.Bucket
		}
	}
	return tokens, narrowest, nil
}

// spendAll adds all charges, or returns [errOver] and the bucket of the first that exceeds its limit.
func spendAll(ctx context.Context, q querier, day string, charges []quota.Charge) (over string, err error) {
	for _, c := range charges {
		if err := spend(ctx, q, day, c); err != nil {
			return c.Bucket, err
		}
	}
	return "", nil
}

// spend adds one charge, and deletes days that no reservation can settle any more.
func spend(ctx context.Context, q querier, day string, c quota.Charge) error {
	if err := record.CheckText(c.Bucket); err != nil {
		return err
	}
	var sum quota.Cost
	err := q.QueryRow(ctx, `
		INSERT INTO spending (day, bucket, messages, tokens) VALUES ($1, $2, $3, $4)
		ON CONFLICT (day, bucket) DO UPDATE SET messages = spending.messages + excluded.messages, tokens = spending.tokens + excluded.tokens
		RETURNING messages, tokens`, day, c.Bucket, c.Messages, c.Tokens).Scan(&sum.Messages, &sum.Tokens)
	if err != nil {
		return err
	}
	if c.Exceeds(sum) {
		return errOver
	}
	of, err := time.Parse(time.DateOnly, day)
	if err == nil {
		_, err = q.Exec(ctx, `DELETE FROM spending WHERE day < $1`, of.AddDate(0, 0, -1).Format(time.DateOnly))
	}
	return err
}

// Spent implements [quota.UsageStore].
func (s *usage) Spent(ctx context.Context, day, bucket string) (c quota.Cost, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		return record.Found(q.QueryRow(ctx, `SELECT messages, tokens FROM spending WHERE day = $1 AND bucket = $2`, day, bucket).
			Scan(&c.Messages, &c.Tokens))
	})
	if errors.Is(err, chat.ErrNotFound) {
		return quota.Cost{}, nil
	}
	return c, wrap(err, "reading what was spent")
}

// Warn implements [quota.UsageStore].
func (s *usage) Warn(ctx context.Context, day, bucket string) (first bool, err error) {
	err = s.write(ctx, nil, func(ctx context.Context, q querier) error {
		return q.QueryRow(ctx, `
			INSERT INTO spending (day, bucket, warned) VALUES ($1, $2, 1)
			ON CONFLICT (day, bucket) DO UPDATE SET warned = spending.warned + 1
			RETURNING warned = 1`, day, bucket).Scan(&first)
	})
	return first, wrap(err, "noting a warning")
}
