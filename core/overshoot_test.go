package core_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/access"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/quota"
	"parley/internal/subtest"
)

// seller is a model that writes so many tokens, one after the other, and bills them. It keeps the maximum that it is given
// and its own, unless it ignores both.
type seller struct {
	writes  int
	own     int // its own maximum; 0 is none
	ignores bool
	mute    bool // it thinks, and tells nothing before the end

	mu       sync.Mutex
	billed   int
	calls    int
	maxima   []int // that it was given
	at       int   // calls under way
	together int   // at a time
}

func (p *seller) MaxTokens() int { return p.own }

// nano is the tariff of a model whose tokens cost a nano-dollar each.
var nano = quota.Tariff{Name: "nano", Price: quota.Price{Rates: quota.Rates{Input: 1000, Cached: 1000, CacheWrite: 1000, Output: 1000}}, Known: true}

const prompted = 10 // tokens that it bills for a prompt

func (p *seller) Generate(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		written := 0
		p.count(func() {
			p.calls, p.at, p.maxima = p.calls+1, p.at+1, append(p.maxima, req.MaxTokens)
			p.together = max(p.together, p.at)
		})
		defer func() { p.count(func() { p.billed += prompted + written; p.at-- }) }()
		most, finish := p.writes, llm.FinishStop
		for _, limit := range []int{req.MaxTokens, p.own} {
			if limit > 0 && limit < most && !p.ignores {
				most, finish = limit, llm.FinishLength
			}
		}
		for ; written < most; written++ {
			select {
			case <-time.After(time.Millisecond):
			case <-ctx.Done():
				yield(llm.Chunk{}, context.Cause(ctx))
				return
			}
			if !p.mute && !yield(llm.Chunk{Text: "word "}, nil) {
				return
			}
		}
		if p.mute {
			yield(llm.Chunk{Text: "Done."}, nil)
		}
		_ = yield(llm.Chunk{Finish: finish}, nil) && yield(llm.Chunk{Usage: &llm.Usage{Prompt: prompted, Completion: written}}, nil)
	}
}

func (p *seller) count(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do()
}

// SE-19: twelve answers of 15,000 tokens are asked for at once, and there are 20,000. What is billed stays within the limit, and
// those that it cuts off say so. A provider that keeps to no maximum is stopped.
func TestParallelAnswersStayWithinTheLimit(t *testing.T) {
	const limit = 20_000
	for name, c := range map[string]struct {
		p      *seller
		limits quota.Limits
		over   int // that a provider may deliver beyond a maximum
	}{
		"one person, no maximum":       {&seller{writes: 15_000}, quota.Limits{Person: quota.Cost{Tokens: limit}}, 0},
		"one person, a maximum":        {&seller{writes: 15_000, own: 8000}, quota.Limits{Person: quota.Cost{Tokens: limit}}, 0},
		"one person, thinking":         {&seller{writes: 15_000, own: 15_000, mute: true}, quota.Limits{Person: quota.Cost{Tokens: limit}}, 0},
		"one person, money":            {&seller{writes: 15_000}, quota.Limits{Person: quota.Cost{USD: limit}}, 0},
		"one person, money, a maximum": {&seller{writes: 15_000, own: 8000}, quota.Limits{Person: quota.Cost{USD: limit}}, 0},
		"money, thinking, no maximum":  {&seller{writes: 15_000, mute: true}, quota.Limits{Person: quota.Cost{USD: limit}}, 0},
		"many people, money":           {&seller{writes: 15_000, own: 3000}, quota.Limits{Total: quota.Cost{USD: limit}}, 0},
		"many people, no maximum":      {&seller{writes: 15_000}, quota.Limits{Total: quota.Cost{Tokens: limit}}, 0},
		"many people, a maximum":       {&seller{writes: 15_000, own: 3000}, quota.Limits{Total: quota.Cost{Tokens: limit}}, 0},
		"a provider that keeps none":   {&seller{writes: 15_000, own: 3000, ignores: true}, quota.Limits{Total: quota.Cost{Tokens: limit}}, 12 * 3000},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.cfg.Access.Direct = access.DirectOpen
			w.cfg.Meter = quota.NewMeter(c.limits, w.Store, w.cfg.Log)
			w.cfg.Models = w.cfg.Meter.Models(llm.Models{Large: c.p}, quota.Tariffs{Chat: map[string]quota.Tariff{llm.DefaultName: nano}})
			n := w.start()
			var all []chat.Accepted
			for i := range 12 {
				m := w.message(chat.RoomID(fmt.Sprint("fake/", i)), chat.EntityID(fmt.Sprint("guest", i)), "Hello")
				if c.limits.Person != (quota.Cost{}) {
					m.Address.BilledTo = "one"
				}
				all = append(all, n.send(m))
			}
			cut := 0
			for _, acc := range all {
				if _, said := w.waitAnswer(acc); strings.HasPrefix(said, "word ") && strings.Contains(said, "daily limit. It resets") {
					cut++
				}
			}
			synctest.Wait()
			spent := w.spent("total").Tokens
			if c.limits.Person != (quota.Cost{}) {
				spent = w.spent("person/one").Tokens
			}
			if c.p.billed > limit+c.over || c.p.billed < limit/3 || spent > limit+c.over || spent < c.p.billed {
				w.Errorf("billed are %d tokens in %d calls, counted %d", c.p.billed, c.p.calls, spent)
			}
			if cut == 0 && !c.p.mute {
				w.Error("no answer says that a limit has cut it off; want at least one")
			}
		}))
	}
}

