package quota

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
	"time"

	"parley/core/llm"
)

// Rates are the prices of the tokens of a call.
type Rates struct {
	Input      Rate // of the prompt
	Cached     Rate // of the prompt, read from the provider's cache
	CacheWrite Rate // of the prompt, written to it
	Output     Rate // of the answer, with its reasoning
}

// Price is the price of a model. Zero is free.
type Price struct {
	Rates
	// Long are the rates of calls whose prompt has more than Over tokens; Over is 0 if there are none. They apply to
	// the whole call.
	Over int
	Long Rates
	// Hour is the price of an hour of transcribed or spoken sound, and Image that of a generated image.
	Hour, Image USD
}

// ratesFor returns the rates of a call with a prompt of this number of tokens.
func (p Price) ratesFor(prompt int) Rates {
	if p.Over > 0 && prompt > p.Over {
		return p.Long
	}
	return p.Rates
}

// Of returns the cost of a call, rounded up to a nano-dollar. Parts of the prompt that exceed it are ignored.
func (p Price) Of(u llm.Usage) USD {
	r := p.ratesFor(u.Prompt)
	cached := min(u.Cached, u.Prompt)
	written := min(u.CacheWritten, u.Prompt-cached)
	return rounded(r.Input.picos(u.Prompt-cached-written) + r.Cached.picos(cached) + r.CacheWrite.picos(written) + r.Output.picos(u.Completion))
}

// Most returns the highest cost of a prompt of this number of tokens, with any use of the provider's cache, and of each
// token of the answer.
func (p Price) Most(prompt int) (cost USD, output Rate) {
	r := p.ratesFor(prompt)
	return max(r.Input, r.Cached, r.CacheWrite).Of(prompt), r.Output
}

// Sound returns the cost of transcribing sound of a length, rounded up to a millisecond.
func (p Price) Sound(length time.Duration) USD {
	const hour = int64(time.Hour / time.Millisecond)
	ms := (int64(length) + int64(time.Millisecond) - 1) / int64(time.Millisecond)
	high, low := bits.Mul64(uint64(max(ms, 0)), uint64(max(p.Hour, 0)))
	if high >= uint64(hour) {
		return math.MaxInt64 / 8
	}
	cost, rest := bits.Div64(high, low, uint64(hour))
	if rest > 0 {
		cost++
	}
	return USD(min(cost, math.MaxInt64/8))
}

// USD is an amount of money in nano-dollars: billionths of a US dollar.
type USD int64

// String returns the amount with a dollar sign: to the cent from a dollar on, and else with two digits that are not zero, rounded up.
func (a USD) String() string {
	sign := ""
	if a < 0 {
		sign, a = "-", -a
	}
	unit, decimals := USD(1e7), 2
	for ; unit > 1 && a < 10*unit; unit /= 10 {
		decimals++
	}
	if a >= Dollar/10 || a == 0 {
		unit, decimals = 1e7, 2
	}
	rounded := a / unit
	if a%unit != 0 {
		rounded++
	}
	digits := fmt.Sprintf("%0*d", decimals+1, rounded)
	return sign + "$" + digits[:len(digits)-decimals] + "." + digits[len(digits)-decimals:]
}

// Dollar is one US dollar.
const Dollar USD = 1e9

// mostDollars is the highest amount that can be written: more is a mistake, and sums can't overflow.
const mostDollars = 1_000_000

// ParseUSD reads a decimal number of dollars with at most nine decimals, such as 0.50. It fails if text is not such a
// number.
func ParseUSD(text string) (USD, error) {
	n, err := parseDecimal(text, 9)
	return USD(n), err
}

// Rate is a price in dollars per million tokens, in millionths of a dollar. That is the same as picodollars per token.
type Rate int64

// picos returns the cost of n tokens in thousandths of nano-dollars, within the range of the type.
func (r Rate) picos(n int) int64 {
	if n <= 0 || r <= 0 {
		return 0
	}
	if int64(n) > math.MaxInt64/8/int64(r) {
		return math.MaxInt64 / 8
	}
	return int64(n) * int64(r)
}

// Of returns the cost of n tokens, rounded up.
func (r Rate) Of(n int) USD { return rounded(r.picos(n)) }

// ParseRate reads a decimal number of dollars per million tokens, with at most six decimals, such as 0.0375. It fails
// if text is not such a number.
func ParseRate(text string) (Rate, error) {
	n, err := parseDecimal(text, 6)
	return Rate(n), err
}

// rounded returns an amount in thousandths of nano-dollars, rounded up.
func rounded(picos int64) USD { return USD((picos + 999) / 1000) }

// parseDecimal reads a decimal number that is not negative, as a whole number of its last possible decimal. It fails if
// text is not such a number.
func parseDecimal(text string, decimals int) (n int64, err error) {
	whole, part, _ := strings.Cut(text, ".")
	if whole == "" || len(part) > decimals || strings.HasSuffix(text, ".") {
		return 0, fmt.Errorf("%q is not a number with at most %d decimals", text, decimals)
	}
	scale := int64(math.Pow10(decimals))
	for _, c := range whole + part + strings.Repeat("0", decimals-len(part)) {
		if c < '0' || c > '9' {
			return 0, fmt.Errorf("%q is not a decimal number", text)
		}
		if n = n*10 + int64(c-'0'); n > mostDollars*scale {
			return 0, fmt.Errorf("%q is more than %d dollars", text, mostDollars)
		}
	}
	return n, nil
}

// Tariff is the name of a model in totals, and the price of its calls.
type Tariff struct {
	Name  string // such as openai/gpt-4o-mini; empty: not listed
	Price Price
	Known bool // the price is known
}

// Tariffs are the tariffs of the models of a [parley/core/llm.Models].
type Tariffs struct {
	Chat                                                   map[string]Tariff // by the names of the models that can answer
	Small, Vision, Transcription, Image, Speech, Embedding Tariff
}
