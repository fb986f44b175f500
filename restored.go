package parley

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	stores "parley/backends"
	"parley/config"
	"parley/connectors"
	"parley/connectors/web/identity"
	"parley/connectors/web/login"
	"parley/core/action"
	"parley/internal/local"
	"parley/internal/rest"
	"parley/plugins/tasks"
)

// Restore puts a backup in the place of the store of cfg, and fails like [stores.Restore]. Not restored are the places in
// streams of events, which platforms have passed since; the times of schedules; and the owner's browsers and
// API keys, because some could have been logged out or revoked since.
func Restore(ctx context.Context, cfg config.Config, backup string, incomplete bool) (stores.Restored, error) {
	return stores.Restore(ctx, cfg.Store.Reveal(), backup, stores.RestoreOptions{
		Drop: append(streams(), login.Prefix, identity.KeysName, pluginKey(tasks.Name, "")), Incomplete: incomplete,
	})
}

// ConfirmRestore lets schedules and reminders continue after a restore, at the running gateway of cfg, or in its store if
// none runs. It reports false if they were not held, and fails if neither can be reached.
func ConfirmRestore(ctx context.Context, cfg config.Config) (bool, error) {
	state := local.State{Config: cfg}
	since, err := state.Kept(ctx, stores.RestoredNote)
	if err != nil || since == "" {
		return false, err
	}
	return state.Swap(ctx, stores.RestoredNote, since, "")
}

// checkRestored returns the result of the check of a store, which is a [warning] while it waits for a confirmation after a restore.
// If that can't be found out, as when the gateway that has the store is on another machine, it is not mentioned.
func checkRestored(ctx context.Context, cfg config.Config, text string) (string, error) {
	if stores.Path(cfg.Store.Reveal()) == "" {
		return text, nil // PostgreSQL has its own tools
	}
	since, err := local.State{Config: cfg}.Kept(ctx, stores.RestoredNote)
	if err != nil || since == "" {
		return text, nil
	}
	return "", warning(fmt.Sprintf("%s; it was restored at %s, so schedules and reminders wait for: gateway restore --confirm", text, since))
}

// confirmEvery is how often a gateway with a restored store looks whether its owner has confirmed.
const confirmEvery = 5 * time.Second

// restoredHold holds the agent's initiative after a restore, because its actions may have happened already
// before: the restored store can't tell. It is safe for concurrent use.
type restoredHold struct {
	memo connectors.SharedState
	tell func(ctx context.Context, key, text string) error // to the owners; once for each key
	log  *slog.Logger
}

// wrap returns plugins whose initiative waits.
func (h restoredHold) wrap(plugins []action.Plugin) []action.Plugin {
	for i, p := range plugins {
		if p.Initiative && p.Work != nil {
			plugins[i].Work = func(ctx context.Context) {
				if h.wait(ctx, p.Name) {
					p.Work(ctx)
				}
			}
		}
	}
	return plugins
}

// wait returns true once nothing is held, or false when ctx ends before.
func (h restoredHold) wait(ctx context.Context, plugin string) bool {
	told := false
	for range rest.Every(ctx, confirmEvery) {
		since, err := h.memo.Kept(ctx, stores.RestoredNote)
		if err == nil && since == "" {
			return true
		}
		if err == nil && !told {
			h.log.Warn("the store was restored; this plugin waits for `gateway restore --confirm`", "plugin", plugin, "restored", since)
			err = h.tell(ctx, "restored/"+since, fmt.Sprintf("I was restored from a backup at %s. My schedules and reminders wait, because some of them could come twice. "+
				"To let them continue, run: gateway restore --confirm", since))
			told = err == nil
		}
		if err != nil && ctx.Err() == nil {
			h.log.Error("can't find out or report whether the restore was confirmed; it will be retried", "err", err)
		}
	}
	return false
}
