package core

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/prompt"
	"parley/core/schedule"
)

// help lists the commands, and the prompts of MCP servers that the asker can use as commands.
func (cr *commandRun) help(ctx context.Context) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "Send me a message and I'll reply. If you write again before I finish, I'll take it into account.\n\n")
	for _, c := range chat.Commands() {
		fmt.Fprintf(&b, "- `/%s`: %s\n", c.Name, c.Description)
	}
	if slices.ContainsFunc(cr.x.rt.cfg.Plugins, func(p action.Plugin) bool { return p.Prompts != nil }) {
		turn, err := cr.x.prep.recall(ctx)
		if err != nil {
			return "", err
		}
		b.WriteString(prompt.Commands(cr.x.rt.cfg.Plugins, turn, cr.x.rt.cfg.Log))
	}
	return strings.TrimSpace(b.String()), nil
}

// details reports whether the author of a command reads more than what concerns them: names of models and services, the
// version, and what others did. That is the owner, in a chat that no one else reads, and everyone at the gateway's own machine.
func (cr *commandRun) details(ctx context.Context, m chat.Memory) (bool, error) {
	if cr.x.run.Address.Details {
		return true, nil
	}
	owner, err := cr.x.rt.pairing.Owns(ctx, m.Author)
	return owner && cr.x.run.RoomKind.Private(), err
}

// approvals lists the decisions about calls in the room: all of them, or only those about calls that the author asked for.
func (cr *commandRun) approvals(ctx context.Context) (text string, err error) {
	m, err := cr.x.input(ctx)
	if err != nil {
		return "", err
	}
	err = cr.x.persist(ctx, func() error {
		all, err := cr.details(ctx, m)
		if err == nil {
			text, err = cr.x.rt.desk.List(ctx, cr.x.run.Room, m.Author, all)
		}
		return err
	})
	return text, err
}

// status describes the room: the users that the agent answers, the current work, and the time limit. Users who can read details
// also see the model, the services behind the gateway, the skipped steps, and the version. It needs no model, so that it works
// while everything else fails.
func (cr *commandRun) status(ctx context.Context) (string, error) {
	m, err := cr.x.input(ctx)
	if err != nil {
		return "", err
	}
	var room chat.Room
	var attention chat.Attention
	var open []chat.Run
	var details bool
	var model string
	err = cr.x.persist(ctx, func() (err error) {
		if details, err = cr.details(ctx, m); err != nil {
			return err
		}
		if room, err = cr.store.Room(ctx, cr.x.run.Room); err != nil {
			return err
		}
		if attention, err = cr.store.Attention(ctx, cr.x.run.Room); err == nil {
			open, err = cr.store.OpenRuns(ctx, cr.x.run.Room)
		}
		if err == nil {
			model, err = cr.model(ctx, room, m.Author, details)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	lines := []string{
		"- Here: " + cr.x.rt.cfg.Access.Listening(room, attention),
		"- Now: " + schedule.Workload(schedule.Lane{}.Of(open)),
		"- Time limit per answer: " + schedule.Minutes(cr.x.rt.cfg.Turns.Limit),
	}
	if model != "" {
		lines = append([]string{fmt.Sprintf("- Model: `%s`", model)}, lines...)
	}
	if details {
		lines = append(lines, cr.x.rt.cfg.About.Services(ctx, cr.x.rt.Counts().String())...)
	}
	return strings.Join(lines, "\n"), nil
}
