package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/backends/record"
	"parley/core/chat"
	"parley/core/quota"
)

// errOver rolls back the transaction of a charge that exceeds a limit. It is not returned to callers: being over a
// limit is a result.
var errOver = errors.New("over the limit")

// buckets returns a transaction with the locks of charges: parallel calls, also of other replicas, can't use the same rest of a limit.
func (s *Shared) buckets(charges []quota.Charge) Change {
	if !s.Locks {
		return Change{}
	}
	var names []string
	for _, c := range charges {
		names = append(names, c.Bucket)
	}
	return change(s, "bucket", names...)
}

// Spend implements [quota.UsageStore].
func (s *usage) Spend(ctx context.Context, day string, charges ...quota.Charge) (over string, err error) {
	err = s.Write(ctx, s.buckets(charges), func(ctx context.Context, tx Conn) (err error) {
		over, err = s.spendAll(ctx, tx, day, charges)
		return err
	})
	if errors.Is(err, errOver) {
		return over, nil
	}
	return "", s.wrap(err, "charging what is spent")
}

// Count implements [quota.UsageStore].
func (s *usage) Count(ctx context.Context, day string, run chat.RunID, charges ...quota.Charge) (over string, err error) {
	err = s.Write(ctx, s.buckets(charges), func(ctx context.Context, tx Conn) error {
		// The update counts the run and finds out whether it was counted, in one statement.
		counted, err := tx.Exec(ctx, `UPDATE runs SET counted = TRUE WHERE id = $1 AND NOT counted`, run)
		if err == nil && counted == 0 { // it was counted before, which charges nothing, or there is no such run
			_, err = scan[bool](tx.QueryRow(ctx, `SELECT TRUE FROM runs WHERE id = $1`, run))
			return err
		}
		if err == nil {
			over, err = s.spendAll(ctx, tx, day, charges)
		}
		return err
	})
	if errors.Is(err, errOver) {
		return over, nil
	}
	return "", s.wrap(err, "counting the run %q", run)
}

// Reserve implements [quota.UsageStore].
func (s *usage) Reserve(ctx context.Context, day string, r quota.Reservation, charges ...quota.Charge) (tokens int, over string, err error) {
	err = s.Write(ctx, s.buckets(charges), func(ctx context.Context, tx Conn) error {
		spent, err := s.spentOf(ctx, tx, day, charges)
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
		all := make([]quota.Charge, len(charges))
		for i, c := range charges {
			all[i] = quota.Charge{Bucket: c.Bucket, Cost: quota.Cost{Tokens: tokens, USD: r.USD(tokens)}}
		}
		return s.addAll(ctx, tx, day, all)
	})
	switch {
	case errors.Is(err, errOver):
		return 0, over, nil
	case err != nil:
		return 0, "", s.wrap(err, "reserving tokens")
	}
	return tokens, "", nil
}

// The totals of a bucket in SQL, see [quota.MostTotal]: PostgreSQL refuses a sum that overflows, and SQLite makes a number with
// decimals of it, and then can't store it.
func (d Dialect) boundedCosts() string { return d.totals("VALUE", "messages", "tokens", "usd") }

// totals returns a form for each column, separated by commas: VALUE is its value within the bounds, and NAME its name.
func (d Dialect) totals(form string, columns ...string) string {
	all := make([]string, len(columns))
	for i, c := range columns {
		bounded := fmt.Sprintf("%s(%d, %s(spending.%s, %d))", d.Greatest, -quota.MostTotal, d.Least, c, quota.MostTotal)
		all[i] = strings.NewReplacer("VALUE", bounded, "NAME", c).Replace(form)
	}
	return strings.Join(all, ", ")
}

