package prompt

import (
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"parley/core/action"
	"parley/core/template"
)

// The templates, by name. Character files also write them with "Template" at the end, as in shouldRespondTemplate.
const (
	ShouldRespond     = "shouldRespond"     // does the message want an answer?
	MessageHandler    = "messageHandler"    // the prompt of an answer
	ContinueAnswer    = "continue"          // the rest of an answer that was cut off
	PostCreation      = "postCreation"      // a message of the agent's own accord
	ImageDescription  = "imageDescription"  // what a picture shows
	Reflection        = "reflection"        // what to remember of a conversation; also known as evaluation
	Summary           = "summary"           // what an earlier part of a conversation said
	MultiStepDecision = "multiStepDecision" // the next step towards an answer
	MultiStepSummary  = "multiStepSummary"  // the answer, after the steps
)

//go:embed prompts/*.txt
var prompts embed.FS

// TemplateNames lists the templates that there are.
func TemplateNames() []string {
	return []string{
		ShouldRespond, MessageHandler, ContinueAnswer, PostCreation, ImageDescription, Reflection, Summary, MultiStepDecision, MultiStepSummary,
	}
}

// TemplateName is the name of the template that a character file means by key; "" if there is none.
func TemplateName(key string) string {
	name := strings.TrimSuffix(key, "Template")
	if name == "evaluation" {
		return Reflection
	}
	if slices.Contains(TemplateNames(), name) {
		return name
	}
	return ""
}

// Variables are what every template may name; a list has the fields of its items. Beside these there are those of the
// providers' [action.ProviderSpec].
func Variables() template.Vars {
	vars := template.Vars{
		"actions":          {"name", "description", "parameters"},
		"dynamicProviders": {"name", "description"},
		"messages":         {"name", "text"},
		"bio":              {"this"},
		"topics":           {"this"},
		"adjectives":       {"this"}, "postExamples": {"this"},
	}
	for _, name := range []string{
		"agentName", "system", "characterBio", // who answers
		"providers", "actionNames", "recentMessages", "relevantKnowledge", "worldContext", "facts", "summary", // what it knows
		"messageText", "userName", "roomId", "roomName", "roomKind", "group", // where it is; group is empty in private
		"native",                                             // not empty where conversation and actions stand beside the template
		"partialAnswer", "actionResults", "step", "maxSteps", // how far the run has come
	} {
		vars[name] = nil
	}
	return vars
}

// preparedTemplate is one template, ready to be filled.
type preparedTemplate struct {
	*template.Template
	delimiters tags
}

// promptSet is all templates, by name. It never changes.
type promptSet map[string]preparedTemplate

// TemplateError says which template is wrong, and where.
type TemplateError struct {
	Name string
	Err  error // a [*template.Error] where the text has the place
}

func (e *TemplateError) Error() string { return fmt.Sprintf("template %s: %v", e.Name, e.Err) }

// Unwrap returns the cause.
func (e *TemplateError) Unwrap() error { return e.Err }

// SetTemplates replaces the character's templates. If anything is wrong nothing changes, and the error is a [*TemplateError].
func (c *Composer) SetTemplates(texts map[string]string) error {
	set, err := newPromptSet(c.plugins, texts)
	if err != nil {
		return err
	}
	c.set.Store(&set)
	return nil
}

// Describe is the instruction with which a model that sees describes a picture.
func (c *Composer) Describe(agent string) string {
	return (*c.set.Load())[ImageDescription].Execute(template.Values{Texts: map[string]string{"agentName": agent}})
}

// CheckTemplates says what is wrong with the templates of plugins and of a character: a [*TemplateError], or nil.
func CheckTemplates(plugins []action.Plugin, character map[string]string) error {
	_, err := newPromptSet(plugins, character)
	return err
}

// newPromptSet takes each template from the character, or else from the last plugin that has it, or else the built-in one.
func newPromptSet(plugins []action.Plugin, character map[string]string) (promptSet, error) {
	vars, texts := Variables(), map[string]string{}
	for _, name := range TemplateNames() {
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
		t, err := template.Parse(text, vars)
		if err != nil {
			return nil, &TemplateError{name, err}
		}
		set[name] = preparedTemplate{t, delimiters(text)}
	}
	return set, nil
}
