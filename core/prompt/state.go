package prompt

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/template"
	"parley/core/text"
)

// Recall bounds what prompts hold, in tokens by an estimate of our own. What is not set has its default.
type Recall struct {
	Prompt    int  // the whole prompt; 32,000
	History   int  // of these, the conversation; 8,000
	Summaries bool // the small model sums up what no longer fits
}

func (r Recall) filled() Recall {
	if r.Prompt == 0 {
		r.Prompt = 32_000
	}
	if r.History == 0 {
		r.History = 8_000
	}
	return r
}

// share is how much of a prompt one provider may fill.
const share = 8

// Composer makes the prompts of all turns. It is safe for concurrent use.
type Composer struct {
	Recall  Recall
	calls   bool     // models are given tools to call
	sources []source // in the order in which they tell
	plugins []action.Plugin
	set     atomic.Pointer[promptSet]
	skipped func(spec action.ProviderSpec, run chat.RunID, err error) // told of a provider that failed, panicked or was late

	late sync.WaitGroup // providers that go on after their time
}

// NewComposer takes the plugins' providers and templates, and the character's templates. An error names what is wrong.
func NewComposer(plugins []action.Plugin, character map[string]string, recall Recall, calls bool, skipped func(action.ProviderSpec, chat.RunID, error)) (*Composer, error) {
	c := &Composer{Recall: recall.filled(), calls: calls, plugins: plugins, skipped: skipped}
	var err error
	if c.sources, err = newSources(plugins); err != nil {
		return nil, err
	}
	return c, c.SetTemplates(character)
}

// Wait returns when no overdue provider runs any more, or when ctx is done, because providers can't be killed.
func (c *Composer) Wait(ctx context.Context) error {
	done := make(chan struct{})
	go func() { c.late.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Builder is what the prompts of one turn are made of: the turn, and what the providers told of it so far.
type Builder struct {
	c       *Composer
	set     promptSet // as it was when the turn began
	scene   action.TurnContext
	Outputs []Output // in the order of the specs

	Images []llm.File // that the question is about
}

// Output is what one provider told.
type Output struct {
	Spec action.ProviderSpec
	action.ProviderResult
}

// Turn begins the prompts of a turn, with the templates as they are now.
func (c *Composer) Turn(s action.TurnContext) *Builder {
	return &Builder{c: c, set: *c.set.Load(), scene: s}
}

// Native says whether the template of answers knows of prompts in which the conversation and the actions have their own
// places, or asks for no form. One that asks for a form gets its answers in that.
func (st *Builder) Native() bool {
	p := st.set[MessageHandler]
	return p.Uses("native") || !p.delimiters.has("response")
}

// Prompt is a template as a whole prompt: the conversation, the actions and all else is text in it.
func (st *Builder) Prompt(ctx context.Context, name string, more map[string]string) (llm.Request, error) {
	p, ok := st.set[name]
	if !ok {
		return llm.Request{}, fmt.Errorf("there is no template %q", name)
	}
	st.ask(ctx, func(spec action.ProviderSpec) bool { return !spec.Dynamic && feeds(spec, p.Template) })
	limit := st.c.Recall.Prompt
	req := llm.Request{}
	if speaks(name) {
		req.System = st.scene.Agent.System
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
			return st.shown(req), nil
		}
		if fragments < limit/share/16 {
			return llm.Request{}, &llm.Failure{Kind: llm.PromptTooLong, Err: fmt.Errorf("template %s: it has %d tokens; at most %d are allowed", name, text.Tokens(txt), limit)}
		}
	}
}

// speaks says whether a template has the agent say something. The others only judge what was said.
func speaks(name string) bool {
	return name != ShouldRespond && name != Reflection && name != Summary && name != ImageDescription
}

// feeds says whether a template needs what a provider tells.
func feeds(s action.ProviderSpec, t *template.Template) bool {
	needed := t.Uses("providers")
	for _, v := range s.Values {
		needed = needed || t.Uses(v)
	}
	return needed
}

// fragments joins what those providers told that are picked, each in at most limit tokens.
func (st *Builder) fragments(pick func(action.ProviderSpec) bool, limit int) string {
	var texts []string
	for _, t := range st.Outputs {
		text := text.CutTokens(strings.TrimSpace(t.Text), limit)
		if t.Transcript != "" {
			text += "\n" + lastMessages(t.Transcript, share/2*limit)
		}
		if text != "" && pick(t.Spec) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// values are the variables of templates, for p: the conversation stands only in those that use it. Only those who are picked
// tell something in the variable providers.
func (st *Builder) values(p preparedTemplate, pick func(action.ProviderSpec) bool, limit int) template.Values {
	s := st.scene
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
	lists := map[string][]template.Item{
		"bio": items(c.Bio), "topics": items(c.Topics), "adjectives": items(c.Adjectives), "postExamples": items(c.PostExamples),
	}
	for _, a := range s.Actions {
		lists["actions"] = append(lists["actions"], template.Item{"name": a.Name, "description": a.Description, "parameters": string(a.Parameters)})
	}
	for _, source := range st.c.sources {
		if source.spec.Dynamic {
			lists["dynamicProviders"] = append(lists["dynamicProviders"], template.Item{"name": source.spec.Name, "description": source.spec.Description})
		}
	}
	for _, m := range s.Recent {
		if p.Uses("messages") {
			lists["messages"] = append(lists["messages"], template.Item{"name": s.Speaker(m), "text": text.Quote(m.PromptText())})
		}
	}
	return template.Values{Texts: texts, Lists: lists}
}

func items(texts []string) (all []template.Item) {
	for _, t := range texts {
		all = append(all, template.Item{"this": t})
	}
	return all
}

func actionNames(s action.TurnContext) []string {
	names := []string{"REPLY", "IGNORE"}
	for _, a := range s.Actions {
		if a.Name != "REPLY" && a.Name != "IGNORE" {
			names = append(names, a.Name)
		}
	}
	return names
}

// contextTurn is what the gateway tells between the turns. No turn of a person can hold it: its delimiter is escaped there.
func contextTurn(text string) llm.Message {
	return llm.Message{Role: llm.RoleUser, Context: true, Text: "<context>\n" + guard(text, contextTag) + "\n</context>"}
}

var contextTag = tags{"context"}
