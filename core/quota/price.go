package quota

import (
	"math"
	"math/bits"
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

// Price is what a model costs. Zero is free.
type Price struct {
	Rates
	// Long are the rates of calls whose prompt has more than Over tokens; Over is 0 if there are none. They apply to the whole call.
	Over int
	Long Rates
	// Hour is the price of an hour of transcribed sound, and Image that of a generated image.
	Hour, Image USD
}

// at returns the rates of a call with a prompt of so many tokens.
func (p Price) at(prompt int) Rates {
	if p.Over > 0 && prompt > p.Over {
		return p.Long
	}
	return p.Rates
}

// Of returns the cost of a call, rounded up to a nano-dollar. Parts of the prompt that exceed it are ignored.
func (p Price) Of(u llm.Usage) USD {
	r := p.at(u.Prompt)
	cached := min(u.Cached, u.Prompt)
	written := min(u.CacheWritten, u.Prompt-cached)
	return rounded(r.Input.picos(u.Prompt-cached-written) + r.Cached.picos(cached) + r.CacheWrite.picos(written) + r.Output.picos(u.Completion))
}

// Most returns the highest cost of a prompt of so many tokens, whatever the provider's cache does with it, and of each token of
// the answer.
func (p Price) Most(prompt int) (cost USD, output Rate) {
	r := p.at(prompt)
	return max(r.Input, r.Cached, r.CacheWrite).Of(prompt), r.Output
}

// Sound returns what the transcription of sound of a length costs, rounded up to a millisecond.
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