// spendAll adds all charges, or none, and returns [errOver] and the first bucket that would exceed its limit.
func (s *Shared) spendAll(ctx context.Context, tx Conn, day string, charges []quota.Charge) (over string, err error) {
	if slices.ContainsFunc(charges, func(c quota.Charge) bool { return c.Max != (quota.Cost{}) }) {
		spent, err := s.spentOf(ctx, tx, day, charges)
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

// addAll adds all charges in one statement, whatever their limits are. With the first charge of a day it deletes old days.
func (s *Shared) addAll(ctx context.Context, tx Conn, day string, charges []quota.Charge) error {
	if len(charges) == 0 {
		return nil
	}
	args, n := append(make([]any, 0, 1+8*len(charges)), day), 0
	for i, c := range charges {
		if slices.ContainsFunc(charges[:i], func(o quota.Charge) bool { return o.Bucket == c.Bucket }) {
			continue // a statement can change a row only once
		}
		for _, o := range charges[i+1:] {
			if o.Bucket == c.Bucket {
				c.Cost, c.Counts = c.Cost.Add(o.Cost), c.Counts.Add(o.Counts)
			}
		}
		if err := record.CheckText(c.Bucket); err != nil {
			return err
		}
		c = c.Bounded()
		args, n = append(args, c.Bucket, c.Messages, c.Tokens, int64(c.USD), c.Input, c.Cached, c.Output, c.Unpriced), n+1
	}
	if _, err := tx.Exec(ctx, statement(s.adds[:], n, s.addingTo), args...); err != nil || s.spentOn.Swap(day) == day {
		return err
	}
	return pruneSpending(ctx, tx, day)
}

// spentOf returns the spending of the buckets of charges.
func (s *Shared) spentOf(ctx context.Context, tx Conn, day string, charges []quota.Charge) (map[string]quota.Cost, error) {
	if len(charges) == 0 {
		return nil, nil
	}
	args := append(make([]any, 0, 1+len(charges)), day)
	for _, c := range charges {
		args = append(args, c.Bucket)
	}
	spent := make(map[string]quota.Cost, len(charges))
	rows, err := tx.Query(ctx, statement(s.spends[:], len(charges), s.spendingOf), args...)
	_, err = Collect(rows, err, func(r record.Row) (sum quota.Cost, err error) {
		var bucket string
		err = r.Scan(&bucket, &sum.Messages, &sum.Tokens, &sum.USD)
		spent[bucket] = sum
		return sum, err
	})
	return spent, err
}

// statement returns the statement for n buckets, from made if it is there: those for few are made once.
func statement(made []string, n int, make func(int) string) string {
	if n < len(made) {
		return made[n]
	}
	return make(n)
}

// addingTo returns the statement that adds the charges of n buckets.
func (d Dialect) addingTo(n int) string {
	rows := make([]string, n)
	for i := range rows {
		rows[i] = "($1"
		for k := range 8 {
			rows[i] += fmt.Sprintf(", $%d", 2+8*i+k)
		}
	}
	return `INSERT INTO spending (day, bucket, messages, tokens, usd, input, cached, output, unpriced) VALUES ` + strings.Join(rows, "), ") + `)
		ON CONFLICT (day, bucket) DO UPDATE SET ` + d.totals("NAME = VALUE + excluded.NAME", "messages", "tokens", "usd", "input", "cached", "output", "unpriced")
}

// spendingOf returns the statement that reads the spending of n buckets.
func (d Dialect) spendingOf(n int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf("SELECT bucket, %s FROM spending WHERE day = $1 AND bucket = $%d", d.boundedCosts(), i+2)
	}
	return strings.Join(parts, " UNION ALL ")
}

// pruneSpending deletes days that are no longer kept. Buckets of single answers go after one day already: there is one
// for each answer, and only calls under way still settle with them.
func pruneSpending(ctx context.Context, tx Conn, day string) error {
	of, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return nil // a day of another form is kept
	}
	before := func(days int) string { return of.AddDate(0, 0, -days).Format(time.DateOnly) }
	_, err = tx.Exec(ctx, `DELETE FROM spending WHERE day < $1`, before(quota.KeptDays))
	if err == nil {
		_, err = tx.Exec(ctx, `DELETE FROM spending WHERE day < $1 AND bucket >= $2 AND bucket < $3`,
			before(1), quota.AnswerBuckets, afterPrefix(quota.AnswerBuckets))
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
		n := len(args) + 1
		if prefix, many := strings.CutSuffix(b, "*"); many {
			where, args = append(where, fmt.Sprintf("bucket >= $%d AND bucket < $%d", n, n+1)), append(args, prefix, afterPrefix(prefix))
		} else {
			where, args = append(where, fmt.Sprintf("bucket = $%d", n)), append(args, b)
		}
	}
	if len(where) == 0 {
		return nil, nil
	}
	all, err = list(ctx, s.Shared, func(r record.Row) (t quota.Total, err error) {
		err = r.Scan(&t.Bucket, &t.Messages, &t.Tokens, &t.USD, &t.Input, &t.Cached, &t.Output, &t.Unpriced)
		return t, err
	}, `SELECT bucket, `+s.totals("CAST(sum(VALUE) AS bigint)", "messages", "tokens", "usd", "input", "cached", "output", "unpriced")+` FROM spending
		WHERE day >= $1 AND day <= $2 AND (`+strings.Join(where, " OR ")+`) GROUP BY bucket ORDER BY bucket`, args...)
	return all, s.wrap(err, "adding up what was used")
}

// Spent implements [quota.UsageStore].
func (s *usage) Spent(ctx context.Context, day, bucket string) (quota.Cost, error) {
	c, err := one(ctx, s.Shared, func(r record.Row) (c quota.Cost, err error) {
		err = record.Found(r.Scan(&c.Messages, &c.Tokens, &c.USD))
		return c, err
	}, `SELECT `+s.boundedCosts()+` FROM spending WHERE day = $1 AND bucket = $2`, day, bucket)
	return c, s.wrap(record.UnlessMissing(err), "reading what was spent")
}

// Warn implements [quota.UsageStore].
func (s *usage) Warn(ctx context.Context, day, bucket string) (first bool, err error) {
	if err = record.CheckText(bucket); err == nil {
		err = s.Write(ctx, Change{}, func(ctx context.Context, tx Conn) error {
			return tx.QueryRow(ctx, `
				INSERT INTO spending (day, bucket, warned) VALUES ($1, $2, 1)
				ON CONFLICT (day, bucket) DO UPDATE SET warned = spending.warned + 1
				RETURNING warned = 1`, day, bucket).Scan(&first)
		})
	}
	return first, s.wrap(err, "noting a warning")
}
