package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/backends/record"
	"parley/core/chat"
	"parley/core/quota"
)

// errOver rolls back the transaction of a charge that exceeds a limit. It is not returned to callers: being over a
// limit is a result.
var errOver = errors.New("over the limit")

// Spend implements [quota.UsageStore].
func (s *usage) Spend(ctx context.Context, day string, charges ...quota.Charge) (over string, err error) {
	err = s.write(ctx, func(ctx context.Context, tx *conn) (err error) {
		over, err = s.spendAll(ctx, tx, day, charges)
		return err
	})
	if errors.Is(err, errOver) {
		return over, nil
	}
	return "", wrap(err, "charging what is spent")
}

// Count implements [quota.UsageStore].
func (s *usage) Count(ctx context.Context, day string, run chat.RunID, charges ...quota.Charge) (over string, err error) {
	err = s.write(ctx, func(ctx context.Context, tx *conn) error {
		var known bool
		err := tx.QueryRowContext(ctx, `UPDATE runs SET counted = 1 WHERE id = ? AND NOT counted RETURNING TRUE`, run).Scan(&known)
		// The update counts the run and finds out whether it was counted, in one statement.
		if errors.Is(err, sql.ErrNoRows) { // it was counted before, which charges nothing, or there is no such run
			return record.Found(tx.QueryRowContext(ctx, `SELECT TRUE FROM runs WHERE id = ?`, run).Scan(&known))
		}
		if err == nil {
			over, err = s.spendAll(ctx, tx, day, charges)
		}
		return err
	})
	if errors.Is(err, errOver) {
		return over, nil
	}
	return "", wrap(err, "counting the run %q", run)
}

// Reserve implements [quota.UsageStore]. It adds before it compares, as spendAll does: nearly always everything fits, which takes one
// statement.
func (s *usage) Reserve(ctx context.Context, day string, r quota.Reservation, charges ...quota.Charge) (tokens int, over string, err error) {
	err = s.write(ctx, func(ctx context.Context, tx *conn) error {
		spent, err := spentOf(ctx, tx, day, charges)
		if err != nil {
			return err
		}
		tokens, over = r.Most, ""
		for _, c := range charges { // the bucket that has room for the fewest is the one to report
			if left := c.Within(r, spent[c.Bucket]); left < tokens {
				tokens, over = left, c.Bucket
			}
		}
		if tokens < r.Least {
			return errOver
		}
		return s.addAll(ctx, tx, day, toEach(charges, quota.Cost{Tokens: tokens, USD: r.USD(tokens)}))
	})
	switch {
	case errors.Is(err, errOver):
		return 0, over, nil
	case err != nil:
		return 0, "", wrap(err, "reserving tokens")
	}
	return tokens, "", nil
}

// toEach returns charges of cost for the buckets of charges.
func toEach(charges []quota.Charge, cost quota.Cost) []quota.Charge {
	all := make([]quota.Charge, len(charges))
	for i, c := range charges {
		all[i] = quota.Charge{Bucket: c.Bucket, Cost: cost}
	}
	return all
}

// The totals of a bucket in SQL, see [quota.MostTotal]: SQLite makes a number with decimals of a sum that overflows, and
// then can't store it.
var (
	boundedCosts = totals("VALUE", "messages", "tokens", "usd") // never changed, as the next
	summedTotals = totals("sum(VALUE)", "messages", "tokens", "usd", "input", "cached", "output", "unpriced")
	addedTotals  = totals("NAME = VALUE + excluded.NAME", "messages", "tokens", "usd", "input", "cached", "output", "unpriced")
)

// totals returns a form for each column, separated by commas: VALUE is its value within the bounds, and NAME its name.
func totals(form string, columns ...string) string {
	all := make([]string, len(columns))
	for i, c := range columns {
		all[i] = strings.NewReplacer("VALUE", fmt.Sprintf("max(%d, min(%s, %d))", -quota.MostTotal, c, quota.MostTotal), "NAME", c).Replace(form)
	}
	return strings.Join(all, ", ")
}

// repeated returns what n times, separated by commas.
func repeated(what string, n int) string { return strings.Repeat(what+", ", n-1) + what }

// spendAll adds all charges, or none, and returns [errOver] and the first bucket that would exceed its limit.
func (s *database) spendAll(ctx context.Context, tx *conn, day string, charges []quota.Charge) (over string, err error) {
	if slices.ContainsFunc(charges, func(c quota.Charge) bool { return c.Max != (quota.Cost{}) }) {
		spent, err := spentOf(ctx, tx, day, charges)
		if err != nil {
			return "", err
		}
		for _, c := range charges {
			sum := spent[c.Bucket].Add(c.Cost)
			if c.Exceeds(sum) {
				return c.Bucket, errOver
			}
			spent[c.Bucket] = sum // a bucket can occur twice
		}
	}
	return "", s.addAll(ctx, tx, day, charges)
}

