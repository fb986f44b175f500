//go:build unix

package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/internal/require"
	"parley/models/modelfake"
)

const (
	tokenEvery = 50 * time.Millisecond // a model that writes 20 tokens a second
	ending     = " rest."              // its last token
	window     = 3 * time.Second       // of the time after all have begun: the answers to what is asked then count
)

// load is so many people who ask one question after the other, so that as many answers are always being written.
type load struct {
	conversations int
	tokens        int    // of an answer
	opening       string // its first token
	stamps        []stamp
	zero          time.Time
	ask           func(conversation int) (reading, error)

	mu          sync.Mutex
	first, last []time.Duration
	asked       []time.Duration
}

// stamp is when the model server wrote the first and the last token of a conversation's newest answer.
type stamp struct{ first, last atomic.Int64 }

// BenchmarkLatency is the time that the gateway adds: between a token leaving the model server and its frame being
// read by the web client. The model server, the gateway and the clients share the machine's cores.
func BenchmarkLatency(b *testing.B) {
	for _, size := range []struct{ conversations, tokens int }{{1, 6}, {100, 40}, {1000, 100}} {
		b.Run(fmt.Sprintf("conversations=%d", size.conversations), func(b *testing.B) {
			l := newLoad(b, size.conversations, size.tokens)
			web := gateway(b, "", l.script)
			ids := make([]string, l.conversations)
			for i := range ids {
				var err error
				if ids[i], err = web.open(); err != nil {
					b.Fatal(err)
				}
			}
			l.ask = func(i int) (reading, error) { return web.ask(ids[i], question(i)) }
			l.bench(b)
		})
	}
}

// BenchmarkLatencyDirect is the same without a gateway: the clients ask the model server. It is the part of
// [BenchmarkLatency] that the model server, the clients and the machine have.
func BenchmarkLatencyDirect(b *testing.B) {
	b.Run("conversations=1000", func(b *testing.B) {
		l := newLoad(b, 1000, 40)
		base, c := model(b, l.script), client(b)
		l.ask = func(i int) (reading, error) { return askModel(c, base, question(i)) }
		l.bench(b)
	})
}

func newLoad(b *testing.B, conversations, tokens int) *load {
	needFiles(b, uint64(5*conversations+200))
	return &load{
		conversations: conversations, tokens: tokens, opening: "Well, ", stamps: make([]stamp, conversations), zero: time.Now(),
	}
}

// length is how long an answer takes.
func (l *load) length() time.Duration { return time.Duration(l.tokens) * tokenEvery }

func question(conversation int) string { return fmt.Sprint("What is new, number ", conversation) }

// script answers the question of a conversation at the usual pace, and notes when it does.
func (l *load) script(r modelfake.Request) modelfake.Script {
	question := r.LastUser()
	i, err := strconv.Atoi(question[strings.LastIndexByte(question, ' ')+1:])
	if err != nil {
		panic(err)
	}
	noting := func(when *atomic.Int64) modelfake.Pieces {
		return func(text string) []string {
			when.Store(int64(time.Since(l.zero)))
			return []string{text}
		}
	}
	return modelfake.Script{
		modelfake.Open(), modelfake.Pause(tokenEvery), modelfake.Text(l.opening, noting(&l.stamps[i].first)),
		modelfake.Pace(tokenEvery), modelfake.Text(strings.Repeat("word ", l.tokens-3)+"and", modelfake.ByWord),
		modelfake.Pace(0), modelfake.Pause(tokenEvery), modelfake.Text(ending, noting(&l.stamps[i].last)),
	}
}

func (l *load) bench(b *testing.B) {
	var cpu, took time.Duration
	for b.Loop() {
		used, began := cpuTime(b), time.Now()
		require.NoError(b, l.run(began))
		cpu, took = cpu+cpuTime(b)-used, took+time.Since(began)
	}
	b.ReportMetric(0, "ns/op") // of no meaning
	reportTimes(b, "first", l.first)
	reportTimes(b, "done", l.last)
	reportTimes(b, "answer", l.asked)
	b.ReportMetric(float64(len(l.first)), "answers")
	b.ReportMetric(float64(cpu)/float64(took), "cores-used")
}

// run lets the people come one by one over the time of an answer.
func (l *load) run(began time.Time) error {
	luck := rand.New(rand.NewPCG(1, 2))
	failed := make(chan error, l.conversations)
	for i := range l.conversations {
		offset := time.Duration(luck.Int64N(int64(l.length())))
		go func() {
			time.Sleep(offset)
			failed <- l.converse(i, began.Add(l.length()))
		}()
	}
	for range l.conversations {
		if err := <-failed; err != nil {
			return err
		}
	}
	return nil
}

func (l *load) converse(i int, from time.Time) error {
	for time.Since(from) < window {
		r, err := l.ask(i)
		if err != nil {
			return fmt.Errorf("conversation %d: %w", i, err)
		}
		if r.sent.After(from) {
			l.note(r, &l.stamps[i])
		}
	}
	return nil
}

func (l *load) note(r reading, s *stamp) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.first = append(l.first, r.first.Sub(l.zero)-time.Duration(s.first.Load()))
	l.last = append(l.last, r.done.Sub(l.zero)-time.Duration(s.last.Load()))
	l.asked = append(l.asked, r.first.Sub(r.sent)-tokenEvery)
}

// askModel asks a model server as the gateway does.
func askModel(c *http.Client, base, question string) (r reading, err error) {
	body, err := json.Marshal(map[string]any{
		"model": modelfake.DefaultModel, "stream": true, "messages": []any{map[string]string{"role": "user", "content": question}},
	})
	if err != nil {
		return r, err
	}
	r.sent = time.Now()
	resp, err := c.Post(base+"/v1/chat/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		return r, err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end
	if resp.StatusCode != http.StatusOK {
		return r, fmt.Errorf("asking the model server: %s", resp.Status)
	}
	return r, r.follow(resp.Body, modelMarks)
}

// modelMarks are the content that script begins with, and the end.
var modelMarks = marks{[]byte(`"Well, "`), []byte("[DONE]")}
