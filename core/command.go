package core

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/prompt"
	"parley/core/schedule"
	"parley/internal/contain"
)

// commandHandler accepts commands. /stop acts at once, because it must not wait for what it is to stop. The others become runs, so that
// their answers survive a restart as all answers do.
type commandHandler struct {
	rt    *Runtime
	store commandStore
}

// reply returns what carries out a command that became a run, or nil: its text is the answer.
func reply(name chat.CommandName) func(*commandRun, context.Context) (string, error) {
	return map[chat.CommandName]func(*commandRun, context.Context) (string, error){
		chat.NewCommand:       (*commandRun).askToForget,
		chat.RetryCommand:     (*commandRun).nothingToRetry,
		chat.ModelCommand:     (*commandRun).models,
		chat.StatusCommand:    (*commandRun).status,
		chat.UsageCommand:     (*commandRun).usage,
		chat.ApprovalsCommand: (*commandRun).approvals,
		chat.HelpCommand:      (*commandRun).help,
		chat.MemoryCommand:    (*commandRun).plugin,
		chat.ForgetCommand:    (*commandRun).plugin,
		chat.RemindersCommand: (*commandRun).plugin,
	}[name]
}

// commanded returns which command m is, or "" if it is none, its author may not give any, or it may be meant for another bot of a group.
func commanded(m chat.Message, a admission) chat.CommandName {
	name, _, ok := chat.ParseCommand(m.Text)
	if !ok || !a.invited || m.Bot || !m.Place.Kind.Private() && !m.Addressed {
		return ""
	}
	return name
}

// acceptCommand stores a command with the run that carries it out. /stop needs no run, and leaves only marks.
func (h *commandHandler) acceptCommand(ctx context.Context, m chat.Message, name chat.CommandName) (chat.Accepted, error) {
	if name == chat.Stop {
		return h.takeStop(ctx, m)
	}
	m.Kind = chat.KindCommand
	j := chat.JoinRule{Kind: chat.RunCommand}
	if name == chat.RetryCommand {
		recent, err := h.store.Recent(ctx, m.Room, chat.Said, 0, prompt.Window)
		if err == nil {
			_, _, err = h.lastAsked(ctx, recent)
		}
		switch {
		case err == nil:
			j.Kind = chat.RunRetry
		case !errors.Is(err, chat.ErrNotFound):
			return chat.Accepted{}, fmt.Errorf("accept %s: %w", m.ID, err)
		}
	}
	acc, err := h.store.Accept(ctx, m, j)
	if err != nil {
		return chat.Accepted{}, fmt.Errorf("accept %s: %w", m.ID, err)
	}
	// Only a retry claims the room: like a new question it ends what is being answered.
	if j.Kind.Claims() && !acc.Duplicate && h.rt.cfg.Turns.PolicyFor(m.Place.Kind) == schedule.Supersede {
		h.rt.intake.announce(ctx, m.Room, acc.Response)
	}
	h.rt.scheduler.wakeLane(schedule.Lane{Room: m.Room, Control: j.Kind.OutOfBand()})
	return acc, nil
}

// takeStop stops the turns that the room had when m first arrived, however often it is delivered: all of these, and no later ones. The
// first mark remembers up to which turn that is. The second one says that it is done: if the process dies between the two, the
// next delivery stops the same turns again.
func (h *commandHandler) takeStop(ctx context.Context, m chat.Message) (chat.Accepted, error) {
	begun, err := h.store.Mark(ctx, m.Room, "stop/"+m.ID)
	if err != nil {
		h.rt.live.Stop(m.Room)
		return chat.Accepted{}, fmt.Errorf("accept %s: %w", m.ID, err)
	}
	if begun.Response > 0 {
		if err := h.stop(ctx, m.Room, begun.Response); err != nil {
			return chat.Accepted{}, err
		}
	}
	acc, err := h.store.Mark(ctx, m.Room, m.ID)
	if err != nil {
		return chat.Accepted{}, fmt.Errorf("accept %s: %w", m.ID, err)
	}
	return acc, nil
}