// addAll adds all charges in one statement, whatever their limits are.
func (s *database) addAll(ctx context.Context, tx *conn, day string, charges []quota.Charge) error {
	if len(charges) == 0 {
		return nil
	}
	args := s.args[:0]
	for _, c := range charges {
		if err := record.CheckText(c.Bucket); err != nil {
			return err
		}
		c = c.Bounded()
		args = append(args, day, c.Bucket, c.Messages, c.Tokens, int64(c.USD), c.Input, c.Cached, c.Output, c.Unpriced)
	}
	_, err := tx.ExecContext(ctx, `
		INSERT INTO spending (day, bucket, messages, tokens, usd, input, cached, output, unpriced) VALUES `+repeated("(?, ?, ?, ?, ?, ?, ?, ?, ?)", len(charges))+`
		ON CONFLICT (day, bucket) DO UPDATE SET `+addedTotals, args...)
	clear(args)
	s.args = args
	if err != nil || day == s.spentOn {
		return err
	}
	s.spentOn = day
	return pruneSpending(ctx, tx, day)
}

// spentOf returns the spending of the buckets of charges.
func spentOf(ctx context.Context, tx *conn, day string, charges []quota.Charge) (map[string]quota.Cost, error) {
	if len(charges) == 0 {
		return nil, nil
	}
	args := []any{day}
	for _, c := range charges {
		args = append(args, c.Bucket)
	}
	one := `SELECT bucket, ` + boundedCosts + ` FROM spending WHERE day = ?1 AND bucket = ?`
	rows, err := tx.QueryContext(ctx, one+strings.Repeat(" UNION ALL "+one, len(charges)-1), args...)
	if err != nil {
		return nil, err
	}
	spent := make(map[string]quota.Cost, len(charges))
	_, err = collect(rows, func(r record.Row) (sum quota.Cost, err error) {
		var bucket string
		err = r.Scan(&bucket, &sum.Messages, &sum.Tokens, &sum.USD)
		spent[bucket] = sum
		return sum, err
	})
	return spent, err
}

// pruneSpending deletes days that are no longer kept. Buckets of single answers go after one day already: there is one
// for each answer, and only calls under way still settle with them.
func pruneSpending(ctx context.Context, tx *conn, day string) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM spending WHERE day < date(?, ?)`, day, fmt.Sprintf("-%d day", quota.KeptDays))
	if err == nil {
		_, err = tx.ExecContext(ctx, `DELETE FROM spending WHERE day < date(?, '-1 day') AND bucket >= ? AND bucket < ?`,
			day, quota.AnswerBuckets, afterPrefix(quota.AnswerBuckets))
	}
	return err
}

// afterPrefix returns the first text after all that begin with prefix, so that a prefix is a range of the primary key.
// The prefix must end with an ASCII character.
func afterPrefix(prefix string) string {
	last := len(prefix) - 1
	return prefix[:last] + string(prefix[last]+1)
}

// Used implements [quota.UsageStore].
func (s *usage) Used(ctx context.Context, from, to string, buckets ...string) (all []quota.Total, err error) {
	where, args := []string{}, []any{from, to}
	for _, b := range buckets {
		if prefix, many := strings.CutSuffix(b, "*"); many {
			where, args = append(where, "bucket >= ? AND bucket < ?"), append(args, prefix, afterPrefix(prefix))
		} else {
			where, args = append(where, "bucket = ?"), append(args, b)
		}
	}
	if len(where) == 0 {
		return nil, nil
	}
	err = s.read(ctx, func(db *conn) error {
		rows, err := db.QueryContext(ctx, `SELECT bucket, `+summedTotals+` FROM spending
			WHERE day >= ? AND day <= ? AND (`+strings.Join(where, " OR ")+`) GROUP BY bucket ORDER BY bucket`, args...)
		if err != nil {
			return err
		}
		all, err = collect(rows, func(r record.Row) (t quota.Total, err error) {
			err = r.Scan(&t.Bucket, &t.Messages, &t.Tokens, &t.USD, &t.Input, &t.Cached, &t.Output, &t.Unpriced)
			return t, err
		})
		return err
	})
	return all, wrap(err, "adding up what was used")
}

// Spent implements [quota.UsageStore].
func (s *usage) Spent(ctx context.Context, day, bucket string) (c quota.Cost, err error) {
	err = s.read(ctx, func(db *conn) error {
		return record.Found(db.QueryRowContext(ctx, `SELECT `+boundedCosts+` FROM spending WHERE day = ? AND bucket = ?`, day, bucket).
			Scan(&c.Messages, &c.Tokens, &c.USD))
	})
	if errors.Is(err, chat.ErrNotFound) {
		return quota.Cost{}, nil
	}
	return c, wrap(err, "reading what was spent")
}

// Warn implements [quota.UsageStore].
func (s *usage) Warn(ctx context.Context, day, bucket string) (first bool, err error) {
	if err = record.CheckText(bucket); err == nil {
		err = s.write(ctx, func(ctx context.Context, tx *conn) error {
			return tx.QueryRowContext(ctx, `
				INSERT INTO spending (day, bucket, warned) VALUES (?, ?, 1)
				ON CONFLICT (day, bucket) DO UPDATE SET warned = warned + 1
				RETURNING warned = 1`, day, bucket).Scan(&first)
		})
	}
	return first, wrap(err, "noting a warning")
}
