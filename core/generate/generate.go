// Package generate asks the model for an answer, in rounds: natively or in a form of tags, with the calls of actions
// between the rounds. A [Writer] writes the answer of one run; [Writer.Write] is its only entry. A [Route] chooses the model: the one
// that the room uses, and when that fails, those that may continue for it. A model that fails is left alone for a while.
//
// There are three ways, with the same result. Natively, the model writes text and calls tools, and is asked again with
// their results until it calls none. In the form, it fills a form of tags that every model can write, and a second one
// that tells what came of the actions. In several steps, it decides unseen what to do, one step after the other, and
// then writes the answer.
//
// What holds for all of them:
//
//   - A round is tried again, and another model tried, only while nothing of it can be seen, or what can be seen can be
//     taken back. People never read half a sentence that then begins differently.
//   - What a limit has cut off is not done: half of a list of calls can mean something else than all of it.
//   - An answer is bounded by rounds (MaxSteps), by attempts, and by the time between two outputs of the model.
//   - When an action parks the run until a person decides, [State] keeps what is needed to go on in any process.
//     Nothing that was done is done again.
//
// What calls do, and how they are recorded, is left to package toolcall; which model is asked, to package route; what
// is in the prompts, to package prompt.
package generate

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/event"
	"parley/core/llm"
	"parley/core/prompt"
	"parley/core/text"
	"parley/core/toolcall"
)

// Config defines how the model is asked for an answer.
type Config struct {
	Mode Mode
	// MultiStep decides one step after the other before it answers, with [XML] only.
	MultiStep bool
	// MaxSteps is how many rounds of the model one run may have; 0 is 6.
	MaxSteps int
}

// Mode is the form in which the model answers.
type Mode string

// The modes. Both make the same of an answer.
const (
	Native Mode = ""    // text, and calls of tools
	XML    Mode = "xml" // text with tags around its parts, which every model can write
)

// steps returns how many rounds one run may have.
func (g Config) steps() int {
	if g.MaxSteps == 0 {
		return 6
	}
	return g.MaxSteps
}

var (
	errEmpty   = errors.New("the model returned nothing")
	errEndless = errors.New("the model keeps calling actions")
)

// A Writer writes the answer of one run, with the model's text and the calls of actions between. Its fields are set
// before Write. It belongs to one goroutine; only Answer is read by others meanwhile.
type Writer struct {
	Config
	Only        []string      // the names of the models that were chosen for this answer; nil for all
	Route       *Route        // the model that answers, and those that continue for it
	First, Idle time.Duration // how long the model may take to its first output, and between two
	Answer      *answer.Answer
	Calls       *toolcall.Calls
	Unfollow    func() error // ends the agent's participation in the room until it is addressed again
	Jitter      func(time.Duration) time.Duration
	Info        event.RunInfo
	Emit        func(event.Event)
	Log         *slog.Logger

	// Removed reports whether the model that was chosen for the room is no longer configured: people are told so.
	Removed bool

	// Pass is called before each call of the model, except those for the rest of a text that was cut off, and those that repeat a
	// failed one. An error ends the answer, or has it wait. nil lets all pass.
	Pass func(ctx context.Context, req llm.Request) error
	// Allowed are the soft limits that the answer can exceed. It is kept while the run is parked.
	Allowed []string

	Trace Trace // how the answer came about
	// State is set when Write returns [chat.ErrParked], and before a Write that continues: see [Writer.Resume].
	State *State

	prompts  *prompt.Builder
	room     int          // the least room for a prompt of a model so far, in tokens
	reasoned int          // bytes of reasoning that were shown
	noticed  bool         // people were told that another model answers
	before   func() State // how far the answer has come before the next round; nil before the first
}

// Write writes the answer from the prompts of st to w.Answer, and returns when the answer is complete. It fails with
// [chat.ErrNothingToSay] if the model chose to say nothing, with [chat.ErrParked] if the run is to wait for a person
// (then State is set), with a [llm.Failure] if no model could answer, and with the cause of ctx if that is done. What
// was written before an error stays in the answer.
func (w *Writer) Write(ctx context.Context, st *prompt.Builder) error {
	w.prompts, w.room = st, st.LimitFor(st.Limit)
	if w.Removed {
		w.notice(0, answer.RemovedModel)
	} else if w.Route.Replaced() {
		w.notice(0, w.anotherModel(w.Route.Wanted()))
	}
	// A parked run continues in the mode in which it was parked, even if the configuration has changed since: only
	// native rounds are stored.
	switch form := w.Mode == XML; {
	case form && w.MultiStep:
		return w.generateSteps(ctx, st)
	case form || !st.Native() || w.State != nil && len(w.State.Rounds) == 0: // the mode may have changed while the run was parked
		return w.generateForm(ctx, st)
	}
	return w.generateNative(ctx, st)
}