// command accepts a command that was given by other means than a message: a button, or a request of the web API.
func (h *commandHandler) command(ctx context.Context, c chat.Command) error {
	if c.Name != chat.Stop {
		return fmt.Errorf("unknown command %q", c.Name)
	}
	room, err := h.store.Room(ctx, c.Room)
	switch {
	case errors.Is(err, chat.ErrNotFound):
		return nil // nothing was ever said there
	case err != nil:
		return fmt.Errorf("stop %s: %w", c.Room, err)
	}
	if in, err := h.rt.pairing.Invited(ctx, room, c.Author, c.Roles); err != nil || !in {
		return err // strangers can't stop answers
	}
	return h.stop(ctx, c.Room, chat.EveryTurn)
}

// stop ends every turn of room up to one, on all replicas, also those that wait, and closes the questions that they asked. If the
// store or the tracker can't be reached, at least what runs in this process ends, and the error has the rest tried again.
func (h *commandHandler) stop(ctx context.Context, room chat.RoomID, upTo chat.ResponseID) (err error) {
	defer func() {
		if err != nil {
			h.rt.live.Stop(room)
			err = fmt.Errorf("stop %s: %w", room, err)
		}
	}()
	asked, err := h.store.OpenQuestions(ctx, room)
	if err != nil {
		return err
	}
	// Turns end before their questions are closed: a turn that waits for a choice then ends as stopped, and not as unanswered.
	if err := h.stopTurns(ctx, room, upTo); err != nil {
		return err
	}
	for _, q := range asked {
		run, err := h.store.Run(ctx, q.Run)
		if err == nil && run.Response <= upTo {
			err = h.rt.choices.retire(ctx, q)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (h *commandHandler) stopTurns(ctx context.Context, room chat.RoomID, upTo chat.ResponseID) error {
	open, err := h.store.OpenRuns(ctx, room)
	open = slices.DeleteFunc(open, func(r chat.Run) bool { return r.Response > upTo })
	if err != nil || len(open) == 0 {
		return err
	}
	defer h.rt.scheduler.wake(room)
	for claim, last := range schedule.LastTurns(open) {
		if err := h.rt.cfg.Tracker.Stop(ctx, h.rt.cfg.Agent.ID, claim, last); err != nil {
			return err
		}
	}
	if err := h.dropWaiting(ctx, open); err != nil {
		return err
	}
	return h.rt.waker.StopAll(ctx, room, upTo)
}

// dropWaiting ends the turns among open that have not started. Later messages would otherwise join them, and never be answered,
// because a stopped turn answers nothing.
func (h *commandHandler) dropWaiting(ctx context.Context, open []chat.Run) error {
	for _, r := range open {
		if r.Epoch > 0 || !r.Kind.Claims() {
			continue
		}
		err := h.store.Finish(ctx, r.ID, r.Epoch, answer.Outcome{Status: answer.Stopped, Withdrawn: true}, chat.Memory{})
		if chat.Unless(err, answer.ErrLost) != nil { // lost: it was started meanwhile, and ends by the tracker
			return err
		}
	}
	return nil
}

// runCommand carries out a command; its text is the answer.
func (cr *commandRun) runCommand(ctx context.Context) error {
	m, err := cr.x.input(ctx)
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
		cr.x.answer.Apply(answer.Change{Kind: answer.Text, Text: text})
	}
	return err
}

// plugin has the plugin that brings a command reply to it. The command stays listed where no plugin does, because platforms keep their
// own lists; then people read that it is switched off.
func (cr *commandRun) plugin(ctx context.Context) (string, error) {
	m, err := cr.x.input(ctx)
	if err != nil {
		return "", err
	}
	name, arguments, _ := chat.ParseCommand(m.Text)
	for _, p := range cr.x.rt.cfg.Plugins {
		for _, c := range p.Commands {
			if c.Name != name {
				continue
			}
			call := action.CommandCall{Message: m, Arguments: arguments}
			if call.Room, err = cr.store.Room(ctx, m.Room); err != nil {
				return "", err
			}
			if call.Owner, err = cr.x.rt.pairing.Owns(ctx, m.Author); err != nil {
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
