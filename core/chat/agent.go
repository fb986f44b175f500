package chat

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Agent is the identity and configuration of the agent.
type Agent struct {
	ID     AgentID
	Name   string
	Names  []string // other names that address it in groups; can be empty
	System string   // the system prompt
	// Templates override those of the plugins and the built-in ones, by [prompt.TemplateName]; can be empty.
	Templates map[string]string
	Character Character
}

// Entity returns the agent's id as an author.
func (a Agent) Entity() EntityID { return EntityID(a.ID) }

// IsCalled reports whether text begins with one of the agent's names, as in "Parley, play a song".
func (a Agent) IsCalled(text string) bool {
	text = strings.TrimLeft(strings.TrimSpace(text), "@")
	for _, name := range append([]string{a.Name}, a.Names...) {
		if name != "" && beginsWith(text, name) {
			return true
		}
	}
	return false
}

// beginsWith reports whether the first words of text are name, regardless of case.
func beginsWith(text, name string) bool {
	runes := []rune(text)
	n := utf8.RuneCountInString(name)
	if len(runes) < n || !strings.EqualFold(string(runes[:n]), name) {
		return false
	}
	return len(runes) == n || !unicode.IsLetter(runes[n]) && !unicode.IsDigit(runes[n])
}

// Character describes the agent's personality. Every field can be empty. Lists keep their order, because prompts that
// are identical byte for byte hit the provider's prompt cache.
type Character struct {
	Username        string // its name on platforms, if different
	Bio             []string
	Topics          []string // topics it knows and likes to talk about
	Adjectives      []string
	Style           Style
	MessageExamples [][]Example // example conversations
	PostExamples    []string
}

// Style describes how the agent writes: everywhere, in conversations, and in posts.
type Style struct{ All, Chat, Post []string }

// Example is one message of an example conversation.
type Example struct {
	Name    string
	Text    string
	Actions []string // the actions of the agent with this message
}