// actAll makes the calls of a round that are left in s, one after the other, and returns what the model is told of all
// calls of the round. They are not made at the same time, because the model may have meant the order, and because each
// can end the turn. An error of a call ends the run or parks it; a call that failed is no error, but a result that the
// model reads.
func (w *Writer) actAll(ctx context.Context, s State) (results []llm.Message, err error) {
	results = restoreMessages(s.Results)
	calls := restoreCalls(s.Calls)
	for i, c := range calls {
		result, err := w.Calls.Act(ctx, c)
		if err != nil {
			s.Results, s.Calls = storeMessages(results), storeCalls(calls[i:])
			w.pause(err, s)
			return nil, err
		}
		results = append(results, llm.Message{Role: llm.RoleTool, Call: c.ID, Text: result})
	}
	return results, nil
}

// resolveReservedActions has a text that was cut off go on, and removes the calls of reserved words, which no action
// stands for: REPLY is the text itself, NONE is nothing, and IGNORE says nothing unless there is a text. STOP is the
// agent's leave from the room. What a limit has cut off is not done. It fails with [chat.ErrNothingToSay] if that
// leaves nothing to do or to say.
func (w *Writer) resolveReservedActions(ctx context.Context, st *prompt.Builder, r *round) error {
	if err := w.continueText(ctx, st, r); err != nil {
		return err
	}
	ignored, held := "", -1
	var calls []llm.ToolCall
	for _, c := range r.calls {
		switch r.reservedAction(c) {
		case reply:
			if held < 0 {
				held = len(calls)
			}
		case Ignore, None:
			ignored = Ignore
		case Stop:
			ignored = Stop
			// In the form, the word may be a quote from what another author wrote, who must not be able to silence the
			// agent.
			if r.form && w.Calls.Quotes(c.Name, nil) {
				continue
			}
			if err := w.Unfollow(); err != nil {
				return err
			}
		default:
			calls = append(calls, c)
		}
	}
	r.calls = calls
	r.part(held)
	err := r.limit()
	w.begin(r.calls, r.step, r.form)
	w.Trace.add(r)
	if err != nil {
		return err
	}
	if (ignored != "" || r.remote) && r.blank() && len(r.calls) == 0 {
		if ignored != "" {
			w.Trace.Actions = append(w.Trace.Actions, ignored)
		}
		return w.Calls.RequireOutput()
	}
	return nil
}

// begin shows calls that have not been shown yet.
func (w *Writer) begin(calls []llm.ToolCall, step int, written bool) {
	for i, c := range calls {
		if c.ID == "" {
			calls[i].ID = w.Calls.NewID("")
			w.Calls.Begin(calls[i], step, written)
		}
	}
}

// The words that stand among actions and are none.
const (
	reply  = "REPLY"
	Ignore = "IGNORE"
	None   = "NONE"
	Stop   = "STOP"
)

// reservedAction returns which of these words a call is, or "". An action of that name takes precedence natively, and
// in the form if the call has parameters, which the words never have.
func (r *round) reservedAction(c llm.ToolCall) string {
	word := strings.ToUpper(strings.TrimSpace(c.Name))
	is := slices.Contains([]string{reply, Ignore, None, Stop}, word)
	if is && (r.form && len(c.Parameters) <= len("{}") || r.w.Calls.Toolbox.Find(c.Name) == nil) {
		return word
	}
	return ""
}

// Trace is what is remembered of how an answer came about: for the prompts of later turns and for evaluators. People
// never see it.
type Trace struct {
	Thought   string
	Actions   []string
	Providers []string
}

// maxThought is how much is remembered of what the model thought, in characters.
const maxThought = 4000

// add records a round.
func (t *Trace) add(r *round) {
	t.Thought = text.Excerpt(strings.TrimSpace(t.Thought+"\n\n"+r.wrote.Thought), maxThought)
	if !r.hidden && !r.blank() {
		t.Actions = append(t.Actions, reply)
	}
	t.called(r.calls, r.w.Calls.Toolbox)
	t.Providers = append(t.Providers, r.wrote.Providers...)
}

// called records calls by the names of their actions.
func (t *Trace) called(calls []llm.ToolCall, among *action.Toolbox) {
	for _, c := range calls {
		name := c.Name
		if known := among.Find(name); known != nil {
			name = known.Def.Name
		}
		if name == prompt.ProviderTool {
			t.Providers = append(t.Providers, prompt.RequestedProviders(c.Parameters)...)
			continue
		}
		t.Actions = append(t.Actions, name)
	}
}
