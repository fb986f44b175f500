package generate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/core/answer"
	"parley/core/generate/xmlform"
	"parley/core/llm"
	"parley/core/text"
	"parley/internal/contain"
	"parley/internal/lang"
	"parley/internal/rest"
)

const (
	attempts = 3           // model calls of one round: over transport errors, empty and unreadable output together
	backoff  = time.Second // before the second attempt; then twice that
)

// round is the output of one call of the model, in either form. It grows while the model writes, and belongs to the
// Writer's goroutine.
type round struct {
	w      *Writer
	step   int
	form   bool // it was asked for tags
	hidden bool // its text is not shown
	rest   bool // its text continues an existing one
	orders bool // its text has a place among its actions

	scan   *xmlform.Scanner
	text   strings.Builder
	calls  []llm.ToolCall
	index  map[int]int    // of a call's pieces → of calls
	after  []llm.ToolCall // of calls, those that follow the text if that is held
	wrote  xmlform.Result // everything but text and calls
	open   bool           // it ended within its text
	some   bool           // it wrote something, readable or not
	finish llm.FinishReason
	// visible reports whether users have seen a part of it. Then it can't be repeated silently.
	visible bool
	remote  bool // the provider has run calls: they are not repeated
	parted  bool // text that follows is below such a call
	showed  bool // it has shown a status
	opaque  *llm.Opaque
	keeps   json.RawMessage // for the next request of the session; nil keeps the earlier one
	above   int             // the length of text before the last of these calls
	opened  func()          // begins the scanner again, for text that replaces the earlier one
}

// blank reports whether there is no text.
func (r *round) blank() bool { return strings.TrimSpace(r.text.String()) == "" }

// useless reports whether the round has no usable content, so that it is worth another attempt. An answer without a
// thought is usable. An answer that the filter stopped is not repeated either, because it would be stopped again.
func (r *round) useless() bool {
	switch {
	case r.finish == llm.FinishFilter, len(r.wrote.Providers) > 0, r.wrote.Finish:
		return false
	case r.remote, r.showed:
		return false
	case r.w.Route.Current().Agent && r.finish == llm.FinishStop: // it has done its work, and says nothing
		return false
	case r.hidden && r.form:
		return !r.wrote.Rooted || r.wrote.Cut
	case !r.blank():
		return false
	case !r.form:
		return len(r.calls) == 0
	}
	for _, c := range r.calls {
		if r.reservedAction(c) != reply {
			return false
		}
	}
	return true
}

// build returns the request of a round. A limit is the maximum number of tokens of the prompt from now on.
type build func(ctx context.Context, limit int) (llm.Request, error)

