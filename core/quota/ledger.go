package quota

import (
	"context"

	"parley/core/chat"
)

// Cost is an amount of usage: answered messages, and model tokens.
type Cost struct{ Messages, Tokens int }

// Charge is an amount for one bucket.
type Charge struct {
	Bucket string
	Cost        // negative to return a part of a reservation
	Max    Cost // the daily limit; 0 for none
}

// A UsageStore counts daily usage by bucket. Days are dates such as 2006-01-02. Its operations take constant time: days
// before the day before the latest can be deleted.
type UsageStore interface {
	// Spend adds all charges, or none: over is then the first bucket whose limit would be exceeded. A component of a
	// charge that is not positive exceeds nothing.
	Spend(ctx context.Context, day string, charges ...Charge) (over string, err error)
	// Count is like Spend, but idempotent per run: for a run that was counted before, it changes nothing. A reopened
	// run counts again. It fails with [chat.ErrNotFound] if the run is unknown.
	Count(ctx context.Context, day string, run chat.RunID, charges ...Charge) (over string, err error)
	// Reserve atomically adds the same number of tokens to each bucket: between least and most, as many as fit into all
	// of them. If fewer than least fit, it adds none, and over is the first bucket with the least room. Only the
	// buckets and limits of the charges are used.
	Reserve(ctx context.Context, day string, least, most int, charges ...Charge) (tokens int, over string, err error)
	// Spent returns a bucket's usage on a day.
	Spent(ctx context.Context, day, bucket string) (Cost, error)
	// Warn returns true for the first call for a bucket on a day.
	Warn(ctx context.Context, day, bucket string) (first bool, err error)
}

// Exceeds reports whether the charge exceeds its limit if the bucket's usage including it is sum.
func (c Charge) Exceeds(sum Cost) bool {
	over := func(add, sum, limit int) bool { return add > 0 && limit > 0 && sum > limit }
	return over(c.Messages, sum.Messages, c.Max.Messages) || over(c.Tokens, sum.Tokens, c.Max.Tokens)
}
