package core_test

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/access"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/quota"
	"parley/internal/sound"
	"parley/internal/subtest"
)

// withPrices lets the large model cost a dollar per million input tokens, a tenth if they are cached, and two per million output tokens.
func (w *harness) withPrices(l quota.Limits, known bool) {
	w.cfg.Meter = quota.NewMeter(l, w.Store, w.cfg.Log)
	t := quota.Tariff{Name: "openai/large", Known: known}
	if known {
		t.Price.Rates = quota.Rates{Input: 1e6, Cached: 1e5, CacheWrite: 1e6, Output: 2e6}
	}
	w.cfg.Models = w.cfg.Meter.Models(llm.Models{Large: w.model}, quota.Tariffs{Chat: map[string]quota.Tariff{llm.DefaultName: t}})
}

// /usage shows what its author used, with limits and without.
func TestUsageIsShown(t *testing.T) {
	for name, limits := range map[string]quota.Limits{"no limits": {}, "a limit": {Person: quota.Cost{USD: quota.Dollar / 2}}} {
		withHarness(t, func(w *harness) {
			w.cfg.Access.Direct = access.DirectOpen
			w.withPrices(limits, true)
			n := w.start()
			if got := n.chatAs("eve", "/usage"); !strings.HasPrefix(got, "- You, today: nothing") || strings.Contains(got, "Everyone") {
				t.Errorf(`%s: at first: %s; want it to begin with "- You, today: nothing" and it without "Everyone"`, name, got)
			}
			w.model.queue([]step{write("Good."), reported(llm.Usage{Prompt: 2000, Cached: 1000, Completion: 500})})
			n.chatAs("eve", "How are you?")
			want := "2,000 tokens in (1,000 cached), 500 out, $0.0021" // 1000*1 + 1000*0.1 + 500*2 millionths
			got := n.chatAs("eve", "/usage")
			for _, line := range []string{"- You, today: 1 message, " + want, "- You, this month: 1 message, " + want, "- The last answer: " + want} {
				if !strings.Contains(got, line) {
					t.Errorf("%s: no %q in %s", name, line, got)
				}
			}
			if limited := strings.Contains(got, "(of $0.50 a day)"); limited != (limits != quota.Limits{}) || strings.Contains(got, "Everyone") {
				t.Errorf("%s: then: %s", name, got)
			}
			if got := n.chatAs("bob", "/usage"); !strings.HasPrefix(got, "- You, today: nothing") {
				t.Errorf(`%s: another user: %s; want it to begin with "- You, today: nothing"`, name, got)
			}
		})
	}
}

// The owner sees all of it, by model; a price that is unknown is not taken for nothing.
func TestOwnerSeesUsageByModel(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Access.Direct = access.DirectOpen
		w.cfg.Access.Owners = map[chat.EntityID]bool{"olga": true}
		w.withPrices(quota.Limits{}, false)
		n := w.start()
		w.model.queue([]step{write("Good."), reported(llm.Usage{Prompt: 1234567, Completion: 5})})
		n.chatAs("eve", "How are you?")
		got := n.chatAs("olga", "/usage")
		for _, line := range []string{
			"- You, today: nothing", "- Everyone, today: 1 message, 1,234,567 tokens in, 5 out, price unknown",
			"- `openai/large`, this month: 1,234,567 tokens in, 5 out, price unknown",
		} {
			if !strings.Contains(got, line) {
				t.Errorf("no %q in %s", line, got)
			}
		}
	})
}

// spoken is a WAV file of 2,000 bytes a second.
func spoken(length time.Duration) []byte {
	size := int(length.Seconds() * 2000)
	b := []byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\xe8\x03\x00\x00\xd0\x07\x00\x00\x02\x00\x10\x00data")
	return append(binary.LittleEndian.AppendUint32(b, uint32(size)), make([]byte, size)...)
}

// silence is a FLAC file whose header claims ten hours, in few bytes.
func silence() []byte {
	b := []byte("fLaC\x80\x00\x00\x22\x10\x00\x10\x00\x00\x00\x00\x00\x00\x00")
	b = binary.BigEndian.AppendUint64(b, 16000<<44|15<<36|16000*36000)
	return append(b, make([]byte, 59_000)...)
}

// Sound is paid by its length, not by its bytes. Where its length is paid or limited, what could hide it is refused, and nothing is charged.
func TestSoundIsPaidByLength(t *testing.T) {
	for name, c := range map[string]struct {
		data  []byte
		hour  quota.USD
		limit int // tokens
		want  quota.Cost
		err   error
	}{
		"a minute":                          {spoken(time.Minute), quota.Dollar, 0, quota.Cost{Tokens: 300, USD: 16_666_667}, nil},
		"ten hours of silence":              {silence(), quota.Dollar, 0, quota.Cost{}, sound.ErrTooLong},
		"ten hours, with a limit of tokens": {silence(), 0, 1e6, quota.Cost{}, sound.ErrTooLong},
		"an unknown format":                 {make([]byte, 20_000), quota.Dollar, 0, quota.Cost{}, sound.ErrUnknown},
		"an unknown format for nothing":     {make([]byte, 20_000), 0, 0, quota.Cost{Tokens: 50}, nil},
	} {
		withHarness(t, func(w *harness) {
			m := quota.NewMeter(quota.Limits{Total: quota.Cost{Tokens: c.limit}}, w.Store, w.cfg.Log)
			all := m.Models(llm.Models{Transcriber: tool{}}, quota.Tariffs{Transcription: quota.Tariff{Price: quota.Price{Hour: c.hour}, Known: true}})
			if _, err := all.Transcriber.Transcribe(w.Context(), "", "", c.data); !errors.Is(err, c.err) {
				w.Errorf("%s: %v", name, err)
			}
			w.Must(m.Save(w.Context()))
			if got := w.spent("total"); got != c.want {
				w.Errorf("%s: %+v, not %+v", name, got, c.want)
			}
		})
	}
}

