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
