package parley

import (
	"cmp"
	"fmt"

	"parley/config"
	"parley/core/storage"
	"parley/plugins/tasks"
)

// newTasks returns the schedules and hooks of the configuration as a plugin.
func newTasks(cfg config.Config, env Env, store storage.Store) (*tasks.Tasks, error) {
	o := tasks.Options{Store: store, Quiet: cfg.Initiative.Quiet(), Log: env.Log}
	for _, s := range cfg.Schedules {
		times, err := s.Times(cfg.Initiative)
		if err != nil {
			return nil, fmt.Errorf("the schedule %s: %w", s.Name, err)
		}
		o.Schedules = append(o.Schedules, tasks.Schedule{
			Name: s.Name, Times: times, Spec: s.Cron + " " + cmp.Or(s.Timezone, cfg.Initiative.Timezone), Jitter: s.Jitter,
			Once: s.Missed == config.MissedOnce, Drop: s.Quiet == config.QuietDrop, What: what(s.Room, s.Prompt, s.Text),
		})
	}
	for _, h := range cfg.Hooks {
		o.Hooks = append(o.Hooks, tasks.Hook{
			Name: h.Name, Secret: h.Secret.Reveal(), PerMinute: h.PerMinute, Drop: h.Quiet == config.QuietDrop, What: what(h.Room, h.Prompt, h.Text),
		})
	}
	return tasks.New(o), nil
}

// what returns what a schedule or hook does: say a text, or have the agent act on a prompt.
func what(room config.Place, prompt, text string) tasks.What {
	return tasks.What{Room: string(room), Text: cmp.Or(text, prompt), Speak: text != ""}
}
