// Package prompt builds the input of models: templates filled with the turn, the conversation and the results of
// providers, trimmed to the token budget. Content of users, files and web pages is quoted as data.
//
// A [Composer] is made once, and a [Builder] for each turn. Natively, [Builder.Request] returns separate messages and
// tools; [Builder.Prompt] returns a template as one text, for the text format and for the small questions.
//
// Two rules shape the prompts. Stable parts come first, and history is dropped in large steps, so that the prompts of
// consecutive turns begin alike and the provider's cache applies. And no text of other authors can look like a part of
// the prompt: the tags that delimit its parts are escaped in all values, see guard. That protects the structure of the
// prompt; it does not make a model immune to instructions in the text.
package prompt

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/text"
	"parley/internal/contain"
)

// Recall contains the token budgets of prompts, by our own estimate. Zero fields have defaults.
type Recall struct {
	Prompt    int  // the whole prompt; default 32,000
	History   int  // of these, the conversation; default 8,000
	Summaries bool // the small model summarizes messages that no longer fit
}

// filled returns r with the defaults.
func (r Recall) filled() Recall {
	if r.Prompt == 0 {
		r.Prompt = 32_000
	}
	if r.History == 0 {
		r.History = 8_000
	}
	return r
}

// share limits one provider's result to this fraction of a prompt: 1/share.
const share = 8

// A Composer builds the prompts of all turns. It is safe for concurrent use.
type Composer struct {
	Recall  Recall
	calls   bool        // models can call tools
	sources []source    // in prompt order
	inquiry action.Spec // of the tool that requests dynamic providers, made once
	plugins []action.Plugin
	set     atomic.Pointer[promptSet]
	skipped func(spec action.ProviderSpec, run chat.RunID, err error) // called for a provider that failed, panicked or was late

	// mu guards character, the character's templates in set.
	mu        sync.Mutex
	character map[string]string

	starts starts

	late sync.WaitGroup // providers that exceeded their time limit and still run
}

// NewComposer uses the plugins' providers and templates, and the character's templates. calls reports whether models
// can call tools. It fails for an invalid template or provider. skipped must be safe for concurrent use.
func NewComposer(plugins []action.Plugin, character map[string]string, recall Recall, calls bool, skipped func(action.ProviderSpec, chat.RunID, error)) (*Composer, error) {
	c := &Composer{Recall: recall.filled(), character: map[string]string{}, calls: calls, plugins: plugins, skipped: skipped}
	var err error
	if c.sources, err = newSources(plugins); err != nil {
		return nil, err
	}
	c.inquiry = inquiry(c.sources)
	return c, c.SetTemplates(character)
}

// Wait returns when no overdue provider runs any more. It fails with the cause of ctx if that is done before, because
// providers can't be killed.
func (c *Composer) Wait(ctx context.Context) error { return contain.Wait(ctx, c.late.Wait) }

// Turn starts the prompts of a turn, with the current templates.
func (c *Composer) Turn(s action.TurnContext) *Builder {
	return &Builder{c: c, set: *c.set.Load(), turn: s, oldest: -1}
}

// Builder builds the prompts of one turn from the turn and the provider results so far. It belongs to the goroutine of
// the turn. Its templates don't change during a turn, even if the character does.
type Builder struct {
	c       *Composer
	set     promptSet // fixed at the start of the turn
	turn    action.TurnContext
	whole   []chat.Memory // Recent of the turn before [Builder.Shorten]
	Outputs []Output      // in prompt order
	system  string        // that of the latest prompt
	oldest  int           // the index in Recent of the oldest message in it; -1 if there was no prompt

	Images []llm.File // images of the question
	Files  []llm.File // its other files, for a model that takes them
	Limit  int        // the maximum tokens of a prompt, instead of the composer's; 0 means the composer's
}

// limit returns the maximum tokens of a prompt.
func (st *Builder) limit() int { return st.LimitFor(st.Limit) }

// LimitFor returns the maximum tokens of a prompt for a model with this limit of its own; 0 means none.
func (st *Builder) LimitFor(own int) int { return cmp.Or(own, st.c.Recall.Prompt) }

// Shorten limits later prompts to this number of tokens, with less of the conversation, for a model with a smaller
// context window. It can be called again with a larger number. The summary does not cover the messages that are left
// out; the next turn of the usual model contains them again.
func (st *Builder) Shorten(limit int) {
	st.Limit = max(1, limit)
	if st.whole == nil {
		st.whole = st.turn.Recent
	}
	longest := st.Limit / 2 / max(1, len(st.turn.Answered))
	st.turn.Recent = st.whole
	st.turn.Recent = Keep(st.whole, AnsweredFrom(st.turn), Cut{Budget: min(st.c.Recall.History, st.Limit), Longest: longest}).Kept
}

// Native reports whether answers use separate messages and native tool calls. A template for answers that asks for the
// text format does not.
func (st *Builder) Native() bool {
	return !st.set.asksForm()
}

