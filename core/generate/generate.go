// Package generate generates the answer with a model, in rounds: natively or in a form of tags, with the calls of
// actions between the rounds. A [Writer] writes the answer of one run; [Writer.Write] is its only entry. A [Route]
// chooses the model: the model of the room, and its fallbacks if it fails. After several failures a model is skipped
// for a while.
//
// There are three ways, with the same result. Natively, the model writes text and calls tools, and receives their
// results until it makes no more calls. In the form, it fills a form of tags that every model can write, and a second
// one that reports the results of the actions. In several steps, it makes hidden decisions, one after the other, and
// then writes the answer.
//
// All of them follow these rules:
//
//   - A round is repeated, and another model is tried, only while the output of the round is hidden or can be
//     withdrawn. Users never read half a sentence that then begins differently.
//   - Truncated output is not carried out: half of a list of calls can have another meaning than the whole list.
//   - An answer is bounded by rounds (MaxSteps), by attempts, and by the time between two outputs of the model.
//   - When an action parks the run until a person decides, [State] holds the data for any process to continue it.
//     Nothing is done twice.
//
// Package toolcall makes and records the calls; package prompt builds the prompts.
package generate

import (
	"context"
	"encoding/json"
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
	"parley/internal/lang"
)

// Config defines how the model generates an answer.
type Config struct {
	Mode Mode
	// MultiStep decides one step after the other before it answers, with [XML] only.
	MultiStep bool
	// MaxSteps is the maximum number of rounds in one run; 0 is 6.
	MaxSteps int
}

// Mode is the form of the model's output.
type Mode string

// The modes. Both produce the same answers.
const (
	Native Mode = ""    // text, and calls of tools
	XML    Mode = "xml" // text with tags around its parts, which every model can write
)

// steps returns the maximum number of rounds in one run.
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

// A Writer writes the answer of one run: the model's text, and the calls of actions between. Its fields are set before
// Write. It belongs to one goroutine; only Answer can be read concurrently.
type Writer struct {
	Config
	Only        []string      // the names of the models that were chosen for this answer; nil for all
	Route       *Route        // the model that answers, and those that continue for it
	First, Idle time.Duration // how long the model may take to its first output, and between two
	Answer      *answer.Answer
	Calls       *toolcall.Calls
	Sessions    Sessions     // of models that remember conversations; can be nil
	Unfollow    func() error // ends the agent's participation in the room until it is addressed again
	Jitter      func(time.Duration) time.Duration
	Info        event.RunInfo
	Emit        func(event.Event)
	Log         *slog.Logger

	// Removed reports whether the model that was chosen for the room is no longer configured; users see a notice then.
	Removed bool

	// Pass is called before each call of the model, except calls for the rest of a truncated text and repetitions of
	// failed calls. An error ends the answer, or parks the run. nil allows all calls.
	Pass func(ctx context.Context, req llm.Request) error
	// Steer returns messages that the asker has sent since the prompt was built, and that the answer takes into account from now on. It
	// is called between rounds, while the model can still call actions. Its errors end the answer. nil: there are none.
	Steer func(ctx context.Context) ([]llm.Message, error)
	// Allowed are the soft limits that the answer can exceed. It is kept while the run is parked.
	Allowed []string

	Trace Trace // how the answer came about
	// State is set when Write returns [chat.ErrParked], and before a Write that continues: see [Writer.Resume].
	State *State

	prompts  *prompt.Builder
	room     int          // the smallest context window of a model so far, in tokens
	reasoned int          // bytes of visible reasoning
	noticed  bool         // the notice that another model answers was shown
	before   func() State // the progress of the answer before the next round; nil before the first
}

// Sessions stores the conversations of a room with models that remember them: see [llm.Session]. Its errors are those of
// the store.
type Sessions interface {
	// Open returns the session with the model of this name; it begins one if there is none.
	Open(ctx context.Context, model string) (*llm.Session, error)
	// Keep stores the state of the session.
	Keep(ctx context.Context, model string, state json.RawMessage) error
}

// Write writes the answer from the prompts of st to w.Answer, and returns when the answer is complete. It fails with
// [chat.ErrNothingToSay] if the model chose to say nothing, with [chat.ErrParked] if the run has to wait for a person
// (then State is set), with a [llm.Failure] if no model could answer, and with the cause of ctx if that is done. Text
// from before an error stays in the answer.
func (w *Writer) Write(ctx context.Context, st *prompt.Builder) error {
	w.prompts, w.room = st, st.LimitFor(st.Limit)
	defer func() { w.Trace.Sources, w.Trace.Prompt = st.Sources(), st.Read() }()
	if w.Removed {
		w.notice(0, lang.Say(ctx, "notice.removed_model"))
	} else if w.Route.Replaced() {
		w.notice(0, w.anotherModel(w.Route.Wanted()))
	}
	if w.Route.Current().Agent { // it knows no form
		return w.generateNative(ctx, st)
	}
	// A parked run continues in the mode of its first part, even if the configuration has changed since: only
	// native rounds are stored.
	switch form := w.Mode == XML; {
	case form && w.MultiStep:
		return w.generateSteps(ctx, st)
	case form || !st.Native() || w.State != nil && len(w.State.Rounds) == 0: // the mode may have changed while the run was parked
		return w.generateForm(ctx, st)
	}
	return w.generateNative(ctx, st)
}

// actAll makes the remaining calls of the round s, one after the other, and returns the results of all calls of the
// round for the model. The calls are sequential, because the model may have intended the order, and because each can
// end the turn. An error of a call ends the run or parks it; a call that failed is no error, but a result for the
// model.
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

// resolveReservedActions requests the rest of a truncated text, and removes the calls of reserved words, which are no
// actions: REPLY is the text itself, NONE is nothing, and IGNORE means silence unless there is a text. With STOP the
// agent leaves the conversation. Truncated calls are not made. It fails with [chat.ErrNothingToSay] if there is nothing
// left to do or to say.
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
			// In the form, the word may be a quote from another author's text, and that author must not be able to
			// silence the agent.
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
	if (ignored != "" || r.remote || w.Route.Current().Agent) && r.blank() && len(r.calls) == 0 {
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

// The reserved words among the actions.
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

// Trace is the stored history of an answer's generation, for the prompts of later turns and for evaluators. Users never
// see it.
type Trace struct {
	Thought   string
	Actions   []string
	Providers []string
	answer.Effort
}

// maxThought is the maximum length of the stored reasoning of the model, in characters.
const maxThought = 4000

// add records a round.
func (t *Trace) add(r *round) {
	t.Thought = text.Excerpt(strings.TrimSpace(t.Thought+"\n\n"+r.wrote.Thought), maxThought)
	if !r.hidden && !r.blank() {
		t.Actions = append(t.Actions, reply)
	}
	t.Rounds++
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
