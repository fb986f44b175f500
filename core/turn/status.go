package turn

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/generate"
	"parley/core/prompt"
	"parley/core/quota"
	"parley/core/schedule"
	"parley/internal/lang"
)

// help lists the commands, and the prompts of MCP servers that the user can call as commands. It fails with the error
// of the store.
func (cr *commandRun) help(ctx context.Context) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", lang.Say(ctx, "help.intro"))
	for _, c := range chat.Commands() {
		fmt.Fprintf(&b, "- `/%s`: %s\n", c.Name, lang.Say(ctx, "command."+string(c.Name)))
	}
	if slices.ContainsFunc(cr.Plugins, func(p action.Plugin) bool { return p.Prompts != nil }) {
		turn, err := cr.Recaller.recall(ctx, cr.journal)
		if err != nil {
			return "", err
		}
		b.WriteString(prompt.Commands(cr.Plugins, turn, cr.Log))
	}
	return strings.TrimSpace(b.String()), nil
}

// details reports whether the author of a command sees more than their own data: names of models and services, the
// version, and actions of others. That is the owner, in a chat without other readers, and everyone at the gateway's own
// machine. It fails with the error of the store.
func (cr *commandRun) details(ctx context.Context, m chat.Memory) (bool, error) {
	if cr.at.run.Address.Details {
		return true, nil
	}
	owner, err := cr.Recaller.Pairing.Owns(ctx, m.Author)
	return owner && cr.at.run.RoomKind.Private(), err
}

// approvals lists the decisions about calls in the room: all of them, or only those about calls that the author
// requested. It fails with the error of the store.
func (cr *commandRun) approvals(ctx context.Context) (text string, err error) {
	m, err := cr.journal.input(ctx)
	if err != nil {
		return "", err
	}
	err = cr.journal.persist(ctx, func() error {
		all, err := cr.details(ctx, m)
		if err == nil {
			text, err = cr.Approvals.List(ctx, cr.at.run.Room, m.Author, all)
		}
		return err
	})
	return text, err
}