// The end of an answer has the sum over its calls, of all processes that have worked on it as far as they are known.
func TestUsageOfAnswer(t *testing.T) {
	first, second := llm.Usage{Prompt: 100, Cached: 40, Completion: 10}, llm.Usage{Prompt: 200, Completion: 20}
	sum := llm.UsageSum{Calls: 2, Prompt: 300, Completion: 30, Cached: 40, Provider: "openai", Model: "large"}
	guess := func(u llm.UsageSum) llm.UsageSum { u.Estimated = true; return u }
	look := func(u llm.Usage) []step { return []step{pause(time.Second), call(0, "c", "LOOK", "{}"), reported(u)} }
	ends := []step{pause(time.Second), write("Good."), reported(second)}
	for name, c := range map[string]struct {
		play func(w *harness, n *process) (*process, chat.Accepted)
		want llm.UsageSum
	}{
		"two calls": {func(w *harness, n *process) (*process, chat.Accepted) {
			w.model.queue(look(first), ends)
			return n, n.sendText("How are you?")
		}, sum},
		"a refused call": {func(w *harness, n *process) (*process, chat.Accepted) {
			w.model.queue([]step{fails(&llm.Failure{Kind: llm.RateLimited})})
			return n, n.sendText("How are you?")
		}, llm.UsageSum{}},
		"a call that reports nothing": {func(w *harness, n *process) (*process, chat.Accepted) {
			w.model.queue([]step{pause(time.Second), write("Good.")})
			return n, n.sendText("How are you?")
		}, guess(llm.UsageSum{Calls: 1, Prompt: -1, Completion: 1, Provider: "openai", Model: "large"})},
		"a wait for an approval": {func(w *harness, n *process) (*process, chat.Accepted) {
			w.model.queue([]step{call(0, "o", "ORDER", `{"item":"tea"}`), reported(first)}, ends)
			acc := n.sendText("Order tea")
			q := w.waitParked(acc)
			n.shutdown()
			n = w.start()
			n.deliver(chat.Choice(pressed(q, 0)))
			return n, acc
		}, sum},
		"a crash": {func(w *harness, n *process) (*process, chat.Accepted) {
			w.model.queue([]step{write(fox), pause(time.Hour)}, ends)
			acc := n.sendText("How are you?")
			synctest.Wait()
			_ = n.Stop()
			return w.start(), acc
		}, guess(llm.UsageSum{Calls: 1, Prompt: 200, Completion: 20, Provider: "openai", Model: "large"})},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.withShop()
			w.addActions(&fakeAction{name: "LOOK"})
			w.watchOnly()
			w.withPrices(quota.Limits{}, true)
			n, acc := c.play(w, w.start())
			_, v, err := n.readAnswer(acc.Run)
			for errors.Is(err, answer.ErrLost) { // it was parked
				_, v, err = n.readAnswer(acc.Run)
			}
			w.Must(err)
			got := cmp.Or(v.Outcome.Usage, &llm.UsageSum{})
			if c.want.Prompt < 0 && got.Prompt > 0 { // the length of the prompt
				c.want.Prompt = got.Prompt
			}
			if *got != c.want {
				w.Errorf("it used %+v, not %+v", *got, c.want)
			}
			w.model.modelCalls()
		}))
	}
}

// A usage that can't be true is not believed: it gives nothing back, and no total overflows.
func TestImpossibleUsage(t *testing.T) {
	for name, limits := range map[string]quota.Limits{"no limits": {}, "a limit": {Person: quota.Cost{Tokens: 1e9}}} {
		withHarness(t, func(w *harness) {
			w.cfg.Access.Direct = access.DirectOpen
			w.withPrices(limits, true)
			n := w.start()
			for _, u := range []llm.Usage{{Prompt: -5000, Completion: 1}, {Prompt: 1, Completion: -5000}, {Prompt: math.MaxInt, Completion: math.MaxInt}, {Prompt: 10, Cached: math.MinInt}} {
				w.model.queue([]step{write("Good."), reported(u)})
				n.chatAs("eve", "How are you?")
			}
			got := n.chatAs("eve", "/usage")
			var in int
			if _, err := fmt.Sscanf(strings.ReplaceAll(got, ",", ""), "- You today: 4 messages %d tokens in", &in); err != nil || in < 4 || in > 100_000 || strings.Contains(got, "-5") {
				t.Errorf("%s: %v, %s", name, err, got)
			}
		})
	}
}