// round makes one call of the model, and repeats it within one budget while its output is hidden. Each attempt begins
// as a copy of like. Another model begins with a new budget. It fails with the last error if no model is left, and with
// the cause of ctx if that is done.
func (w *Writer) round(ctx context.Context, ask build, like *round) (*round, error) {
	var req llm.Request
	var failed error // the failure of the model before
	empty, asked := false, ""
	for try := 1; ; try++ {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		r := &round{w: like.w, step: like.step, form: like.form, hidden: like.hidden, rest: like.rest, orders: like.orders}
		if m := w.Route.Current(); m.Name != asked {
			var err error
			if req, err = w.requestFor(ctx, m, ask); err != nil {
				if w.tryNext(r, err) {
					try = 0
					continue
				}
				return nil, cmp.Or(failed, err)
			}
			asked = m.Name
			if err := w.pass(ctx, req, like); err != nil {
				return nil, err
			}
		}
		err := r.read(ctx, w.adapt(req))
		if err == nil && r.useless() && (empty || try == attempts) {
			err = &llm.Failure{Kind: llm.ProviderIssue, Err: errEmpty}
		}
		var f *llm.Failure
		switch {
		case err == nil && !r.useless():
			w.Route.Worked()
			return r, w.keepState(ctx, req, r)
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil && w.tryNext(r, err):
			try, empty, failed = 0, false, err
			continue
		case errors.Is(err, errEmpty):
			return nil, err
		// An empty output is tried once more, unchanged: a second one is probably deliberate. An unreadable one is
		// tried as often as there is budget, since models vary.
		case err == nil:
			empty = !r.some
			w.Log.Warn("the model returned nothing usable; retrying", "run", w.Info.Run, "try", try, "wrote", r.some)
			continue
		case !errors.As(err, &f) || !f.Retry || r.visible || try == attempts:
			return nil, err
		}
		wait := max(f.After, w.Jitter(backoff<<try))
		// Waiting would outlast the run, so users see the failure now, not when the time is up.
		if end, ok := ctx.Deadline(); ok && time.Until(end) < wait {
			return nil, err
		}
		w.Log.Warn("the model failed; retrying", "run", w.Info.Run, "try", try, "err", err)
		if err := rest.For(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// read makes the call and reads the model's stream under a watchdog: only output of the model counts as a sign of life,
// not an open connection. The first output may take longer than the pauses between later ones. A panic of the model's
// code becomes an error.
func (r *round) read(ctx context.Context, req llm.Request) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	dog := time.AfterFunc(r.w.First, func() { cancel(llm.ErrStalled) })
	defer dog.Stop()
	defer func() { r.close(err) }()
	defer contain.Recover(&err, "the model")
	opt := xmlform.Options{Tags: r.form, Joins: r.rest, Permit: r.w.Calls.Permits}
	if !r.rest { // otherwise there is only text
		opt.Known = func(name string) bool { return r.w.Calls.Toolbox.Find(name) != nil }
	}
	if r.orders {
		opt.Holds = r.repliesLater
	}
	r.opened = func() { r.scan = xmlform.New(opt) }
	r.opened()
	for c, err := range r.w.Route.Current().Model.Generate(ctx, req) {
		if err != nil {
			return r.broken(ctx, fmt.Errorf("generate: %w", err))
		}
		dog.Reset(r.w.Idle)
		if err := r.take(ctx, c); err != nil {
			return err
		}
	}
	return r.broken(ctx, nil)
}

// broken returns the reason why the answer breaks off, or nil if it doesn't: ctx is done, or err. A complete answer is
// neither requested again nor waited for: some servers don't end their streams properly. If the user stopped it, it
// breaks off in any case.
func (r *round) broken(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if cause != nil {
		err = cause
	}
	whole := r.finish != "" && r.finish != llm.FinishLength || r.scan.Whole()
	if err == nil || !whole || cause != nil && !errors.Is(cause, llm.ErrStalled) {
		return err
	}
	r.w.Log.Warn("the model failed after its answer", "run", r.w.Info.Run, "err", err)
	return nil
}

// take applies a chunk of the model's output.
func (r *round) take(ctx context.Context, c llm.Chunk) error {
	if c.Alive || c.Reasoning != "" {
		r.thinks(c.Reasoning)
	}
	if c.Rewrites {
		r.rewrite()
	}
	if c.Text != "" {
		r.some = true
		text := r.scan.Write(c.Text)
		if thought, open := r.scan.Thinking(); !r.form && (open || thought != "") { // the thought of a form is a part of it
			r.thinks(thought)
		}
		r.say(text)
	}
	if c.Call != nil {
		r.piece(*c.Call)
	}
	if c.Remote != nil {
		if err := r.ran(*c.Remote); err != nil {
			return err
		}
	}
	if c.Status != nil {
		r.some, r.visible, r.showed = true, true, true
		r.w.Calls.Status(*c.Status)
	}
	if c.Acts {
		if err := r.acts(ctx, c); err != nil {
			return err
		}
	}
	if c.State != nil {
		r.keeps = c.State
	}
	if c.Finish != "" {
		r.finish = c.Finish
	}
	if c.Opaque != nil {
		r.opaque = c.Opaque
	}
	return nil
}

// say shows text, unless the round is hidden. Text below a call that the provider ran is another segment, with a number
// of its own.
func (r *round) say(text string) {
	if text == "" {
		return
	}
	if r.parted {
		r.parted, r.step = false, r.step+1
		r.text.WriteString("\n\n")
		r.above = r.text.Len()
	}
	r.text.WriteString(text)
	if !r.hidden {
		r.visible = true
		r.w.Answer.Apply(answer.Change{Kind: answer.Text, Step: r.step, Text: text})
	}
}

// acts journals a request that must not be repeated. The state before it is kept at once: the same request is not made for
// a later message either.
func (r *round) acts(ctx context.Context, c llm.Chunk) error {
	r.remote, r.visible = true, true
	if err := r.w.Calls.Acts(); err != nil {
		return err
	}
	if c.State == nil || r.w.Sessions == nil {
		return nil
	}
	return r.w.Sessions.Keep(ctx, r.w.Route.Current().Name, c.State)
}

// rewrite removes the text since the last call that the provider ran: other text follows in its place.
func (r *round) rewrite() {
	if r.parted || r.text.Len() == r.above {
		return
	}
	r.opened()
	kept := r.text.String()[:r.above]
	r.text.Reset()
	r.text.WriteString(kept)
	if !r.hidden {
		r.w.Answer.Apply(answer.Change{Kind: answer.Withdrawn, Step: r.step})
	}
}

// thinks shows that the model reasons, and its reasoning if the owner enabled that. It shows nothing after the end of
// the answer. The amount is bounded, because some models reason for hundreds of kilobytes.
func (r *round) thinks(reasoning string) {
	how := r.w.Route.Current().Thinking
	if how == llm.ThinkingOff || r.finish != "" {
		return
	}
	r.w.Answer.Apply(answer.Change{Kind: answer.Thinking})
	if how != llm.ThinkingFull || reasoning == "" || r.w.reasoned >= maxReasoning {
		return
	}
	reasoning = text.CutBytes(text.Clean(reasoning), maxReasoning-r.w.reasoned)
	r.w.reasoned += len(reasoning)
	r.w.Answer.Apply(answer.Change{Kind: answer.Reasoning, Text: reasoning})
}

// maxReasoning is the maximum of visible reasoning in one answer, in bytes.
const maxReasoning = 256 << 10

// piece adds to the call that it belongs to, by index: pieces of parallel calls come mixed. A call is shown from its
// first piece on, unless it is a reserved word. Its parameters may not be JSON at any point; they are checked when the
// call is made.
func (r *round) piece(d llm.CallDelta) {
	i, ok := r.index[d.Index]
	if !ok {
		if r.index == nil {
			r.index = map[int]int{}
		}
		i = len(r.calls)
		r.index[d.Index] = i
		c := llm.ToolCall{Name: text.Clean(d.Name)}
		if !r.hidden && r.reservedAction(c) == "" {
			c.ID = r.w.Calls.NewID(d.ID)
			r.visible = true
			r.w.Calls.Begin(c, r.step, false)
		}
		r.calls = append(r.calls, c)
	}
	if d.Parameters != "" {
		r.calls[i].Parameters = append(r.calls[i].Parameters, d.Parameters...)
		if r.calls[i].ID != "" {
			r.w.Calls.Stage(r.calls[i], answer.Tool{Stage: answer.StageStreaming, ParametersChunk: d.Parameters})
		}
	}
}

// ran shows a piece of a call that the provider runs.
func (r *round) ran(d llm.RemoteCall) error {
	r.remote, r.visible = true, true
	if d.Name != "" {
		r.parted = r.text.Len() > 0
	}
	return r.w.Calls.Remote(d, r.step)
}

// remoteEnd returns the reason why calls that the provider runs end with the round, after err.
func remoteEnd(v lang.Voice, err error) string {
	var f *llm.Failure
	switch {
	case err == nil:
		return v.Say("tool.no_result")
	case errors.As(err, &f):
		return v.Say("tool.agent_failed")
	}
	return v.Say("tool.interrupted")
}

// close ends the reading of the model's output: it returns the text that the scanner has held back as the possible
// beginning of a tag. Output of an answer that failed before any of it was visible is dropped.
func (r *round) close(err error) {
	if r.scan == nil {
		return
	}
	if r.remote {
		r.w.Calls.EndRemote(remoteEnd(lang.Of(r.w.Calls.Life), err))
	}
	r.open = r.scan.Open()
	rest, wrote := r.scan.Close(err != nil || len(r.calls) > 0)
	if err != nil {
		if r.visible {
			r.say(rest)
		}
		return
	}
	r.wrote = wrote
	r.say(rest)
	for _, c := range wrote.Calls {
		r.calls = append(r.calls, llm.ToolCall{Name: c.Name, Parameters: []byte(c.Parameters)})
	}
	for i, c := range r.calls {
		r.calls[i].Name, r.calls[i].Parameters = text.Clean(c.Name), text.CleanJSON(c.Parameters)
	}
	if wrote.Lost > 0 || wrote.Odd > 0 {
		r.w.Log.Warn("the model wrote malformed tags", "run", r.w.Info.Run, "odd", wrote.Odd, "lost_bytes", wrote.Lost)
	}
}

// cut reports whether the provider, not the model, ended the answer.
func (r *round) cut() bool {
	return r.finish == llm.FinishFilter || r.finish == llm.FinishLength && !r.scan.Whole()
}

// limit ends a truncated answer: with a note if it was too long, and as a failure if a filter stopped it. Its calls are
// not made, because they may be incomplete.
func (r *round) limit() error {
	if !r.cut() {
		return nil
	}
	for _, c := range r.calls {
		if c.ID != "" { // it is visible
			r.w.Calls.Stage(c, answer.Tool{Stage: answer.StageEnd, Error: lang.Say(r.w.Calls.Life, "tool.cut_off")})
		}
	}
	r.calls = nil
	if r.finish == llm.FinishFilter {
		return &llm.Failure{Kind: llm.ContentFilter, Err: errFiltered}
	}
	if !r.hidden {
		r.w.Answer.Apply(answer.Change{Kind: answer.Text, Step: r.step + 1, Text: "_(" + lang.Say(r.w.Calls.Life, "notice.cut_off") + ")_"})
	}
	return nil
}

var errFiltered = errors.New("the provider's content filter ended the answer")
