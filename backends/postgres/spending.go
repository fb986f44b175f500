package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"parley/backends/record"
	"parley/core/chat"
	"parley/core/quota"
)

// errOver rolls back the transaction of a charge that exceeds a limit. It is not returned to callers: being over a
// limit is a result.
var errOver = errors.New("over the limit")

// buckets returns the locks of charges, sorted: callers pass buckets in any order, and two of them must not wait for
// each other's rows.
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

// Reserve implements [quota.UsageStore]. It looks and charges under the locks of the buckets, so parallel calls, also
// of other replicas, can't reserve the same rest.
func (s *usage) Reserve(ctx context.Context, day string, r quota.Reservation, charges ...quota.Charge) (tokens int, over string, err error) {
	err = s.write(ctx, buckets(charges), func(ctx context.Context, q querier) error {
		most := quota.Cost{Tokens: r.Most, USD: r.USD(r.Most)}
		sums, err := addAll(ctx, q, day, toEach(charges, most))
		if err != nil {
			return err
		}
		tokens, over = r.Most, ""
		for _, c := range charges { // the bucket that has room for the fewest is the one to report
			spent := sums[c.Bucket].Add(quota.Cost{Tokens: -most.Tokens, USD: -most.USD})
			if left := c.Within(r, spent); left < tokens {
				tokens, over = left, c.Bucket
			}
		}
		switch {
		case tokens < r.Least:
			return errOver
		case tokens < r.Most:
			_, err = addAll(ctx, q, day, toEach(charges, quota.Cost{Tokens: tokens - most.Tokens, USD: r.USD(tokens) - most.USD}))
		}
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

// toEach returns charges of cost for the buckets of charges.
func toEach(charges []quota.Charge, cost quota.Cost) []quota.Charge {
	all := make([]quota.Charge, len(charges))
	for i, c := range charges {
		all[i] = quota.Charge{Bucket: c.Bucket, Cost: cost}
	}
	return all
}

// The totals of a bucket in SQL, see [quota.MostTotal]: PostgreSQL refuses a sum that overflows.
var (
	boundedCosts = totals("VALUE", "messages", "tokens", "usd") // never changed, as the next
	summedTotals = totals("sum(VALUE)::bigint", "messages", "tokens", "usd", "input", "cached", "output", "unpriced")
	addedTotals  = totals("NAME = VALUE + excluded.NAME", "messages", "tokens", "usd", "input", "cached", "output", "unpriced")
)

// totals returns a form for each column, separated by commas: VALUE is its value within the bounds, and NAME its name.
func totals(form string, columns ...string) string {
	all := make([]string, len(columns))
	for i, c := range columns {
		all[i] = strings.NewReplacer("VALUE", fmt.Sprintf("GREATEST(%d, LEAST(spending.%s, %d))", -quota.MostTotal, c, quota.MostTotal), "NAME", c).Replace(form)
	}
	return strings.Join(all, ", ")
}

// spendAll adds all charges, or returns [errOver] and the first bucket that exceeds its limit; the caller's transaction is then rolled
// back.
func spendAll(ctx context.Context, q querier, day string, charges []quota.Charge) (over string, err error) {
	sums, err := addAll(ctx, q, day, charges)
	if err != nil {
		return "", err
	}
	for _, c := range charges {
		if c.Exceeds(sums[c.Bucket]) {
			return c.Bucket, errOver
		}
	}
	return "", nil
}

// addAll adds all charges, whatever their limits are, and returns the sums of their buckets. A sum that equals the charge is the first of
// its bucket that day, so that is about once a day for each bucket, and the moment to delete old days. Buckets of single answers are
// always new, and would prune each time.
func addAll(ctx context.Context, q querier, day string, charges []quota.Charge) (sums map[string]quota.Cost, err error) {
	fresh := false
	sums = make(map[string]quota.Cost, len(charges))
	for _, c := range charges {
		sum, err := add(ctx, q, day, c)
		if err != nil {
			return nil, err
		}
		sums[c.Bucket] = sum
		fresh = fresh || sum == c.Cost && !strings.HasPrefix(c.Bucket, quota.AnswerBuckets)
	}
	if fresh {
		err = pruneSpending(ctx, q, day)
	}
	return sums, err
}

// add adds one charge, and returns the new sum of its bucket.
func add(ctx context.Context, q querier, day string, c quota.Charge) (sum quota.Cost, err error) {
	if err := record.CheckText(c.Bucket); err != nil {
		return sum, err
	}
	c = c.Bounded()
	err = q.QueryRow(ctx, `
		INSERT INTO spending (day, bucket, messages, tokens, usd, input, cached, output, unpriced) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (day, bucket) DO UPDATE SET `+addedTotals+`
		RETURNING `+boundedCosts, day, c.Bucket, c.Messages, c.Tokens, int64(c.USD), c.Input, c.Cached, c.Output, c.Unpriced).
		Scan(&sum.Messages, &sum.Tokens, &sum.USD)
	return sum, err
}

// pruneSpending deletes days that are no longer kept. Buckets of single answers go after one day already: there is one
// for each answer, and only calls under way still settle with them.
func pruneSpending(ctx context.Context, q querier, day string) error {
	of, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return nil // a day of another form is kept
	}
	before := func(days int) string { return of.AddDate(0, 0, -days).Format(time.DateOnly) }
	_, err = q.Exec(ctx, `DELETE FROM spending WHERE day < $1 OR day < $2 AND starts_with(bucket, $3)`, before(quota.KeptDays), before(1), quota.AnswerBuckets)
	return err
}

// Used implements [quota.UsageStore].
func (s *usage) Used(ctx context.Context, from, to string, buckets ...string) (all []quota.Total, err error) {
	var whole, beginnings []string
	for _, b := range buckets {
		if prefix, many := strings.CutSuffix(b, "*"); many {
			beginnings = append(beginnings, prefix)
		} else {
			whole = append(whole, b)
		}
	}
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		rows, err := q.Query(ctx, `SELECT bucket, `+summedTotals+` FROM spending
			WHERE day >= $1 AND day <= $2 AND (bucket = ANY($3) OR EXISTS (SELECT 1 FROM unnest($4::text[]) AS b WHERE starts_with(bucket, b)))
			GROUP BY bucket ORDER BY bucket`, from, to, whole, beginnings)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (t quota.Total, err error) {
			err = r.Scan(&t.Bucket, &t.Messages, &t.Tokens, &t.USD, &t.Input, &t.Cached, &t.Output, &t.Unpriced)
			return t, err
		})
		return err
	})
	return all, wrap(err, "adding up what was used")
}

// Spent implements [quota.UsageStore].
func (s *usage) Spent(ctx context.Context, day, bucket string) (c quota.Cost, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		return record.Found(q.QueryRow(ctx, `SELECT `+boundedCosts+` FROM spending WHERE day = $1 AND bucket = $2`, day, bucket).
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
		err = s.write(ctx, nil, func(ctx context.Context, q querier) error {
			return q.QueryRow(ctx, `
				INSERT INTO spending (day, bucket, warned) VALUES ($1, $2, 1)
				ON CONFLICT (day, bucket) DO UPDATE SET warned = spending.warned + 1
				RETURNING warned = 1`, day, bucket).Scan(&first)
		})
	}
	return first, wrap(err, "noting a warning")
}