// SE-19: a call is told how much it may write where less than its step, or its maximum, is left. It is not made for less than
// 256 tokens.
func TestMaximumOfACall(t *testing.T) {
	for _, c := range []struct {
		left, own, asked int
		want             int // -1: no call
	}{
		{left: 1_000_000, want: 0}, {left: 1_000_000, own: 500, want: 500}, {left: 1_000_000, own: 500, asked: 300, want: 300},
		{left: 1_000_000, asked: 300, want: 300}, {left: 4000, want: 0}, {left: 3999, want: 3999}, {left: 300, own: 500, want: 300},
		{left: 256, want: 256}, {left: 255, want: -1}, {left: 255, own: 200, want: 200}, {left: 199, own: 200, want: -1},
	} {
		withHarness(t, func(w *harness) {
			p := &seller{writes: 10, own: c.own}
			m := quota.NewMeter(quota.Limits{Total: quota.Cost{Tokens: c.left}}, w.Store, w.cfg.Log)
			var err error
			for _, failed := range m.Models(llm.Models{Large: p}, quota.Tariffs{}).Large.Generate(w.Context(), llm.Request{MaxTokens: c.asked}) {
				err = errors.Join(err, failed)
			}
			var over *quota.LimitError
			switch {
			case c.want < 0 && (!errors.As(err, &over) || p.calls > 0):
				t.Errorf("%+v: %d calls, %v", c, p.calls, err)
			case c.want >= 0 && (err != nil || len(p.maxima) != 1 || p.maxima[0] != c.want):
				t.Errorf("%+v: it was given %v, %v", c, p.maxima, err)
			}
		})
	}
}

// SE-19: a call that a provider has refused costs nothing; one of which no user knows costs what was reserved.
func TestOtherCallsAreSettled(t *testing.T) {
	refused, broken := &llm.Failure{Kind: llm.RateLimited, Err: errors.New("429")}, &llm.Failure{Kind: llm.ProviderIssue, Err: errors.New("cut")}
	for _, c := range []struct {
		err  error
		want [3]int // for a picture, a recording of 4000 bytes, and a text of 8 letters
	}{
		{nil, [3]int{4002, 10, 2}}, {refused, [3]int{}}, {broken, [3]int{4002, 10, 2}},
	} {
		withHarness(t, func(w *harness) {
			m := quota.NewMeter(quota.Limits{Total: quota.Cost{Tokens: 10_000}}, w.Store, w.cfg.Log)
			all := m.Models(llm.Models{ImageGenerator: tool{c.err}, Transcriber: tool{c.err}, Embedder: tool{c.err}}, quota.Tariffs{})
			spent := 0
			for i, call := range []func() error{
				func() error { _, err := all.ImageGenerator.GenerateImage(w.Context(), "a castle"); return err },
				func() error {
					_, err := all.Transcriber.Transcribe(w.Context(), "", "", spoken(2*time.Second))
					return err
				},
				func() error { _, err := all.Embedder.Embed(w.Context(), []string{"a castle"}); return err },
			} {
				if err := call(); !errors.Is(err, c.err) {
					t.Errorf("it fails with %v", err)
				}
				now := w.spent("total").Tokens
				if now-spent != c.want[i] {
					t.Errorf("call %d that ends with %v costs %d; want %d", i, c.err, now-spent, c.want[i])
				}
				spent = now
			}
		})
	}
}

// tool is what a provider has beside answers.
type tool struct{ err error }

func (f tool) GenerateImage(context.Context, string) (llm.File, error) { return llm.File{}, f.err }

func (f tool) Transcribe(context.Context, string, string, []byte) (string, error) { return "", f.err }

func (f tool) Embed(context.Context, []string) ([][]float32, error) { return nil, f.err }
