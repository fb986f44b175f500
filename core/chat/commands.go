package chat

import (
	"slices"
	"strconv"
	"strings"

	"parley/core/answer"
	"parley/internal/lang"
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
	LanguageCommand  CommandName = "language" // chooses the language of notices, see package lang
	VoiceCommand     CommandName = "voice"    // spoken answers
	NotifyCommand    CommandName = "notify"   // notifications at the end of long answers
	WhyCommand       CommandName = "why"
	BlockCommand     CommandName = "block"
	UnblockCommand   CommandName = "unblock"
	HelpCommand      CommandName = "help"
	PersonCommand    CommandName = "person" // asks for a person instead of the agent, and hands back
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
	Description string // one line, in English, without a full stop
	// Argument describes the words that can follow the name, in one line; it is empty for a command without.
	Argument string
	// Private reports whether the answer concerns only its author. Platforms that can show it to them alone do that.
	Private bool
	// Options are the arguments of a command of a plugin. Users write each as name="value" after the name of the command.
	Options []CommandOption
}

// CommandOption is an argument of a command of a plugin. Its fields can come from outside.
type CommandOption struct {
	Name        string // lower-case letters, digits and underscores
	Description string // in one line; can be empty
	Required    bool
}

// Commands returns all commands, in the order of the list.
func Commands() []CommandSpec {
	all := []CommandSpec{
		{Name: NewCommand}, {Name: Stop}, {Name: RetryCommand}, {Name: ModelCommand}, {Name: StatusCommand}, {Name: UsageCommand, Private: true},
		{Name: MemoryCommand, Private: true}, {Name: ForgetCommand, Private: true}, {Name: RemindersCommand}, {Name: ApprovalsCommand},
		{Name: LinkCommand}, {Name: UnlinkCommand}, {Name: LanguageCommand, Private: true}, {Name: VoiceCommand, Private: true}, {Name: NotifyCommand, Private: true}, {Name: AdminCommand, Private: true},
		{Name: WhyCommand, Private: true}, {Name: BlockCommand, Private: true}, {Name: UnblockCommand, Private: true}, {Name: PersonCommand, Private: true}, {Name: HelpCommand, Private: true},
	}
	texts := lang.Voice{}.Section("command.")
	for i, c := range all {
		all[i].Description, all[i].Argument = texts[string(c.Name)], texts[string(c.Name)+".argument"]
	}
	return all
}

// ParseCommand reads text as a command and returns its name and the words after it. ok is false if the text is no command. A command
// without arguments that is followed by words is an ordinary text ("/new is a strange word"). The exception is /stop: a user who wants
// to stop something should not have to write carefully.
func ParseCommand(text string) (name CommandName, arguments string, ok bool) {
	word, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	called, ok := strings.CutPrefix(word, "/")
	if !ok {
		return "", "", false
	}
	all := Commands()
	i := slices.IndexFunc(all, func(s CommandSpec) bool { return strings.EqualFold(called, string(s.Name)) })
	if i < 0 || rest != "" && all[i].Argument == "" && all[i].Name != Stop {
		return "", "", false
	}
	return all[i].Name, strings.TrimSpace(rest), true
}

// IsCommand reports whether text is a command.
func IsCommand(text string) bool {
	_, _, ok := ParseCommand(text)
	return ok
}

// Button returns a button below the answer of a turn, which gives a command about it, with a label in the language of v.
func Button(name CommandName, turn ResponseID, v lang.Voice) *answer.Choices {
	label := v.Say(map[CommandName]string{Stop: "button.stop", RetryCommand: "button.retry"}[name])
	return &answer.Choices{ID: "/" + string(name) + "/" + strconv.FormatUint(uint64(turn), 10), Options: []string{label}}
}

// AccessButton is the ID of the choices that ask the owner for access to the agent.
const AccessButton = "/access"

// ButtonOf returns the command and the turn of a [Button] by the ID of its choices. ok is false for those of a question.
func ButtonOf(id string) (name CommandName, turn ResponseID, ok bool) {
	_, rest, _ := strings.Cut(id, "/")
	word, number, ok := strings.Cut(rest, "/")
	n, err := strconv.ParseUint(number, 10, 63)
	name = CommandName(word)
	return name, ResponseID(n), ok && err == nil && strings.HasPrefix(id, "/") && (name == Stop || name == RetryCommand)
}
