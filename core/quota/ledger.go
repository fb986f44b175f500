package quota

import (
	"context"

	"parley/core/chat"
)

// Cost is what something takes: messages that are answered, and tokens of models.
type Cost struct{ Messages, Tokens int }

// Charge is what one bucket is charged.
type Charge struct {
	Bucket string
	Cost        // may be negative, where a reservation was too much
	Max    Cost // of a day, with what was spent before; 0 is no limit
}

// UsageStore counts what is spent on a day, by bucket. Days are dates, as 2006-01-02. It takes the same time however much
// was spent: what is older than the day before the latest may be forgotten.
type UsageStore interface {
	// Spend adds all charges, or none: over is then the bucket of the first that would exceed its limit. A charge that
	// adds nothing to a cost, or takes from it, exceeds nothing.
	Spend(ctx context.Context, day string, charges ...Charge) (over string, err error)
	// Count spends as Spend does, but for a run only once: of a run that was counted it changes nothing. A run that was reopened
	// counts again. [chat.ErrNotFound] if there is no such run.
	Count(ctx context.Context, day string, run chat.RunID, charges ...Charge) (over string, err error)
	// Reserve adds the same number of tokens to each bucket: most, or as many as fit into all of them, but at least so many as
	// least says. If fewer fit, it adds none, and over is the first bucket with the least room. Of the charges it takes the buckets
	// and their limits. All is one step: what fits is not taken by another call in between.
	Reserve(ctx context.Context, day string, least, most int, charges ...Charge) (tokens int, over string, err error)
	// Spent is what a bucket was charged on a day.
	Spent(ctx context.Context, day, bucket string) (Cost, error)
	// Warn is true for the first call for a bucket on a day.
	Warn(ctx context.Context, day, bucket string) (first bool, err error)
}

// Exceeds says whether the charge is too much for its bucket, which holds sum with it.
func (c Charge) Exceeds(sum Cost) bool {
	over := func(add, sum, limit int) bool { return add > 0 && limit > 0 && sum > limit }
	return over(c.Messages, sum.Messages, c.Max.Messages) || over(c.Tokens, sum.Tokens, c.Max.Tokens)
}
