// Package command is the grammar of the commands that people give as "/name" at the beginning of a message: their names, their
// descriptions, and how a text is read as one. The runtime carries them out.
package command

import (
	"slices"
	"strings"

	"parley/core/chat"
)

// The names of the commands beside those that package chat names.
const (
	New       chat.CommandName = "new"
	Retry     chat.CommandName = "retry"
	Model     chat.CommandName = "model"
	Status    chat.CommandName = "status"
	Usage     chat.CommandName = "usage"
	Approvals chat.CommandName = "approvals"
	Help      chat.CommandName = "help"
)

// Spec is a command as /help shows it, and as platforms list it in their own menus.
type Spec struct {
	Name        chat.CommandName
	Description string // one line, without a full stop
	arguments   bool   // words can follow the name
}

// Specs returns all commands, in the order in which they are listed.
func Specs() []Spec {
	return []Spec{
		{New, "Forget this conversation and start over", false},
		{chat.Stop, "Stop the current answer", true},
		{Retry, "Retry the last question", false},
		{Model, "Show the models, or switch to another one", true},
		{Status, "Show status", false},
		{Usage, "Show what you used today and this month", false},
		{chat.MemoryCommand, "Show what I remember about you here, all or by words", true},
		{chat.ForgetCommand, "Forget something I remember about you, or the message you reply to", true},
		{chat.RemindersCommand, "List your reminders, or cancel one", true},
		{Approvals, "Show which tool calls were approved here", false},
		{Help, "Show commands", false},
	}
}

// Parse reads text as a command and returns its name and the words after it. It fails if the text is none. A command that takes no words
// but has some is a text like any other ("/new is a strange word"), except for /stop: a person who wants to stop something should not
// have to write carefully.
func Parse(text string) (name chat.CommandName, arguments string, ok bool) {
	word, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	called, ok := strings.CutPrefix(word, "/")
	all := Specs()
	i := slices.IndexFunc(all, func(s Spec) bool { return strings.EqualFold(called, string(s.Name)) })
	if !ok || i < 0 || rest != "" && !all[i].arguments {
		return "", "", false
	}
	return all[i].Name, strings.TrimSpace(rest), true
}

// Is reports whether text is a command.
func Is(text string) bool {
	_, _, ok := Parse(text)
	return ok
}
