package modelfake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
	"unicode/utf8"
)

// reply is one answer being played. It thinks in the data events of a stream; its sink shows them as a stream or as a
// whole.
type reply struct {
	w    http.ResponseWriter
	req  *Request
	head chunk
	out  sink

	status   int
	pace     time.Duration
	opened   bool // the role is sent
	finished bool // Finish was a step
	noDone   bool
	calls    int // tool calls opened
	runes    int // of content, reasoning and arguments
	told     *Usage
	events   int
	faults   map[int]Step // by the number of events before them
}

// sink is how the answer reaches the client.
type sink interface {
	data(payload []byte) error // of one data event
	comment(text string) error
	end() error
	started() bool // it is too late for a status
}

func newReply(w http.ResponseWriter, req *Request) *reply {
	r := &reply{w: w, req: req, status: http.StatusOK, faults: map[int]Step{}}
	r.head = chunk{ID: fmt.Sprintf("chatcmpl-%d", req.Number), Object: "chat.completion.chunk", Created: time.Now().Unix(), Model: req.Model}
	r.out = &whole{w: w}
	if req.Stream {
		r.out = &stream{w: w}
	}
	return r
}

// play returns errCut, or why the client did not hear the end.
func (r *reply) play(ctx context.Context, script Script) error {
	err := r.steps(ctx, script)
	if errors.Is(err, errEnded) {
		return nil
	}
	return err
}

func (r *reply) steps(ctx context.Context, script Script) error {
	for _, step := range script {
		if err := step(ctx, r); err != nil {
			return err
		}
	}
	if !r.finished {
		reason := "stop"
		if r.calls > 0 {
			reason = "tool_calls"
		}
		if err := Finish(reason)(ctx, r); err != nil {
			return err
		}
	}
	if usage := r.usage(); !r.req.Stream || r.wantsUsage() {
		if err := r.chunk(ctx, []choice{}, &usage); err != nil {
			return err
		}
	}
	return r.end(ctx)
}

// end sends [DONE], which counts as no event.
func (r *reply) end(ctx context.Context) error {
	if err := r.disturb(ctx); err != nil {
		return err
	}
	if !r.noDone {
		if err := r.out.data([]byte("[DONE]")); err != nil {
			return err
		}
	}
	return r.out.end()
}

func (r *reply) fail(ctx context.Context, e *apiError) error {
	if err := r.data(ctx, encode(errorBody{e})); err != nil {
		return err
	}
	if !r.req.Stream {
		r.status = e.status
	}
	return r.end(ctx)
}

func (r *reply) open(ctx context.Context) error {
	if r.opened {
		return nil
	}
	r.opened = true
	return r.delta(ctx, delta{Role: "assistant", Content: new("")})
}

// piece sends a delta that holds a piece of what the model writes.
func (r *reply) piece(ctx context.Context, text string, d delta) error {
	if err := wait(ctx, r.pace); err != nil {
		return err
	}
	if err := r.delta(ctx, d); err != nil {
		return err
	}
	r.runes += utf8.RuneCountInString(text)
	return nil
}

func (r *reply) openCall(ctx context.Context, id, name string, arguments *string) error {
	index := r.calls
	r.calls++
	return r.delta(ctx, delta{ToolCalls: []wireCall{{
		Index: &index, ID: id, Type: "function", Function: wireFunction{Name: &name, Arguments: arguments},
	}}})
}

func (r *reply) delta(ctx context.Context, d delta) error {
	return r.choice(ctx, encode(d), nil)
}

func (r *reply) choice(ctx context.Context, delta json.RawMessage, finish *string) error {
	if err := r.open(ctx); err != nil {
		return err
	}
	return r.chunk(ctx, []choice{{Delta: delta, FinishReason: finish}}, nil)
}

func (r *reply) chunk(ctx context.Context, choices []choice, usage *Usage) error {
	c := r.head
	c.Choices = choices
	if r.wantsUsage() {
		c.Usage = json.RawMessage("null")
	}
	if usage != nil {
		c.Usage = encode(usage.wire())
	}
	return r.data(ctx, encode(c))
}

// data sends one event, unless it is the turn of a fault or the client has left.
func (r *reply) data(ctx context.Context, payload []byte) error {
	if err := r.disturb(ctx); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := r.out.data(payload); err != nil {
		return err
	}
	r.events++
	return nil
}

func (r *reply) disturb(ctx context.Context) error {
	fault := r.faults[r.events]
	if fault == nil {
		return nil
	}
	delete(r.faults, r.events)
	return fault(ctx, r)
}

func (r *reply) wantsUsage() bool {
	return r.req.StreamOptions != nil && r.req.StreamOptions.IncludeUsage
}

// usage is what a provider would charge so far.
func (r *reply) usage() Usage {
	if r.told != nil {
		return *r.told
	}
	asked := 0
	for _, m := range r.req.Messages {
		asked += utf8.RuneCountInString(m.Content)
	}
	prompt := (asked + 3) / 4
	return Usage{Prompt: prompt, Completion: (r.runes + 3) / 4, Cached: prompt * r.req.cached / 1000}
}

func cutBy(by []Pieces, text string) []string {
	if len(by) == 0 {
		return Whole(text)
	}
	return by[0](text)
}

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
