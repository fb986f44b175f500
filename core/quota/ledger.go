package quota

import (
	"context"
	"strings"

	"parley/core/chat"
	"parley/internal/lang"
)

// Cost is an amount of usage: answered messages, model tokens, and money.
type Cost struct {
	Messages, Tokens int
	USD              USD
}

// bound describes the usage, with the limit of money if there is one.
func (c Cost) bound(v lang.Voice, used Total) string {
	if c.USD == 0 {
		return used.Describe(v)
	}
	return v.Say("usage.of", "used", used.Describe(v), "limit", c.USD)
}

// Add returns the sum of two costs, within MostTotal.
func (c Cost) Add(other Cost) Cost {
	return Cost{sum(c.Messages, other.Messages), sum(c.Tokens, other.Tokens), sum(c.USD, other.USD)}
}

// Counts are the tokens behind a cost, without reserved ones.
type Counts struct {
	Input, Cached, Output int // Cached is a part of Input
	Unpriced              int // those of Input and Output whose price is unknown
}

// Add returns the sum of two counts, within MostTotal.
func (c Counts) Add(other Counts) Counts {
	return Counts{sum(c.Input, other.Input), sum(c.Cached, other.Cached), sum(c.Output, other.Output), sum(c.Unpriced, other.Unpriced)}
}

// Charge is an amount for one bucket.
type Charge struct {
	Bucket string
	Cost        // negative to return a part of a reservation
	Counts      // not limited
	Max    Cost // the daily limit; 0 for none
}

// Within returns the tokens of the reservation, up to Most, that a charge's limit allows after spent.
func (c Charge) Within(r Reservation, spent Cost) int {
	tokens := r.Most
	if c.Max.Tokens > 0 {
		tokens = min(tokens, c.Max.Tokens-spent.Tokens)
	}
	if c.Max.USD > 0 {
		tokens = min(tokens, r.Fitting(c.Max.USD-spent.USD))
	}
	return tokens
}

// Exceeds reports whether the charge exceeds its limit if the bucket's usage including it is sum.
func (c Charge) Exceeds(sum Cost) bool {
	over := func(add, sum, limit int) bool { return add > 0 && limit > 0 && sum > limit }
	return over(c.Messages, sum.Messages, c.Max.Messages) || over(c.Tokens, sum.Tokens, c.Max.Tokens) || over(int(c.USD), int(sum.USD), int(c.Max.USD))
}

// Bounded returns the charge within MostTotal.
func (c Charge) Bounded() Charge {
	c.Cost, c.Counts = c.Cost.Add(Cost{}), c.Counts.Add(Counts{})
	return c
}

// Total is the usage of one bucket.
type Total struct {
	Bucket string
	Cost
	Counts
}

// Describe returns the total for users.
func (t Total) Describe(v lang.Voice) string {
	if t.Input+t.Output == 0 && t.USD == 0 {
		return v.Say("usage.nothing")
	}
	var parts []string
	if t.Messages > 0 {
		parts = append(parts, v.Say("usage.messages", "n", t.Messages))
	}
	in := v.Say("usage.in", "tokens", thousands(t.Input))
	if t.Cached > 0 {
		in = v.Say("usage.cached", "in", in, "tokens", thousands(t.Cached))
	}
	parts = append(parts, in, v.Say("usage.out", "tokens", thousands(t.Output)))
	return strings.Join(append(parts, t.price(v)), ", ")
}

// Price returns the cost in English, as far as it is known.
func (t Total) Price() string { return t.price(lang.Voice{}) }

func (t Total) price(v lang.Voice) string {
	switch {
	case t.Unpriced == 0:
		return t.USD.String()
	case t.Unpriced >= t.Input+t.Output && t.USD == 0:
		return v.Say("usage.unpriced")
	}
	return v.Say("usage.partly", "cost", t.USD, "tokens", thousands(t.Unpriced))
}

// Reservation is the possible cost of a call: a number of tokens. The first Included cost Base together, and each
// further one Rate.
type Reservation struct {
	Least, Most int // tokens
	Included    int
	Base        USD
	Rate        Rate
}

// USD returns the cost of this number of tokens.
func (r Reservation) USD(tokens int) USD { return r.Base + r.Rate.Of(tokens-r.Included) }

// Fitting returns the number of tokens, up to Most, that cost at most usd; -1 if the included ones alone cost more.
func (r Reservation) Fitting(usd USD) int {
	switch {
	case usd < r.Base:
		return -1
	case r.Rate <= 0:
		return r.Most
	}
	return min(r.Most, r.Included+int((usd-r.Base)*1000/USD(r.Rate)))
}

// A UsageStore counts daily usage by bucket. Days are dates such as 2006-01-02. Its operations take constant time,
// except Used: days more than [KeptDays] before the latest are deleted, and those of buckets of answers two days before
// it. Its methods fail with an error of the backend if the data can't be read or written.
type UsageStore interface {
	// Spend adds all charges, or none: over is then the first bucket whose limit would be exceeded. A component of a
	// charge that is not positive exceeds nothing.
	Spend(ctx context.Context, day string, charges ...Charge) (over string, err error)
	// Count is like Spend, but idempotent per run: for a run that was counted before, it changes nothing. A reopened
	// run counts again. It fails with [chat.ErrNotFound] if the run is unknown.
	Count(ctx context.Context, day string, run chat.RunID, charges ...Charge) (over string, err error)
	// Reserve atomically adds the same number of tokens, and their cost, to each bucket: between least and most, as
	// many as fit into all of them. If fewer than least fit, it adds none, and over is the first bucket with the least
	// room. Only the buckets and limits of the charges are used.
	Reserve(ctx context.Context, day string, r Reservation, charges ...Charge) (tokens int, over string, err error)
	// Spent returns a bucket's usage on a day.
	Spent(ctx context.Context, day, bucket string) (Cost, error)
	// Used returns the usage of buckets from one day to another, both included, ordered by their names. A name with *
	// at its end stands for all names with this prefix.
	Used(ctx context.Context, from, to string, buckets ...string) ([]Total, error)
	// Warn returns true for the first call for a bucket on a day.
	Warn(ctx context.Context, day, bucket string) (first bool, err error)
}

// KeptDays is the number of days before the latest one that a [UsageStore] keeps: those of the same month at least.
const KeptDays = 31

// Prefixes of buckets.
const (
	personBucket = "person/"
	roomBucket   = "room/"
	modelBucket  = "model/"
	totalBucket  = "total"
	// AnswerBuckets is the prefix of the buckets of single answers.
	AnswerBuckets = "run/"
)

// MostTotal is the highest total of a bucket on a day, in tokens and in nano-dollars, and -MostTotal the lowest. A [UsageStore] stores
// no charge beyond it and reads no total beyond it, so sums of charges, and of the days that are kept, can't overflow.
const MostTotal = 1 << 56

func sum[N ~int | ~int64](a, b N) N { return within(within(a) + within(b)) }

func within[N ~int | ~int64](n N) N { return max(-MostTotal, min(n, MostTotal)) }
