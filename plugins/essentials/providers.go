package essentials

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/text"
)

// provider is an [action.Provider] made of a function.
type provider struct {
	spec    action.ProviderSpec
	provide func(ctx context.Context, s action.TurnContext) (action.ProviderResult, error)
}

// Spec implements [action.Provider].
func (p provider) Spec() action.ProviderSpec { return p.spec }

// Provide implements [action.Provider].
func (p provider) Provide(ctx context.Context, s action.TurnContext) (action.ProviderResult, error) {
	return p.provide(ctx, s)
}

// providers returns the providers. Their positions put the text that changes least first, so that prompts can be
// cached.
func (d Deps) providers() []action.Provider {
	return []action.Provider{
		provider{action.ProviderSpec{Name: "CHARACTER", Stable: true, Own: true, Position: 10}, character},
		provider{action.ProviderSpec{Name: "ACTIONS", Flat: true, Own: true, Position: 60}, actionList},
		provider{action.ProviderSpec{Name: "ENTITIES", Position: 70}, d.describeParticipants},
		provider{action.ProviderSpec{Name: "RECENT_MESSAGES", Flat: true, Position: 90}, recentMessages},
		provider{action.ProviderSpec{
			Name: "ATTACHMENTS", Dynamic: true, Position: 95,
			Description: "the full text of the files in this conversation, where the conversation shows only the beginning",
		}, attachments},
		provider{action.ProviderSpec{Name: "TIME", Own: true, Position: 100}, d.clock},
		provider{action.ProviderSpec{Name: "WORLD", Position: 20, Values: []string{"worldContext"}}, d.surroundings},
		provider{action.ProviderSpec{Name: "SETTINGS", Position: 30}, d.settings},
		provider{action.ProviderSpec{Name: "FACTS", Position: 40, Values: []string{"facts"}}, d.facts},
		provider{action.ProviderSpec{Name: "ACTION_STATE", Position: 80}, d.actionState},
	}
}

// character describes the agent, always in the same order: providers cache prompts that begin with the same bytes.
func character(_ context.Context, s action.TurnContext) (action.ProviderResult, error) {
	c, name := s.Agent.Character, s.Agent.Name
	var parts []string
	part := func(title, text string) {
		if text != "" {
			parts = append(parts, title+text)
		}
	}
	part("# About "+name+"\n", strings.Join(c.Bio, "\n"))
	part(name+" knows about: ", strings.Join(c.Topics, ", "))
	part(name+" is: ", strings.Join(c.Adjectives, ", "))
	if s.Room.Kind == chat.Feed || s.Message.Author.Automatic() { // it posts
		part("# How "+name+" writes\n", dashes(slices.Concat(c.Style.All, c.Style.Post)))
		part("# Examples of what "+name+" posts. They show the tone; don't repeat them\n", dashes(c.PostExamples))
	} else {
		part("# How "+name+" writes\n", dashes(slices.Concat(c.Style.All, c.Style.Chat)))
		part("# Examples of how "+name+" talks\n", conversations(c.MessageExamples))
	}
	return action.ProviderResult{Text: strings.Join(parts, "\n\n")}, nil
}

// conversations returns example conversations as text.
func conversations(all [][]chat.Example) string {
	var texts []string
	for _, messages := range all {
		var lines []string
		for _, m := range messages {
			line := m.Name + ": " + text.Quote(m.Text)
			if len(m.Actions) > 0 {
				line += " (" + strings.Join(m.Actions, ", ") + ")"
			}
			lines = append(lines, line)
		}
		texts = append(texts, strings.Join(lines, "\n"))
	}
	return strings.Join(texts, "\n\n")
}

// dashes returns texts as a list, quoted.
func dashes(texts []string) string {
	var lines []string
	for _, t := range texts {
		lines = append(lines, "- "+text.Quote(t))
	}
	return strings.Join(lines, "\n")
}

// actionList lists the actions, for models without tool calls.
func actionList(_ context.Context, s action.TurnContext) (action.ProviderResult, error) {
	var lines []string
	for _, a := range s.Actions {
		line := a.Name + ": " + a.Description
		if len(a.Parameters) > 0 {
			line += "\nParameters: " + string(a.Parameters)
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return action.ProviderResult{}, nil
	}
	return action.ProviderResult{Text: "# Actions\n" + dashes(lines)}, nil
}

// clock provides the time to the minute. It changes with each turn, so it comes last in prompts.
func (d Deps) clock(context.Context, action.TurnContext) (action.ProviderResult, error) {
	now := time.Now()
	if d.Zone != nil {
		now = now.In(d.Zone)
	}
	return action.ProviderResult{Text: fmt.Sprintf("It is %s.", now.Format("Monday, 2 January 2006, 15:04 MST"))}, nil
}