// Prompt renders a template as a complete prompt in a single text, including the conversation and the actions. more are
// further variables. Provider results are cut by half until the text fits. If it is still too long, it fails with a
// [llm.Failure] of the kind [llm.PromptTooLong].
func (st *Builder) Prompt(ctx context.Context, name string, more map[string]string) (llm.Request, error) {
	p, ok := st.set[name]
	if !ok {
		return llm.Request{}, fmt.Errorf("there is no template %q", name)
	}
	st.ask(ctx, func(spec action.ProviderSpec) bool {
		again := name == Evaluation && strings.EqualFold(spec.Name, Evaluation) // it could outlive its sources
		return !spec.Dynamic && !again && feeds(spec, p.Template)
	})
	limit := st.limit()
	req := llm.Request{}
	if speaks(name) {
		req.System = st.turn.Agent.System
	}
	for fragments := limit / share; ; fragments /= 2 {
		v := st.values(p, func(action.ProviderSpec) bool { return true }, fragments)
		maps.Copy(v.Texts, more)
		txt := strings.TrimSpace(p.Execute(guarded(v, p.delimiters, p.Uses)))
		if name == ContinueAnswer {
			txt = withBeginning(txt, p, more["partialAnswer"])
		}
		if text.Tokens(req.System)+text.Tokens(txt) <= limit {
			req.Messages = []llm.Message{{Role: llm.RoleUser, Text: txt}}
			return st.shown(req, 0), nil
		}
		if fragments < max(1, limit/share/16) {
			return llm.Request{}, &llm.Failure{Kind: llm.PromptTooLong, Err: fmt.Errorf("template %s: it has %d tokens; at most %d are allowed", name, text.Tokens(txt), limit)}
		}
	}
}

// fragments joins the results of the picked providers, each cut to limit tokens, in prompt order. A transcript gets
// several times the share of a text, and loses its oldest messages first.
func (st *Builder) fragments(pick func(action.ProviderSpec) bool, limit int) string {
	var texts []string
	// Providers can set variables of their own, which templates of characters use by name.
	for _, t := range st.Outputs {
		text := text.CutTokens(strings.TrimSpace(t.Text), limit)
		if t.Transcript != "" {
			text += "\n" + lastMessages(t.Transcript, share/2*limit)
		}
		if text != "" && pick(t.Spec) {
			texts = append(texts, text)
		}
	}
	if w := st.turn.Waiting; w != "" && pick(action.ProviderSpec{}) { // like a provider whose result changes with every turn
		texts = append(texts, w)
	}
	return strings.Join(texts, "\n\n")
}

// values returns the template variables for p: the conversation is only computed for templates that use it, because
// that is most of the work. The variable providers contains the results of the picked providers.
func (st *Builder) values(p preparedTemplate, pick func(action.ProviderSpec) bool, limit int) Values {
	s := st.turn
	c := s.Agent.Character
	texts := map[string]string{
		"agentName": s.Agent.Name, "system": s.Agent.System, "characterBio": bioOf(c),
		"providers": st.fragments(pick, limit), "actionNames": strings.Join(actionNames(s), ", "),
		"messageText": text.Quote(text.CutTokens(s.Message.PromptText(), share/2*limit)), "userName": text.Label(s.Message.Name), "summary": text.CutTokens(s.Summary, limit),
		"roomId": string(s.Room.ID), "roomName": text.Label(s.Room.Name), "roomKind": string(s.Room.Kind),
	}
	if !s.Private {
		texts["group"] = "yes"
	}
	if p.Uses("recentMessages") {
		texts["recentMessages"] = lastMessages(s.Transcript(), share/2*limit)
	}
	for _, t := range st.Outputs {
		for _, name := range t.Spec.Values {
			texts[name] = text.CutTokens(t.Values[name], limit)
		}
	}
	lists := map[string][]Item{
		"bio": items(c.Bio), "topics": items(c.Topics), "adjectives": items(c.Adjectives), "postExamples": items(c.PostExamples),
	}
	if p.Uses("actions") {
		for _, a := range s.Actions {
			lists["actions"] = append(lists["actions"], Item{"name": a.Name, "description": a.Description, "parameters": string(a.Parameters)})
		}
	}
	for _, source := range st.c.sources {
		if source.spec.Dynamic && p.Uses("dynamicProviders") {
			lists["dynamicProviders"] = append(lists["dynamicProviders"], Item{"name": source.spec.Name, "description": source.spec.Description})
		}
	}
	if p.Uses("messages") {
		for _, m := range s.Recent {
			lists["messages"] = append(lists["messages"], Item{"name": s.Speaker(m), "text": text.Quote(m.PromptText())})
		}
	}
	return Values{Texts: texts, Lists: lists}
}

// Output is the result of one provider.
type Output = action.Fragment

// speaks reports whether a template makes the agent write to users. The others only evaluate messages.
func speaks(name string) bool {
	return name != ShouldRespond && name != Reflection && name != Summary && name != imageDescription
}

// feeds reports whether a template uses the result of a provider.
func feeds(s action.ProviderSpec, t *Template) bool {
	needed := t.Uses("providers")
	for _, v := range s.Values {
		needed = needed || t.Uses(v)
	}
	return needed
}

// items returns the items of a list of texts.
func items(texts []string) (all []Item) {
	for _, t := range texts {
		all = append(all, Item{"this": t})
	}
	return all
}

// actionNames returns the names that a model can write in the text format: the actions and the reserved words.
func actionNames(s action.TurnContext) []string {
	names := []string{"REPLY", "IGNORE"}
	for _, a := range s.Actions {
		if a.Name != "REPLY" && a.Name != "IGNORE" {
			names = append(names, a.Name)
		}
	}
	return names
}

// contextTurn returns a message with context from the gateway. No user message can imitate it, because its delimiter is
// escaped there, and here in its content.
func contextTurn(text string) llm.Message {
	return llm.Message{Role: llm.RoleUser, Context: true, Text: "<context>\n" + guard(text, contextTag) + "\n</context>"}
}

var contextTag = tags{"context"}
