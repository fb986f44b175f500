package action

import (
	"context"

	"parley/core/chat"
)

// A Command carries out a message such as "/reminders" that is one of [chat.CommandName]. It is answered at once, without a model,
// and is no part of prompts.
type Command struct {
	Name chat.CommandName
	// Run returns the reply. It is not called for people who can't talk to the agent, and can be called again after a crash.
	Run func(ctx context.Context, c CommandCall) (string, error)
}

// A PromptCommand is a message such as "/review main.go" that the model answers like any other, with context that a plugin adds.
// What it is made of can come from outside.
type PromptCommand struct {
	Name        string // without the slash
	Arguments   string // what can follow the name, in one line; can be empty
	Description string // in one line; can be empty
}

// CommandCall is one use of a command.
type CommandCall struct {
	Room      chat.Room
	Message   chat.Memory // the command as it was written
	Arguments string      // what follows the name
	Owner     bool        // whether an owner of the agent wrote it
}
