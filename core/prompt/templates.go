package prompt

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"parley/core/action"
)

// The names of the templates. Character files also write them with the suffix "Template", as in shouldRespondTemplate.
const (
	ShouldRespond     = "shouldRespond"     // does the message need an answer?
	MessageHandler    = "messageHandler"    // the prompt of an answer
	ContinueAnswer    = "continue"          // the rest of a truncated answer
	PostCreation      = "postCreation"      // an unprompted message of the agent
	imageDescription  = "imageDescription"  // the content of an image
	Reflection        = "reflection"        // facts to remember from a conversation
	Evaluation        = "evaluation"        // what the agent makes of a conversation; there is no built-in one
	Summary           = "summary"           // a summary of an earlier part of a conversation
	MultiStepDecision = "multiStepDecision" // the next step toward an answer
	MultiStepSummary  = "multiStepSummary"  // the answer, after the steps
)

//go:embed prompts/*.txt
var prompts embed.FS

// TemplateNames returns the names of all templates.
func TemplateNames() []string {
	return []string{
		ShouldRespond, MessageHandler, ContinueAnswer, PostCreation, imageDescription, Reflection, Evaluation, Summary, MultiStepDecision, MultiStepSummary,
	}
}

// TemplateName returns the template name for a key of a character file; "" if there is none.
func TemplateName(key string) string {
	name := strings.TrimSuffix(key, "Template")
	if slices.Contains(TemplateNames(), name) {
		return name
	}
	return ""
}

// Variables returns the variables of every template; a list has the fields of its items. Those of
// [action.ProviderSpec] come in addition.
func Variables() Vars {
	vars := Vars{
		"actions":          {"name", "description", "parameters"},
		"dynamicProviders": {"name", "description"},
		"messages":         {"name", "text"},
		"bio":              {"this"},
		"topics":           {"this"},
		"adjectives":       {"this"}, "postExamples": {"this"},
	}
	for _, name := range []string{
		"agentName", "system", "characterBio", // the agent
		"providers", "actionNames", "recentMessages", "relevantKnowledge", "worldContext", "facts", "summary", // its knowledge
		"messageText", "userName", "roomId", "roomName", "roomKind", "group", // the place; group is empty in direct chats
		"native",                                             // not empty with separate messages and native tool calls
		"partialAnswer", "actionResults", "step", "maxSteps", // the progress of the run
	} {
		vars[name] = nil
	}
	return vars
}

// preparedTemplate is a parsed template, with the tags that are escaped in its values.
type preparedTemplate struct {
	*Template
	delimiters tags
	lacked     []string // names of the parts that were appended to it, for people
	system     bool     // in native rounds, it contains the agent's system prompt
}

// promptSet contains all templates by name. It is immutable.
type promptSet map[string]preparedTemplate

// TemplateError reports which template is invalid, and where.
type TemplateError struct {
	Name string
	Err  error // a [*SyntaxError] with the position, for errors in the text
}

// Error implements error.
func (e *TemplateError) Error() string { return fmt.Sprintf("template %s: %v", e.Name, e.Err) }

// Unwrap returns the cause.
func (e *TemplateError) Unwrap() error { return e.Err }

// SetTemplates replaces templates of the character, by name; those without a name in texts stay. One with an empty text is removed, and
// the plugins' or the built-in one is used again. If any of them is invalid, nothing changes, and the error is a [*TemplateError]. It is
// safe during turns: those that have begun keep their templates.
func (c *Composer) SetTemplates(texts map[string]string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := maps.Clone(c.character)
	for key, text := range texts {
		name := cmp.Or(TemplateName(key), key)
		if delete(all, name); strings.TrimSpace(text) != "" || name == key && TemplateName(key) == "" {
			all[name] = text // an unknown name too, which is reported below
		}
	}
	set, err := newPromptSet(c.plugins, all)
	if err != nil {
		return err
	}
	c.character = all
	c.set.Store(&set)
	return nil
}

// Templates returns the templates of the character, by name, as they were given. Those of plugins and the built-in ones are left out.
func (c *Composer) Templates() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.character)
}

// Serves reports whether a provider or an evaluator is used with the current templates: see [action.Templated].
func (c *Composer) Serves(part any) bool { return c.set.Load().serves(part) }

// serves reports whether part needs no template, or has it.
func (s promptSet) serves(part any) bool {
	t, ok := part.(action.Templated)
	if !ok {
		return true
	}
	_, ok = s[t.Template()]
	return ok
}

// Describe returns the instruction for describing an image of a turn. One that is too long with all of its variables is given only the
// name of the agent.
func (c *Composer) Describe(ctx context.Context, s action.TurnContext) string {
	if req, err := c.Turn(s).Prompt(ctx, imageDescription, nil); err == nil {
		return req.Messages[0].Text
	}
	return (*c.set.Load())[imageDescription].Execute(Values{Texts: map[string]string{"agentName": s.Agent.Name}})
}

// CheckTemplates validates the templates of plugins and of a character, and returns sentences about those that lack something they
// can't do without: it is appended to them. The error is a [*TemplateError].
func CheckTemplates(plugins []action.Plugin, character map[string]string) (completed []string, err error) {
	set, err := newPromptSet(plugins, character)
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if lacked := set[name].lacked; len(lacked) > 0 {
			completed = append(completed, fmt.Sprintf("the template %s lacks %s; the gateway adds it", name, strings.Join(lacked, ", ")))
		}
	}
	return completed, err
}

// AsksForm reports whether a character or plugins have answers written in the form of a response with tags, in whatever mode. It is
// false for invalid templates.
func AsksForm(plugins []action.Plugin, character map[string]string) bool {
	set, err := newPromptSet(plugins, character)
	return err == nil && set.asksForm()
}

// asksForm reports whether the template for answers has no branch for native rounds, and asks for the form.
func (s promptSet) asksForm() bool {
	p := s[MessageHandler]
	return !p.Uses("native") && p.delimiters.has("response")
}

// newPromptSet takes each template from the character, the last plugin that has it, or the built-in ones, in this
// order.
func newPromptSet(plugins []action.Plugin, character map[string]string) (promptSet, error) {
	vars, texts := Variables(), map[string]string{}
	for _, name := range TemplateNames() {
		if name == Evaluation {
			continue
		}
		text, err := prompts.ReadFile("prompts/" + name + ".txt")
		if err != nil {
			return nil, fmt.Errorf("built-in template %s: %w", name, err)
		}
		texts[name] = string(text)
	}
	levels := []map[string]string{}
	for _, p := range plugins {
		levels = append(levels, p.Templates)
		for _, provider := range p.Providers {
			for _, v := range provider.Spec().Values {
				vars[v] = nil
			}
		}
	}
	// Later levels replace earlier ones; an empty text leaves what there is.
	for _, level := range append(levels, character) {
		for _, key := range slices.Sorted(maps.Keys(level)) {
			name := TemplateName(key)
			if name == "" {
				return nil, &TemplateError{key, fmt.Errorf("there is no such template; there are %s", strings.Join(TemplateNames(), ", "))}
			}
			if text := level[key]; strings.TrimSpace(text) != "" {
				texts[name] = text
			}
		}
	}
	set := promptSet{}
	for name, text := range texts {
		p, err := prepare(name, text, vars)
		if err != nil {
			return nil, &TemplateError{name, err}
		}
		set[name] = p
	}
	return set, nil
}
