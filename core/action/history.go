package action

import (
	"slices"
	"strings"

	"parley/core/chat"
	"parley/core/text"
)

// Transcript is the conversation in lines, each with its author's name; further lines of a message are indented. No text can
// pass for a message of somebody else (SE-08).
func (s TurnContext) Transcript() string {
	var b strings.Builder
	if s.Summary != "" {
		b.WriteString("(Summary of the conversation so far: " + text.Quote(s.Summary) + ")\n")
	}
	for _, m := range s.Recent {
		b.WriteString(s.Line(m) + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (s TurnContext) Line(m chat.Memory) string {
	return s.Speaker(m) + ": " + text.Quote(m.PromptText())
}

// Speaker is the name that m stands under. Somebody who is called as the agent or as a role of prompts is not taken for that.
func (s TurnContext) Speaker(m chat.Memory) string {
	name := text.Label(m.Name)
	switch own := append([]string{s.Agent.Name, s.Agent.Character.Username, "system", "developer", "assistant", "tool"}, s.Agent.Names...); {
	case name == "":
		return "somebody"
	case m.Author != s.Agent.Entity() && slices.ContainsFunc(own, func(o string) bool { return strings.EqualFold(text.Plain(o), text.Plain(name)) }):
		return name + " (a person)"
	}
	return name
}
