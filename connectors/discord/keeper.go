package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"parley/connectors"
)

const (
	keepEvery = 2 * time.Second // at most this often, to limit writes
	keepRetry = 30 * time.Second
	keepTime  = 5 * time.Second
)

// keeper stores the session and the channels in use, so that the next process can resume.
type keeper struct {
	memo   connectors.StateStore
	name   string // the key of the bot's account
	events *connectors.Intake[string, session]
	used   *used
	log    *slog.Logger

	stored session // owned by run's goroutine
}

// newKeeper loads what an earlier process stored for a bot.
func newKeeper(ctx context.Context, d *Discord, bot string) (*keeper, error) {
	k := &keeper{memo: d.memo, name: Name + "/" + bot, log: d.log, used: newUsed()}
	if err := k.load(ctx, k.session(), &k.stored); err != nil {
		return nil, err
	}
	if err := k.load(ctx, k.channels(), &k.used.all); err != nil {
		return nil, err
	}
	o := connectors.IntakeOptions{PerKey: mostQueued, Total: mostWaiting, Log: d.log}
	k.events = connectors.NewIntake[string](ctx, o, k.stored)
	return k, nil
}

func (k *keeper) session() string  { return k.name + "/session" }
func (k *keeper) channels() string { return k.name + "/channels" }

func (k *keeper) load(ctx context.Context, name string, into any) error {
	text, err := k.memo.Kept(ctx, name)
	if err != nil {
		return fmt.Errorf("read the state of the last connection to Discord: %w", err)
	}
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		k.log.Warn("the state of the last Discord connection is unreadable and ignored", "name", name, "err", err)
	}
	return nil
}

// run stores changes until ctx is done, a few seconds late. After a crash the events of those seconds are redelivered
// and deduplicated by id.
func (k *keeper) run(ctx context.Context) {
	wait := keepEvery
	for {
		select {
		case <-k.events.Advanced():
		case <-ctx.Done():
			return
		}
		if !pause(ctx, wait) {
			return
		}
		wait = keepEvery
		if !k.flush(ctx) {
			wait = keepRetry
		}
	}
}

// flush stores the changes. It logs a failure and returns false.
func (k *keeper) flush(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTime)
	defer cancel()
	// The channels come first: an accepted message must not be in an unknown channel.
	safe := k.events.Reached()
	err := k.used.save(time.Now(), func(text string) error { return k.memo.Keep(ctx, k.channels(), text) })
	if err == nil && safe != k.stored {
		var text []byte
		if text, err = json.Marshal(safe); err == nil {
			err = k.memo.Keep(ctx, k.session(), string(text))
		}
	}
	if err != nil {
		k.log.Warn("the state of the Discord connection can't be saved; after a restart some messages may arrive twice", "err", err)
		return false
	}
	k.stored = safe
	return true
}