// status describes the room: the users that the agent answers, the current work, and the time limit. Users who can read details
// also see the model, the services behind the gateway, the skipped steps, and the version. It needs no model, so that it works
// while everything else fails.
func (cr *commandRun) status(ctx context.Context) (string, error) {
	m, err := cr.journal.input(ctx)
	if err != nil {
		return "", err
	}
	var room chat.Room
	var attention chat.Attention
	var open []chat.Run
	var details bool
	var model string
	err = cr.journal.persist(ctx, func() (err error) {
		if details, err = cr.details(ctx, m); err != nil {
			return err
		}
		if room, err = cr.Store.Room(ctx, cr.at.run.Room); err != nil {
			return err
		}
		if attention, err = cr.Store.Attention(ctx, cr.at.run.Room); err == nil {
			open, err = cr.Store.OpenRuns(ctx, cr.at.run.Room)
		}
		if err == nil {
			model, err = cr.model(ctx, room, m.Author, details)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	v := lang.Of(ctx)
	lines := []string{
		"- " + v.Say("status.here", "listening", cr.Recaller.Access.Listening(v, room, attention)),
		"- " + v.Say("status.now", "work", schedule.Workload(v, schedule.Lane{}.Of(open))),
		"- " + v.Say("status.limit", "time", schedule.Minutes(v, cr.Limit)),
	}
	if model != "" {
		lines = append([]string{"- " + v.Say("status.model", "model", model)}, lines...)
	}
	if details {
		lines = append(lines, cr.Program.Services(ctx, cr.Counters.Now().String())...)
	}
	return strings.Join(lines, "\n"), nil
}

// models answers /model: it lists the models with buttons, or switches to the named model. It fails with the error of
// the store.
func (cr *commandRun) models(ctx context.Context) (said string, err error) {
	m, err := cr.journal.input(ctx)
	if err != nil {
		return "", err
	}
	_, wanted, _ := strings.Cut(strings.TrimSpace(m.Text), " ")
	var ask *chat.Question
	err = cr.journal.persist(ctx, func() error {
		r := generate.SwitchRequest{Message: m, Wanted: strings.TrimSpace(wanted), Most: action.MaxOptions}
		var err error
		if r.Details, err = cr.details(ctx, m); err != nil {
			return err
		}
		if r.Staff, err = cr.Recaller.Pairing.IsStaff(ctx, m.Author, cr.at.run.Address); err != nil {
			return err
		}
		if r.Details {
			r.Others = cr.Program.Work(!cr.several())
		}
		said, ask, err = cr.Recaller.Models.Reply(ctx, r)
		return err
	})
	if err == nil && ask != nil {
		_, err = cr.asking.ask(ctx, *ask)
	}
	return said, err
}

// several reports whether there is more than one model that can answer.
func (cr *commandRun) several() bool { return len(cr.Recaller.Models.Table.Models()) > 1 }

// model returns the name of the model that answers author in room: the provider's name, for readers with details; or
// else the configured name, for users who can switch it; or "". It fails with the error of the store.
func (cr *commandRun) model(ctx context.Context, room chat.Room, author chat.EntityID, details bool) (string, error) {
	switch {
	case !cr.several() && details:
		return cr.Program.Answering(), nil
	case !cr.several():
		return "", nil
	case details:
		return cr.Recaller.Models.Label(ctx, room, author)
	}
	return cr.Recaller.Models.Choice(ctx, room, author)
}

// usage reports the usage of the user and the room. Readers with details see all usage. It fails with the error of the
// store.
func (cr *commandRun) usage(ctx context.Context) (text string, err error) {
	m, err := cr.journal.input(ctx)
	if err != nil {
		return "", err
	}
	a := quota.Asker{Person: cr.at.run.Address.BilledTo, Room: m.Room}
	err = cr.journal.persist(ctx, func() error {
		if a.Lasts, err = cr.lasts(ctx, m); err != nil {
			return err
		}
		room, err := cr.Store.Room(ctx, m.Room)
		if err != nil {
			return err
		}
		a.Group = !room.Kind.Private()
		if a.Owner, err = cr.details(ctx, m); err != nil {
			return err
		}
		recent, err := cr.Store.Recent(ctx, m.Room, chat.Said, 0, 1)
		if err != nil {
			return err
		}
		if len(recent) > 0 && recent[0].Author == cr.Recaller.Agent.Entity() {
			a.Answer = chat.RunID(recent[0].ID) // see [chat.Run.Said]
		}
		text, err = cr.journal.Meter.Report(ctx, a)
		return err
	})
	return text, err
}

// askToForget asks for the confirmation of /new, because deleted messages can't be restored. It fails with the error of
// the store.
func (cr *commandRun) askToForget(ctx context.Context) (string, error) {
	m, err := cr.journal.input(ctx)
	if err != nil {
		return "", err
	}
	var said []chat.Memory
	err = cr.journal.persist(ctx, func() (err error) {
		said, err = cr.Store.Recent(ctx, m.Room, chat.Said, 0, 1)
		return err
	})
	if err != nil || len(said) == 0 {
		return lang.Say(ctx, "forget.new"), err
	}
	_, err = cr.asking.ask(ctx, chat.Question{Options: []string{lang.Say(ctx, "forget.yes"), lang.Say(ctx, "forget.no")}, For: []chat.EntityID{m.Author}, Handler: action.Forget})
	if cr.at.run.RoomKind == chat.API { // the page shows the stored messages
		return lang.Say(ctx, "forget.ask_stored"), err
	}
	return lang.Say(ctx, "forget.ask"), err
}

// nothingToRetry answers /retry without a question to retry; with one it became a run of another kind.
func (cr *commandRun) nothingToRetry(ctx context.Context) (string, error) {
	return lang.Say(ctx, "turn.nothing_to_retry"), nil
}
