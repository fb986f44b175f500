package replicas

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"time"

	"parley/core/action"
	"parley/core/llm"
)

// model answers slowly, with the id of the question and words that no other call has. It has some questions call an action first.
type model struct {
	p *process
}

var question = regexp.MustCompile(`[bq][0-9]+`)

// Generate implements [llm.Model].
func (m model) Generate(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		last := req.Messages[len(req.Messages)-1]
		var id string
		for _, r := range req.Messages {
			if ids := question.FindAllString(r.Text, -1); r.Role == llm.RoleUser && !r.Context && len(ids) > 0 {
				id = ids[len(ids)-1]
			}
		}
		luck := m.p.w.luckOf(id)
		acts, name := luck.IntN(5) == 0, "WRITE"
		if strings.HasPrefix(id, "b") {
			acts, name = true, "BUY"
		}
		words := 1 + luck.IntN(60)
		if acts && last.Role != llm.RoleTool {
			if !yield(llm.Chunk{Text: "Let me see about " + id + " first. "}, nil) || !pause(ctx, time.Second) {
				return
			}
			yield(llm.Chunk{Call: &llm.CallDelta{ID: "w", Name: name, Parameters: fmt.Sprintf(`{"for":%q,"size":1}`, id[1:])}}, nil)
			return
		}
		text := fmt.Sprintf("Answer to %s, call %d:%s", id, m.p.w.called(id), strings.Repeat(" word", words))
		if last.Role == llm.RoleTool {
			text += " " + strings.Join(strings.Fields(last.Text), " ")
		}
		for piece := range strings.SplitAfterSeq(text, " ") {
			if !pause(ctx, time.Duration(luck.IntN(600))*time.Millisecond) || !yield(llm.Chunk{Text: piece}, nil) {
				return
			}
		}
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// writes is an action with an effect outside. Some of them need an approval.
type writes struct {
	p    *process
	name string
}

// Spec implements [action.Action].
func (a writes) Spec() action.Spec {
	return action.Spec{Name: a.name, Description: "writes", Parameters: json.RawMessage(`{"type":"object","properties":{"size":{"type":"integer"}}}`), Effect: action.Writes}
}

// Guard implements [action.Guarded].
func (a writes) Guard(*action.Call) *action.Approval {
	if a.name != buys {
		return nil
	}
	return &action.Approval{Server: "shop", Tool: a.name}
}

// Act implements [action.Action].
func (a writes) Act(ctx context.Context, c *action.Call) (action.Result, error) {
	var in struct {
		For  string
		Size int
	}
	if err := json.Unmarshal(c.Parameters, &in); err != nil {
		return action.Result{}, err
	}
	if a.name == buys {
		in.For = bought(c.Turn.Run, action.Hash(strings.Replace(string(c.Parameters), `"size":9`, `"size":1`, 1)), in.Size)
	}
	err := act(ctx, a.p, call{toPlatform, "action", in.For, true, time.Second}, func() error { a.p.w.ledger.add(in.For); return nil })
	return action.Result{Text: "done it", Short: "done it"}, err
}

// ledger counts what an action wrote.
type ledger struct {
	mu    sync.Mutex
	times map[string]int
}

func (l *ledger) add(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.times[id]++
}

// luckOf returns the luck of a question: it depends on the seed and the question alone.
func (w *simulation) luckOf(id string) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, id)
	return rand.New(rand.NewPCG(w.seed, h.Sum64()))
}
