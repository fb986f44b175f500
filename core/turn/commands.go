package turn

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"parley/core/access"
	"parley/core/action"
	"parley/core/attachment"
	"parley/core/chat"
	"parley/core/consent"
	"parley/core/llm"
	"parley/core/schedule"
	"parley/internal/contain"
)

// ReplyStore contains the store methods of [Replies].
type ReplyStore interface {
	Attention(ctx context.Context, room chat.RoomID) (chat.Attention, error)
	OpenRuns(ctx context.Context, room chat.RoomID) ([]chat.Run, error)
	Recent(ctx context.Context, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) ([]chat.Memory, error)
	Room(ctx context.Context, id chat.RoomID) (chat.Room, error)
	Upload(ctx context.Context, id string) (chat.Upload, error)
	attachment.Pieces
}

// Replies answers runs that need no language model: commands, and notices of the agent. Its fields are set before use. It is safe for
// concurrent use.
type Replies struct {
	Store          ReplyStore
	Recaller       *Recaller
	Approvals      *consent.Approvals
	Links          *access.Links
	Plugins        []action.Plugin
	Program        Program
	Counters       *schedule.Counters
	Limit          time.Duration      // of a turn
	ImageGenerator llm.ImageGenerator // nil: notices have no images
	Log            *slog.Logger
}

// commandRun is a run that answers a command.
type commandRun struct {
	*Replies
	at      *attempt
	journal *journal
	asking  *asking
}

// reply returns the function that executes a command as a run, or nil: its text is the answer.
func reply(name chat.CommandName) func(*commandRun, context.Context) (string, error) {
	return map[chat.CommandName]func(*commandRun, context.Context) (string, error){
		chat.NewCommand:       (*commandRun).askToForget,
		chat.RetryCommand:     (*commandRun).nothingToRetry,
		chat.ModelCommand:     (*commandRun).models,
		chat.StatusCommand:    (*commandRun).status,
		chat.UsageCommand:     (*commandRun).usage,
		chat.ApprovalsCommand: (*commandRun).approvals,
		chat.LinkCommand:      (*commandRun).link,
		chat.UnlinkCommand:    (*commandRun).link,
		chat.HelpCommand:      (*commandRun).help,
		chat.MemoryCommand:    (*commandRun).plugin,
		chat.ForgetCommand:    (*commandRun).plugin,
		chat.RemindersCommand: (*commandRun).plugin,
		chat.AdminCommand:     (*commandRun).plugin,
	}[name]
}

// answer executes a command; its text is the answer. It fails with the error of the command.
func (cr *commandRun) answer(ctx context.Context) error {
	m, err := cr.journal.input(ctx)
	if err != nil {
		return err
	}
	name, _, _ := chat.ParseCommand(m.Text)
	carryOut := reply(name)
	if carryOut == nil {
		return fmt.Errorf("there is no command %q", m.Text)
	}
	text, err := carryOut(cr, ctx)
	if err == nil {
		cr.at.say(text)
	}
	return err
}

// plugin passes the command to the plugin that provides it. Without the plugin the command remains in the lists that
// platforms keep, so the reply then explains that it is turned off. It fails with the error of the plugin.
func (cr *commandRun) plugin(ctx context.Context) (string, error) {
	m, err := cr.journal.input(ctx)
	if err != nil {
		return "", err
	}
	name, arguments, _ := chat.ParseCommand(m.Text)
	for _, p := range cr.Plugins {
		for _, c := range p.Commands {
			if c.Name != name {
				continue
			}
			call := action.CommandCall{Message: m, Arguments: arguments}
			if call.Room, err = cr.Store.Room(ctx, m.Room); err != nil {
				return "", err
			}
			if call.Owner, err = cr.Recaller.Pairing.Owns(ctx, m.Author); err != nil {
				return "", err
			}
			var said string
			err = contain.Call("the command", func() (err error) {
				said, err = c.Run(ctx, call)
				return err
			})
			return said, err
		}
	}
	return "That is switched off here.", nil
}

// link executes /link and /unlink. It fails with the error of the store.
func (cr *commandRun) link(ctx context.Context) (said string, err error) {
	m, err := cr.journal.input(ctx)
	if err != nil {
		return "", err
	}
	room, err := cr.Store.Room(ctx, m.Room)
	if err != nil {
		return "", err
	}
	lasts, err := cr.lasts(ctx, m)
	if err != nil {
		return "", err
	}
	said, ask, err := cr.Links.Command(ctx, m, room, lasts)
	if err == nil && ask != nil {
		_, err = cr.asking.ask(ctx, *ask)
	}
	return said, err
}

// lasts reports whether the author of m has the same account in all their chats, and not one for each. It fails with the
// error of the store.
func (cr *commandRun) lasts(ctx context.Context, m chat.Memory) (bool, error) {
	person, err := access.PersonOf(ctx, cr.Links.Store, m.Author)
	return person == cr.at.run.Address.BilledTo, err
}