func reported(u llm.Usage) step {
	return func(context.Context) (*llm.Chunk, error) { return &llm.Chunk{Usage: &u}, nil }
}

// A call whose maximum is unknown has one while money is limited, and it is reserved in full: what is left then limits the answer.
func TestMoneyLimitsCalls(t *testing.T) {
	for _, c := range []struct {
		own, want int
		left      quota.USD
	}{
		{0, 4000, quota.Dollar}, {300, 300, quota.Dollar}, {0, 1000, 2_000_000}, {0, -1, 400_000},
	} {
		withHarness(t, func(w *harness) {
			p := &seller{writes: 10, own: c.own}
			m := quota.NewMeter(quota.Limits{Total: quota.Cost{USD: c.left}}, w.Store, w.cfg.Log)
			t := quota.Tariff{Price: quota.Price{Rates: quota.Rates{Output: 2e6}}, Known: true}
			var err error
			for _, failed := range m.Models(llm.Models{Large: p}, quota.Tariffs{Chat: map[string]quota.Tariff{llm.DefaultName: t}}).Large.Generate(w.Context(), llm.Request{}) {
				err = errors.Join(err, failed)
			}
			var over *quota.LimitError
			switch {
			case c.want < 0 && (!errors.As(err, &over) || p.calls > 0):
				w.Errorf("%+v: %d calls, %v", c, p.calls, err)
			case c.want >= 0 && (err != nil || len(p.maxima) != 1 || p.maxima[0] != c.want):
				w.Errorf("%+v: it was given %v, %v", c, p.maxima, err)
			}
			if spent := w.spent("total"); c.want >= 0 && spent.USD != 10*2000 { // of what was written
				w.Errorf("%+v: spent are %+v", c, spent)
			}
		})
	}
}

// Pictures and recordings have their price, however many tokens they count as; a refused one is returned.
func TestFixedPricesAreCharged(t *testing.T) {
	for _, refusal := range []error{nil, &llm.Failure{Kind: llm.RateLimited, Err: errors.New("429")}} {
		for name, limits := range map[string]quota.Limits{"no limits": {}, "a limit": {Total: quota.Cost{USD: quota.Dollar}}} {
			withHarness(t, func(w *harness) {
				m := quota.NewMeter(limits, w.Store, w.cfg.Log)
				all := m.Models(llm.Models{ImageGenerator: tool{refusal}, Transcriber: tool{refusal}, Embedder: tool{refusal}}, quota.Tariffs{
					Image:         quota.Tariff{Price: quota.Price{Image: 40_000_000}, Known: true},
					Transcription: quota.Tariff{Price: quota.Price{Hour: 360_000_000}, Known: true},
					Embedding:     quota.Tariff{Price: quota.Price{Rates: quota.Rates{Input: 20_000}}, Known: true},
				})
				_, _ = all.ImageGenerator.GenerateImage(w.Context(), "a castle")
				_, _ = all.Transcriber.Transcribe(w.Context(), "", "", spoken(10*time.Second))
				_, _ = all.Embedder.Embed(w.Context(), []string{"a castle"}) // two tokens
				stop, cancel := context.WithCancel(w.Context())
				cancel()
				m.Run(stop)
				want := quota.USD(40_000_000 + 1_000_000 + 40)
				if refusal != nil {
					want = 0
				}
				if got := w.spent("total"); got.USD != want {
					w.Errorf("%s, %v: %+v, not %d", name, refusal, got, want)
				}
			})
		}
	}
}

// What can't be stored is stored later. With limits nothing waits.
func TestUsageWaitsForTheStore(t *testing.T) {
	withHarness(t, func(w *harness) {
		down := &failingOnce{UsageStore: w.Store}
		m := quota.NewMeter(quota.Limits{}, down, w.cfg.Log)
		ctx, cancel := context.WithCancel(w.Context())
		var running sync.WaitGroup
		running.Go(func() { m.Run(ctx) })
		p := &seller{writes: 10}
		for range m.Models(llm.Models{Large: p}, quota.Tariffs{}).Large.Generate(ctx, llm.Request{}) {
		}
		if got := w.spent("total"); got.Tokens != 0 {
			w.Errorf("at once: %+v", got)
		}
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if got := w.spent("total"); got.Tokens != 0 || down.calls != 1 {
			w.Errorf("while the store is down: %+v after %d calls", got, down.calls)
		}
		cancel()
		running.Wait()
		if got := w.spent("total"); got.Tokens != prompted+10 {
			w.Errorf("in the end: %+v", got)
		}
	})
}

// failingOnce fails the first time.
type failingOnce struct {
	quota.UsageStore
	calls int
}

func (f *failingOnce) Spend(ctx context.Context, day string, charges ...quota.Charge) (string, error) {
	if f.calls++; f.calls == 1 {
		return "", errors.New("the disk is full")
	}
	return f.UsageStore.Spend(ctx, day, charges...)
}
