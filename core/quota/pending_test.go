package quota_test

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/chat"
	"parley/core/llm"
	"parley/core/quota"
	"parley/internal/subtest"
)

// slowLedger takes a second to store what was spent, and tells in which order its calls ended.
type slowLedger struct {
	quota.UsageStore
	mu   sync.Mutex
	done []string
}

func (l *slowLedger) end(call string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = append(l.done, call)
}

func (l *slowLedger) ended() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.done)
}

func (l *slowLedger) Spend(context.Context, string, ...quota.Charge) (string, error) {
	time.Sleep(time.Second)
	l.end("spend")
	return "", nil
}

func (l *slowLedger) Count(context.Context, string, chat.RunID, ...quota.Charge) (string, error) {
	return "", nil
}

func (l *slowLedger) Reserve(_ context.Context, _ string, r quota.Reservation, _ ...quota.Charge) (int, string, error) {
	l.end("reserve")
	return r.Most, "", nil
}

func (l *slowLedger) Spent(context.Context, string, string) (quota.Cost, error) {
	l.end("spent")
	return quota.Cost{}, nil
}

// fullLedger has no room for more messages, or can't be reached.
type fullLedger struct {
	slowLedger
	err error
}

func (l *fullLedger) Spend(context.Context, string, ...quota.Charge) (string, error) {
	return "total", l.err
}

// A message that the agent sends on its own counts against the limits, too: it is refused at a limit, and where the store fails.
func TestSentMessagesAreRefused(t *testing.T) {
	down := errors.New("the store is down")
	for _, want := range []error{nil, down} {
		m := quota.NewMeter(quota.Limits{Total: quota.Cost{Messages: 1}}, &fullLedger{err: want}, slog.New(slog.DiscardHandler))
		err := m.CountSent(t.Context(), "fake/ada", "ada")
		var limit *quota.LimitError
		if want == nil && !errors.As(err, &limit) || want != nil && !errors.Is(err, want) {
			t.Errorf("the ledger fails with %v: CountSent returned %v", want, err)
		}
	}
}

// word is a model that says one word.
type word struct{}

func (word) Generate(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		yield(llm.Chunk{Text: "word", Usage: &llm.Usage{Prompt: 1, Completion: 1}}, nil)
	}
}

// A run does not wait until the cost of a call is stored; its next reservation, soft limits and WaitSettled do. Without a run, the
// call itself waits.
func TestSettlingIsAwaitedWhereItCounts(t *testing.T) {
	limits := quota.Limits{Total: quota.Cost{Tokens: 1e6}, Soft: quota.Soft{Total: quota.Dollar}}
	for name, c := range map[string]struct {
		run  bool
		then func(ctx context.Context, m *quota.Meter, call func(context.Context))
		want []string // what the store has done after that
	}{
		"nothing follows":  {true, func(context.Context, *quota.Meter, func(context.Context)) {}, []string{"reserve"}},
		"WaitSettled":      {true, func(ctx context.Context, _ *quota.Meter, _ func(context.Context)) { quota.WaitSettled(ctx) }, []string{"reserve", "spend"}},
		"another call":     {true, func(ctx context.Context, _ *quota.Meter, call func(context.Context)) { call(ctx) }, []string{"reserve", "spend", "reserve"}},
		"a soft limit":     {true, func(ctx context.Context, m *quota.Meter, _ func(context.Context)) { _, _ = m.Hold(ctx, 1) }, []string{"reserve", "spend", "spend"}},
		"none, and no run": {false, func(context.Context, *quota.Meter, func(context.Context)) {}, []string{"reserve", "spend"}},
		"WaitSettled twice": {true, func(ctx context.Context, _ *quota.Meter, _ func(context.Context)) {
			quota.WaitSettled(ctx)
			quota.WaitSettled(ctx)
		}, []string{"reserve", "spend"}},
	} {
		t.Run(name, subtest.Of(synctest.Test, func(t *testing.T) {
			l := &slowLedger{}
			m := quota.NewMeter(limits, l, slog.New(slog.DiscardHandler))
			large := m.Models(llm.Models{Large: word{}}, quota.Tariffs{}).Large
			ctx := t.Context()
			if c.run {
				ctx = quota.WithSpender(ctx, &chat.Run{ID: "room#1", Room: "room"})
			}
			call := func(ctx context.Context) {
				for _, err := range large.Generate(ctx, llm.Request{}) {
					if err != nil {
						t.Error(err)
					}
				}
			}
			call(ctx)
			c.then(ctx, m, call)
			if got := l.ended(); !slices.Equal(got, c.want) {
				t.Errorf("the store has done %q; want %q", got, c.want)
			}
			time.Sleep(time.Minute) // until all is settled
			if spends, calls := count(l.ended(), "spend"), count(l.ended(), "reserve"); spends != calls && name != "a soft limit" {
				t.Errorf("%d calls are settled %d times", calls, spends)
			}
		}))
	}
}

func count(all []string, what string) (n int) {
	for _, s := range all {
		if s == what {
			n++
		}
	}
	return n
}
