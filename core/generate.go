package core

import (
	"context"
	"errors"
	"slices"
	"strings"

	"parley/core/chat"
	"parley/core/llm"
	"parley/core/prompt"
	"parley/core/text"
)

// Generation says how the model is asked for an answer.
type Generation struct {
	Mode GenerationMode
	// MultiStep decides one step after the other before it answers, with [XML] only.
	MultiStep bool
	// MaxSteps is how many rounds of the model one run may have; 0 is 6.
	MaxSteps int
}

// GenerationMode is the form in which the model answers.
type GenerationMode string

// The modes. Both make the same of an answer.
const (
	Native GenerationMode = ""    // text, and calls of tools
	XML    GenerationMode = "xml" // text with tags around its parts, which every model can write
)

func (g Generation) steps() int {
	if g.MaxSteps == 0 {
		return 6
	}
	return g.MaxSteps
}

var (
	errTold    = errors.New("the user was told why not") // the answer is complete, without the model
	errEmpty   = errors.New("the model returned nothing")
	errEndless = errors.New("the model keeps calling actions")
)

// generate writes the answer.
func (gn *generation) generate(ctx context.Context) error {
	st, err := gn.x.prep.prepare(ctx)
	switch form := gn.x.rt.cfg.Generation.Mode == XML; {
	case errors.Is(err, errTold):
		return nil
	case err != nil:
		return err
	case form && gn.x.rt.cfg.Generation.MultiStep:
		return gn.generateSteps(ctx, st)
	case form || !st.Native():
		return gn.generateForm(ctx, st)
	}
	req, err := st.Request(ctx)
	if err != nil {
		return err
	}
	return gn.generateNative(ctx, st, req)
}

// generateNative makes rounds of the model, with the actions that it asks for between them. The last is given no tools,
// so that it answers.
func (gn *generation) generateNative(ctx context.Context, st *prompt.Builder, req llm.Request) error {
	last := gn.x.rt.cfg.Generation.steps() - 1
	for step := range last + 1 {
		if step == last {
			req.Tools = nil
		}
		r, err := gn.round(ctx, req, &round{x: gn.x, step: step})
		if err != nil {
			return err
		}
		if err := gn.resolveReservedActions(ctx, st, r); err != nil || len(r.calls) == 0 {
			return err
		}
		if step == last {
			return errEndless
		}
		results, err := gn.actAll(ctx, r.calls)
		if err != nil {
			return err
		}
		if gn.x.toolCalls.over() {
			return gn.x.toolCalls.requireOutput()
		}
		req.Messages = append(req.Messages, llm.Message{Role: llm.RoleAssistant, Text: r.text.String(), Calls: r.calls})
		req.Messages = append(req.Messages, results...)
	}
	return nil
}

// actAll makes the calls of a round, one after the other, and returns what the model is told of them.
func (gn *generation) actAll(ctx context.Context, calls []llm.ToolCall) (results []llm.Message, err error) {
	for _, c := range calls {
		result, err := gn.x.toolCalls.act(ctx, c)
		if err != nil {
			return nil, err
		}
		results = append(results, llm.Message{Role: llm.RoleTool, Call: c.ID, Text: result})
	}
	return results, nil
}

// resolveReservedActions has a text go on that was cut off, and takes the words out of the calls that no action stands for: REPLY is the text
// itself, NONE is nothing, and IGNORE says nothing unless there is a text. STOP is the agent's leave from the room. What a
// limit has cut off is not done (LM-04).
func (gn *generation) resolveReservedActions(ctx context.Context, st *prompt.Builder, r *round) error {
	if err := gn.continueText(ctx, st, r); err != nil {
		return err
	}
	ignored := ""
	var calls []llm.ToolCall
	for _, c := range r.calls {
		switch r.reservedAction(c) {
		case replyWord:
		case ignoreWord, noneWord:
			ignored = ignoreWord
		case stopWord:
			ignored = stopWord
			if r.form && gn.x.toolCalls.quotes(c.Name, nil) { // it can be quoted from another author
				continue
			}
			if err := gn.x.persist(gn.x.life, func() error { return gn.x.rt.cfg.Store.SetAttention(gn.x.life, gn.x.run.Room, chat.Unfollowed) }); err != nil {
				return err
			}
		default:
			calls = append(calls, c)
		}
	}
	r.calls = calls
	r.limit()
	for i, c := range r.calls {
		if c.ID == "" { // it has not been shown yet
			r.calls[i].ID = gn.x.toolCalls.callID("")
			gn.x.toolCalls.block(r.calls[i], r.step).Written = r.form
			gn.x.toolCalls.begin(r.calls[i], r.step)
		}
	}
	gn.x.trace.add(r)
	if ignored != "" && r.blank() && len(r.calls) == 0 {
		gn.x.trace.Actions = append(gn.x.trace.Actions, ignored)
		return gn.x.toolCalls.requireOutput()
	}
	return nil
}

// The words that stand among actions and are none.
const (
	replyWord  = "REPLY"
	ignoreWord = "IGNORE"
	noneWord   = "NONE"
	stopWord   = "STOP"
)

// reservedAction is which of these words a call is, or "". Natively there may be an action of that name.
func (r *round) reservedAction(c llm.ToolCall) string {
	word := strings.ToUpper(strings.TrimSpace(c.Name))
	is := slices.Contains([]string{replyWord, ignoreWord, noneWord, stopWord}, word)
	if is && (r.form && len(c.Parameters) <= len("{}") || r.x.rt.toolbox.Find(c.Name) == nil) {
		return word
	}
	return ""
}

// decisionTrace is what is remembered of how an answer came about. People never see it.
type decisionTrace struct {
	Thought   string
	Actions   []string
	Providers []string
}

// maxThought is how much is remembered of what the model thought, in characters.
const maxThought = 4000

func (t *decisionTrace) add(r *round) {
	t.Thought = text.Excerpt(strings.TrimSpace(t.Thought+"\n\n"+r.wrote.Thought), maxThought)
	if !r.hidden && !r.blank() {
		t.Actions = append(t.Actions, replyWord)
	}
	for _, c := range r.calls {
		name := c.Name
		if known := r.x.rt.toolbox.Find(name); known != nil {
			name = known.Def.Name
		}
		if name == prompt.ProviderTool {
			t.Providers = append(t.Providers, prompt.RequestedProviders(c.Parameters)...)
			continue
		}
		t.Actions = append(t.Actions, name)
	}
	t.Providers = append(t.Providers, r.wrote.Providers...)
}
