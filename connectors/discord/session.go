package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"parley/connectors"
	"parley/internal/rest"
)

const (
	// Ids are ordered by time, but messages of different channels can be delivered in another order, and clocks differ.
	// A search for missed messages therefore starts earlier than the last known message. Messages that it finds twice
	// are recognized by their ids.
	disorder  = 10 * time.Second // messages of different channels arrive in any order
	clockSkew = time.Minute      // between Discord's clock and ours
)

// ticket is held for one event until everything in it is stored. Its position is the session as of that event.
type ticket = connectors.Ticket[session]

// session holds what a resume requires: the login, and the number of the last event. gateway has the session as of the
// last received event; the intake's watermark has it as of the last event before which everything is accepted, and only
// that one is stored. Its JSON is a format: a later version must be able to read it.
type session struct {
	ID      string    `json:"id"`
	Seq     int64     `json:"seq"`
	URL     string    `json:"url"`            // where to resume
	Intents int       `json:"intents"`        // those of the login
	Line    string    `json:"line,omitempty"` // the presence of the login
	Shards  int       `json:"shards"`         // how many the bot had at the login; 0 if an earlier version stored it, which means 1
	At      time.Time `json:"at"`             // when event Seq was received
	Last    uint64    `json:"last"`           // the latest message id so far; 0 if there was none
}

// since returns the first message id that s may not have delivered. It returns 0 for a bot that was never connected,
// because messages from before its first start are not answered.
func (s session) since() uint64 {
	switch {
	case s.Last > 0:
		return idAt(when(s.Last).Add(-disorder))
	case s.At.IsZero():
		return 0
	}
	return idAt(s.At.Add(-clockSkew))
}

const (
	// keepEvery is the least time between two writes. Each event changes the position, so storing each would write to
	// the database hundreds of times a second on busy servers.
	keepEvery = 2 * time.Second // at most this often, to limit writes
	keepRetry = 30 * time.Second
	keepTime  = 5 * time.Second
)

// keeper stores the session and the channels in use, so that the next process can resume. They are stored under the id
// of the bot's account: after a change of the token to another bot, the old session is not used.
type keeper struct {
	memo   connectors.StateStore
	name   string // of the bot's account and the shard
	events *connectors.Intake[string, session]
	used   *used
	log    *slog.Logger

	// stored is the last stored value. It belongs to the goroutine of run, and to the caller of run when that has
	// ended.
	stored session
}

// newKeeper loads the state that an earlier process stored for a shard, and creates the intake's queue, which continues
// from there. An error of the store ends the connector, which is restarted: without the session, the messages since
// would be lost.
func newKeeper(ctx context.Context, of keeperOf) (*keeper, error) {
	k := &keeper{memo: of.state, name: of.division.state(of.bot, of.shard), log: of.log, used: newUsed()}
	found, err := k.load(ctx, k.session(), &k.stored)
	if err == nil {
		_, err = k.load(ctx, k.channels(), &k.used.all)
	}
	if err == nil && !found {
		err = k.inherit(ctx, of.bot, of.division, of.shard)
	}
	if err != nil {
		return nil, err
	}
	o := connectors.IntakeOptions{PerKey: mostQueued, Total: mostWaiting, Log: k.log}
	k.events = connectors.NewIntake[string](ctx, o, k.stored)
	return k, nil
}

func (k *keeper) session() string { return k.name + sessionName }

func (k *keeper) channels() string { return k.name + channelsName }

// load reads a stored value into into, and reports whether there was one. One that can't be read is ignored: only what
// was missed while no process ran is lost then, and an error would keep the bot offline.
func (k *keeper) load(ctx context.Context, name string, into any) (found bool, err error) {
	text, err := k.memo.Kept(ctx, name)
	if err != nil {
		return false, fmt.Errorf("read the state of the last connection to Discord: %w", err)
	}
	if text == "" {
		return false, nil
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		k.log.Warn("the state of the last Discord connection is unreadable and ignored", "name", name, "err", err)
	}
	return true, nil
}

// run stores changes until ctx is done, a few seconds late. After a crash the events of those seconds are redelivered
// and recognized by their ids.
func (k *keeper) run(ctx context.Context) {
	wait := keepEvery
	for {
		select {
		case <-k.events.Advanced():
		case <-ctx.Done():
			return
		}
		if rest.For(ctx, wait) != nil {
			return
		}
		wait = keepEvery
		if !k.flush(ctx) {
			wait = keepRetry
		}
	}
}

// flush stores the changes. It logs a failure and returns false. It also works when ctx is done, for the last call at a
// shutdown.
func (k *keeper) flush(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTime)
	defer cancel()
	// The channels come first: if the process dies between both writes, the next one knows every channel with an
	// accepted message and searches it. Reached is read before them for the same reason.
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

// keeperOf identifies the shard of a keeper.
type keeperOf struct {
	state    connectors.StateStore
	bot      string // the id of its account
	division division
	shard    int
	log      *slog.Logger
}

// The ends of the names of stored values.
const (
	sessionName  = "/session"
	channelsName = "/channels"
)
