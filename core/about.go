package core

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/command"
	"parley/core/prompt"
	"parley/core/schedule"
)

// About is what /status and /model say of the program around the runtime.
type About struct {
	Version string
	Models  []ModelName // in the order of their importance
	// Health looks at what the gateway stands on. It may be nil, is given a second, and its errors are not shown to users.
	Health func(ctx context.Context) []Health
}

// ModelName says which model does a kind of work.
type ModelName struct{ Work, Name string }

// Health is the state of one service that the gateway depends on.
type Health struct {
	Name string
	Err  error // nil if it is well
}

// help lists the commands, and the prompts of MCP servers that the asker can use as commands.
func (cr *commandRun) help(ctx context.Context) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "Send me a message and I'll reply. If you write again before I finish, I'll take it into account.\n\n")
	for _, c := range command.Specs() {
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

// approvals lists what was approved in the room.
func (cr *commandRun) approvals(ctx context.Context) (text string, err error) {
	err = cr.x.persist(ctx, func() (err error) {
		text, err = cr.x.rt.desk.List(ctx, cr.x.run.Room)
		return err
	})
	return text, err
}

// status describes the room (who is answered, what is being done, time limit, model), the services behind the gateway, what was skipped and
// the version. It needs no model, so that it works while everything else fails.
func (cr *commandRun) status(ctx context.Context) (string, error) {
	var room chat.Room
	var attention chat.Attention
	var open []chat.Run
	var model string
	err := cr.x.persist(ctx, func() (err error) {
		if room, err = cr.store.Room(ctx, cr.x.run.Room); err != nil {
			return err
		}
		if attention, err = cr.store.Attention(ctx, cr.x.run.Room); err == nil {
			open, err = cr.store.OpenRuns(ctx, cr.x.run.Room)
		}
		if err == nil {
			model, err = cr.model(ctx, room)
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
	for _, h := range cr.health(ctx) {
		state := "ok"
		if h.Err != nil {
			state = "**unreachable**"
		}
		lines = append(lines, fmt.Sprintf("- %s: %s", h.Name, state))
	}
	if left := cr.x.rt.Counts().String(); left != "" {
		lines = append(lines, "- Skipped since start: "+left)
	}
	if v := cr.x.rt.cfg.About.Version; v != "" {
		lines = append(lines, fmt.Sprintf("- Version: `%s`", v))
	}
	return strings.Join(lines, "\n"), nil
}

func (cr *commandRun) health(ctx context.Context) []Health {
	if cr.x.rt.cfg.About.Health == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, coordTimeout)
	defer cancel()
	return cr.x.rt.cfg.About.Health(ctx)
}
