package core

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
)

const (
	maxSteps = 6           // rounds of the model in one run; the last is given no tools, so that it answers
	attempts = 3           // model calls of one round: over transport errors and empty output together
	backoff  = time.Second // before the second attempt; then twice that
)

var (
	errTold    = errors.New("people were told why not") // the answer is complete, without the model
	errEmpty   = errors.New("the model said nothing")
	errEndless = errors.New("the model asks for actions without end")
)

// generate writes the answer: rounds of the model, with the actions it asks for between them.
func (x *execution) generate(ctx context.Context) error {
	req, err := x.compose(ctx)
	if errors.Is(err, errTold) {
		return nil
	} else if err != nil {
		return err
	}
	for step := range maxSteps {
		if step == maxSteps-1 {
			req.Tools = nil
		}
		r, err := x.round(ctx, req, step)
		if err != nil {
			return err
		}
		if len(r.calls) == 0 {
			x.limit(r, step)
			return nil
		}
		results, err := x.actAll(ctx, step, r.calls)
		if err != nil {
			return err
		}
		if x.over() {
			return x.spoken()
		}
		req.Turns = append(req.Turns, Turn{Role: Assistant, Text: r.text.String(), Calls: r.calls})
		req.Turns = append(req.Turns, results...)
	}
	return nil
}

// actAll makes the calls of a round, one after the other, and returns what the model is told of them.
func (x *execution) actAll(ctx context.Context, step int, calls []ToolCall) (results []Turn, err error) {
	if step == maxSteps-1 {
		return nil, errEndless
	}
	for _, c := range calls {
		result, err := x.act(ctx, c)
		if err != nil {
			return nil, err
		}
		results = append(results, Turn{Role: ToolRole, Call: c.ID, Text: result})
	}
	return results, nil
}

// round is one answer of the model, tried again within one budget while nothing of it can be seen.
func (x *execution) round(ctx context.Context, req Request, step int) (*round, error) {
	empty := false
	for try := 1; ; try++ {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		r := &round{x: x, step: step}
		err := r.read(ctx, req)
		var f *Failure
		switch {
		case err == nil && !r.silent():
			return r, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err == nil && (empty || try == attempts):
			return nil, &Failure{Kind: ProviderIssue, Err: errEmpty}
		case err == nil: // LM-06: once more, unchanged
			empty = true
			continue
		case !errors.As(err, &f) || !f.Retry || r.visible || try == attempts:
			return nil, err
		}
		wait := max(f.After, x.jitter(backoff<<try))
		if end, ok := ctx.Deadline(); ok && time.Until(end) < wait { // people are told now, not when the time is up
			return nil, err
		}
		x.cfg.Log.Warn("the model failed; trying again", "run", x.run.ID, "try", try, "err", err)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// limit says so when the provider, not the model, ended the answer.
func (x *execution) limit(r *round, step int) {
	why := ""
	switch r.finish {
	case FinishLength:
		why = "_(The model's length limit cuts the answer here.)_"
	case FinishFilter:
		why = "_(The provider's content filter ended the answer here.)_"
	default:
		return
	}
	x.answer.Apply(Change{Kind: Text, Step: step + 1, Text: why})
}

// round collects what one call of the model says.
type round struct {
	x       *execution
	step    int
	text    strings.Builder
	calls   []ToolCall
	index   map[int]int // of a call's pieces → of calls
	finish  FinishReason
	visible bool
}

func (r *round) silent() bool {
	return strings.TrimSpace(r.text.String()) == "" && len(r.calls) == 0 && r.finish != FinishFilter
}

// read follows the model under a watchdog: only what the model produces counts as life (LM-03).
func (r *round) read(ctx context.Context, req Request) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	dog := time.AfterFunc(r.x.cfg.Turns.First, func() { cancel(ErrStalled) })
	defer dog.Stop()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the model panicked: %v\n%s", p, debug.Stack())
		}
	}()
	for c, err := range r.x.cfg.Models.Large.Generate(ctx, req) {
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return cause
			}
			return fmt.Errorf("generate: %w", err)
		}
		dog.Reset(r.x.cfg.Turns.Idle)
		r.take(c)
	}
	return context.Cause(ctx)
}

func (r *round) take(c Chunk) {
	c.Text = clean(c.Text)
	if c.Text != "" && (r.text.Len() > 0 || strings.TrimSpace(c.Text) != "") {
		r.text.WriteString(c.Text)
		r.visible = true
		r.x.answer.Apply(Change{Kind: Text, Step: r.step, Text: c.Text})
	}
	if c.Call != nil {
		r.piece(*c.Call)
	}
	if c.Finish != "" {
		r.finish = c.Finish
	}
}

// piece adds to the call that it belongs to, by index: pieces of parallel calls come mixed.
func (r *round) piece(d CallDelta) {
	i, ok := r.index[d.Index]
	if !ok {
		if r.index == nil {
			r.index = map[int]int{}
		}
		i = len(r.calls)
		r.index[d.Index] = i
		r.calls = append(r.calls, ToolCall{ID: r.x.callID(d.ID), Name: d.Name})
		r.visible = true
		r.x.begin(r.calls[i], r.step)
	}
	if d.Parameters != "" {
		r.calls[i].Parameters = append(r.calls[i].Parameters, d.Parameters...)
		r.x.stage(r.calls[i], Tool{Stage: StageStreaming, ParametersChunk: d.Parameters})
	}
}
