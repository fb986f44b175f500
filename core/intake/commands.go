package intake

import (
	"context"
	"errors"
	"fmt"

	"parley/core/access"
	"parley/core/chat"
	"parley/core/prompt"
	"parley/core/schedule"
	"parley/internal/lang"
)

// CommandStore contains the store methods of [Commands].
type CommandStore interface {
	prompt.AskedStore
	KnownStore
	OpenRuns(ctx context.Context, room chat.RoomID) ([]chat.Run, error)
	Run(ctx context.Context, id chat.RunID) (chat.Run, error)
	Accept(ctx context.Context, in chat.Message, j chat.JoinRule) (chat.Accepted, error)
	Mark(ctx context.Context, room chat.RoomID, id chat.MemoryID) (chat.Accepted, error)
	Recent(ctx context.Context, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) ([]chat.Memory, error)
	Room(ctx context.Context, id chat.RoomID) (chat.Room, error)
}

// Commands accepts commands. /stop acts at once, because it must not wait for the answer that it stops. The others
// become runs, so that their answers survive a restart as all answers do. Its fields are set before use. It is safe for
// concurrent use.
type Commands struct {
	Store   CommandStore
	Agent   chat.EntityID
	Turns   schedule.TurnPolicy
	Pairing *access.Pairing
	Claims  *schedule.Claims
	Lanes   *schedule.Lanes
	Stops   *Stopper
	// Complete returns values of the argument of a command to a user with access.
	Complete func(ctx context.Context, c chat.Completion) ([]chat.Suggestion, error)
}

// commandIn returns the command in m, or "" if there is none, its author may not give any, or it may be for another bot
// of a group.
func commandIn(m chat.Message, a admission) chat.CommandName {
	name, _, ok := chat.ParseCommand(m.Text)
	if !ok || !a.invited || m.Bot || !m.Place.Kind.Private() && !m.Addressed {
		return ""
	}
	return name
}

// accept stores a command with the run that executes it. /stop needs no run, and leaves only marks. It fails with the
// error of the store.
func (c *Commands) accept(ctx context.Context, m chat.Message, name chat.CommandName) (chat.Accepted, error) {
	if name == chat.Stop {
		return c.acceptStop(ctx, m)
	}
	m.Kind = chat.KindCommand
	j := chat.JoinRule{Kind: chat.RunCommand}
	if name == chat.RetryCommand {
		recent, err := c.Store.Recent(ctx, m.Room, chat.Said, 0, prompt.Window)
		if err == nil {
			_, _, err = prompt.LastAsked(ctx, c.Store, c.Agent, recent)
		}
		switch {
		case err == nil:
			j.Kind = chat.RunRetry
		case !errors.Is(err, chat.ErrNotFound):
			return chat.Accepted{}, fmt.Errorf("accept %s: %w", m.ID, err)
		}
	}
	acc, err := c.Store.Accept(ctx, m, j)
	if err != nil {
		return chat.Accepted{}, fmt.Errorf("accept %s: %w", m.ID, err)
	}
	// Only a retry claims the room: like a new question it ends the answer in progress.
	if j.Kind.Claims() && !acc.Duplicate && c.Turns.PolicyFor(m.Place.Kind) == schedule.Supersede {
		c.Claims.Announce(ctx, m.Room, acc.Response)
	}
	c.Lanes.Wake(schedule.Lane{Room: m.Room, Control: j.Kind.OutOfBand()})
	return acc, nil
}

// complete suggests values of an argument. It fails with the error of the store or a plugin.
func (c *Commands) complete(ctx context.Context, in chat.Completion) (chat.Accepted, error) {
	if ok, err := c.Pairing.Invited(ctx, in.Place, in.Author, in.Roles); err != nil || !ok {
		return chat.Accepted{Refused: lang.Say(ctx, "choice.not_invited")}, err
	}
	found, err := c.Complete(ctx, in)
	return chat.Accepted{Suggestions: &found}, err
}

// acceptStop stops the turns that the room had when m first arrived, however often m is delivered, and no later ones.
// The first mark stores the last of these turns. The second mark records that the stop is complete: if the process dies
// between the two, the next delivery stops the same turns again. It fails with the errors of [Stopper.Stop].
func (c *Commands) acceptStop(ctx context.Context, m chat.Message) (chat.Accepted, error) {
	begun, err := c.Store.Mark(ctx, m.Room, "stop/"+m.ID)
	if err != nil {
		c.Stops.stopHere(m.Room)
		return chat.Accepted{}, fmt.Errorf("accept %s: %w", m.ID, err)
	}
	if begun.Response > 0 {
		if err := c.Stops.Stop(ctx, m.Room, begun.Response); err != nil {
			return chat.Accepted{}, err
		}
	}
	acc, err := c.Store.Mark(ctx, m.Room, m.ID)
	if err != nil {
		return chat.Accepted{}, fmt.Errorf("accept %s: %w", m.ID, err)
	}
	return acc, nil
}

// command accepts a command from another source than a message: a button, or a request of the web API. It fails with
// the error of the store.
func (c *Commands) command(ctx context.Context, given chat.Command) error {
	if given.Name != chat.Stop {
		return fmt.Errorf("unknown command %q", given.Name)
	}
	room, err := c.Store.Room(ctx, given.Room)
	switch {
	case errors.Is(err, chat.ErrNotFound):
		return nil // the room has no messages
	case err != nil:
		return fmt.Errorf("stop %s: %w", given.Room, err)
	}
	if in, err := c.Pairing.Invited(ctx, room, given.Author, given.Roles); err != nil || !in {
		return err // strangers can't stop answers
	}
	if given.Question != "" {
		return c.Stops.stopAnswer(ctx, given.Room, given.Question)
	}
	return c.Stops.Stop(ctx, given.Room, chat.EveryTurn)
}
