package action

import (
	"slices"
	"strings"

	"parley/core/chat"
	"parley/core/text"
)

// Transcript returns the conversation line by line, each message with its author's name and its further lines indented,
// so that no text can pass for a message of another author.
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

// Line returns a message as prompts show it: who wrote it, and the text, quoted.
func (s TurnContext) Line(m chat.Memory) string {
	return s.Speaker(m) + ": " + text.Quote(m.PromptText())
}

// Speaker returns the name that m stands under. A user named like the agent or like a prompt role gets a different
// name, so that they can't impersonate it.
func (s TurnContext) Speaker(m chat.Memory) string {
	name := text.Label(m.Name)
	switch own := append([]string{s.Agent.Name, s.Agent.Character.Username, "system", "developer", "assistant", "tool"}, s.Agent.Names...); {
	case name == "":
		return "someone"
	case m.Author != s.Agent.Entity() && slices.ContainsFunc(own, func(o string) bool { return strings.EqualFold(text.Plain(o), text.Plain(name)) }):
		return name + " (a person)"
	}
	return name
}
