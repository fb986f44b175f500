// Package settings converts the configuration to the types of the runtime: the agent, access, limits. The runtime does
// not import config, so that it can be embedded and tested without one.
package settings

import (
	"errors"
	"fmt"

	"parley/config"
	"parley/core/action"
	"parley/core/chat"
	"parley/core/prompt"
)

// agentID is the id of the one agent of a gateway. It is stored, so it must not change.
const agentID chat.AgentID = "agent"

// Agent returns the agent that the configuration describes.
func Agent(cfg config.Config) chat.Agent {
	a := cfg.Agent
	c := chat.Character{
		Username: a.Username, Bio: a.Bio, Topics: a.Topics, Adjectives: a.Adjectives, Style: chat.Style(a.Style), PostExamples: a.PostExamples,
	}
	for _, conversation := range a.MessageExamples {
		var messages []chat.Example
		for _, m := range conversation.Messages {
			messages = append(messages, chat.Example(m))
		}
		c.MessageExamples = append(c.MessageExamples, messages)
	}
	names := a.Names
	if a.Username != "" {
		names = append(names[:len(names):len(names)], a.Username)
	}
	return chat.Agent{ID: agentID, Name: a.Name, Names: names, System: a.System, Templates: a.Templates.ByName(), Character: c}
}

// Recall returns the limits of prompts. The demo model can't summarize, so it is not asked to.
func Recall(cfg config.Config) prompt.Recall {
	return prompt.Recall{
		Prompt: cfg.Agent.PromptTokens, History: cfg.Agent.HistoryTokens,
		Summaries: cfg.Agent.Summaries && cfg.LargeProvider() != config.ProviderDemo,
	}
}

// InPlace adds the position in the configuration files to an error about a template.
func InPlace(cfg config.Config, err error) error {
	var wrong *prompt.TemplateError
	if errors.As(err, &wrong) && cfg.Places[wrong.Name] != "" {
		return fmt.Errorf("%s: %w", cfg.Places[wrong.Name], wrong.Err)
	}
	return err
}

// Users returns a function that reports whether a tool can be used in a turn: in these rooms, and by these users.
func Users(who config.ToolUsers, rooms []config.Chat) func(action.TurnContext) bool {
	where := places(rooms)
	return func(s action.TurnContext) bool {
		switch {
		case !where.Includes(s.Room):
			return false
		case who == config.ToolsOwner:
			return s.Owner
		case who == config.ToolsEveryone:
			return true
		}
		return s.Owner || s.Allowed
	}
}

// Reveal returns a table with its secrets in plain text, for those that send them.
func Reveal(secrets map[string]config.Secret) map[string]string {
	all := map[string]string{}
	for name, s := range secrets {
		all[name] = s.Reveal()
	}
	return all
}
