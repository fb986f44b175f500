package chat

import (
	"slices"
	"strings"
)

// CommandName is the name of a command, which users give as "/name" at the beginning of a message.
type CommandName string

// The names of the commands.
const (
	Stop             CommandName = "stop" // ends all runs of the room, including queued ones
	NewCommand       CommandName = "new"
	RetryCommand     CommandName = "retry"
	ModelCommand     CommandName = "model"
	StatusCommand    CommandName = "status"
	UsageCommand     CommandName = "usage"
	ApprovalsCommand CommandName = "approvals"
	LinkCommand      CommandName = "link"
	UnlinkCommand    CommandName = "unlink"
	WhyCommand       CommandName = "why"
	BlockCommand     CommandName = "block"
	UnblockCommand   CommandName = "unblock"
	HelpCommand      CommandName = "help"
	// Plugins execute the following ones.
	RemindersCommand CommandName = "reminders" // lists and cancels reminders
	MemoryCommand    CommandName = "memory"    // lists the facts about a person
	ForgetCommand    CommandName = "forget"    // deletes those, or a message
	AdminCommand     CommandName = "admin"     // gives a code for the operator's page
)

// Direct reports whether the command only works in a direct chat.
func (n CommandName) Direct() bool {
	return slices.Contains([]CommandName{LinkCommand, UnlinkCommand, AdminCommand}, n)
}

// CommandSpec is a command as listed by /help and in the menus of platforms.
type CommandSpec struct {
	Name        CommandName
	Description string // one line, without a full stop
	// Argument describes the words that can follow the name, in one line; it is empty for a command without.
	Argument string
	// Private reports whether the answer concerns only its author. Platforms that can show it to them alone do that.
	Private bool
}

// Commands returns all commands, in the order of the list.
func Commands() []CommandSpec {
	return []CommandSpec{
		{NewCommand, "Forget this conversation and start over", "", false},
		{Stop, "Stop the current answer", "", false},
		{RetryCommand, "Retry the last question", "", false},
		{ModelCommand, "Show the models, or switch to another one", "The model to switch to", false},
		{StatusCommand, "Show status", "", false},
		{UsageCommand, "Show what you used today and this month", "", true},
		{MemoryCommand, "Show what I remember about you here, all or by words", "Words to look for", true},
		{ForgetCommand, "Forget something I remember about you, or the message you reply to", "Its number in /memory, its words, or all", true},
		{RemindersCommand, "List your reminders, or cancel one", "cancel, and the number of the reminder", false},
		{ApprovalsCommand, "Show which tool calls were approved here", "", false},
		{LinkCommand, "Link your account on another platform", "The code from your other account", false},
		{UnlinkCommand, "Separate this account from your others", "", false},
		{AdminCommand, "Get a code for the operator's page", "", true},
		{WhyCommand, "Show how the last answer came about, or the one you reply to", "", true},
		{BlockCommand, "For staff: never answer a user, by a reply to them or their account", "Their account or name", true},
		{UnblockCommand, "For staff: answer a blocked user again", "Their account or name", true},
		{HelpCommand, "Show commands", "", true},
	}
}

// ParseCommand reads text as a command and returns its name and the words after it. ok is false if the text is no command. A command
// without arguments that is followed by words is an ordinary text ("/new is a strange word"). The exception is /stop: a user who wants
// to stop something should not have to write carefully.
func ParseCommand(text string) (name CommandName, arguments string, ok bool) {
	word, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	called, ok := strings.CutPrefix(word, "/")
	all := Commands()
	i := slices.IndexFunc(all, func(s CommandSpec) bool { return strings.EqualFold(called, string(s.Name)) })
	if !ok || i < 0 || rest != "" && all[i].Argument == "" && all[i].Name != Stop {
		return "", "", false
	}
	return all[i].Name, strings.TrimSpace(rest), true
}

// IsCommand reports whether text is a command.
func IsCommand(text string) bool {
	_, _, ok := ParseCommand(text)
	return ok
}
