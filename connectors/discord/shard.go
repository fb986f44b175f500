package discord

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"parley/connectors"
)

// bot is one call of [Discord.Run]: an account that is logged in with its shards.
type bot struct {
	*Discord
	me      account
	app     application
	handler connectors.Handler
}

// run serves the shards of this process until ctx is done. When their number changes, it begins again.
func (b *bot) run(ctx context.Context) error {
	d := &divisions{memo: b.shards.Memo(), bot: b.me.ID, fixed: b.config.shards(), queue: b.logins}
	now, err := d.first(ctx)
	for err == nil {
		b.standing.begin(now.Shards)
		err = b.divided(ctx, d, now)
		switch before := now.Shards; {
		case errors.Is(err, errFull):
			if now, err = d.enlarge(ctx, now); err == nil {
				b.log.Warn("the bot is in too many servers for its shards and now has more of them", "before", before, "now", now.Shards)
			}
		case errors.Is(err, errDivided):
			now, _, err = d.stored(ctx)
		default:
			return err
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// divided serves the shards of one division until ctx is done. It returns errFull or errDivided if there must be
// another.
func (b *bot) divided(ctx context.Context, d *divisions, now division) error {
	ctx, end := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	if b.shards.Several() {
		watching.Go(func() { d.watch(ctx, now, end) })
	}
	err := b.shards.Run(ctx, now.Shards, func(ctx context.Context, shard int, state connectors.StateStore) error {
		return b.shard(ctx, now, shard, state)
	})
	if err == nil && errors.Is(context.Cause(ctx), errDivided) {
		err = errDivided
	}
	end(nil)
	watching.Wait()
	return err
}

// shard keeps one shard connected and passes its events on until ctx is done.
func (b *bot) shard(ctx context.Context, now division, shard int, state connectors.StateStore) error {
	log := b.log
	if now.Shards > 1 {
		log = log.With("shard", shard)
	}
	k, err := newKeeper(ctx, keeperOf{state: state, bot: b.me.ID, division: now, shard: shard, log: log})
	if err != nil {
		return err
	}
	in := newIntake(b.Discord, b.me.ID, b.handler, k)
	g := &gateway{
		client: b.client, dialer: b.dialer, intake: in, queue: b.logins, standing: b.standing, shard: shard, shards: now.Shards,
		fixed: b.config.shards() > 0, token: b.config.Token.Reveal(), intent: b.app.intents(), presence: b.config.Presence, log: log, session: k.stored,
	}
	// A resumed session keeps the intents of its login. If Message Content was switched on since, only a new session
	// receives the texts. It also keeps the servers and the presence of its login.
	if g.session.Line != g.presence || g.session.Intents != int(g.intent) || max(g.session.Shards, 1) != now.Shards {
		g.session.ID = ""
	}
	b.standing.set(shard, false)
	defer b.standing.drop(shard)
	// The order of the end matters: the intake is closed first, which delivers the waiting events, and only then the
	// position is stored for the last time. Otherwise the next process would receive those events again.
	keeping, stop := context.WithCancel(ctx)
	var keeps sync.WaitGroup
	keeps.Go(func() { k.run(keeping) })
	err = g.run(ctx)
	in.close()
	stop()
	keeps.Wait()
	k.flush(ctx)
	return err
}

// standing is which shards of this process are connected, for [Discord.Limited]. It is safe for concurrent use.
type standing struct {
	mu     sync.Mutex
	shards int          // of the bot
	held   map[int]bool // whether a shard of this process is connected
}

func newStanding() *standing { return &standing{held: map[int]bool{}} }

func (s *standing) begin(shards int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shards = shards
}

func (s *standing) set(shard int, connected bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[shard] = connected
}

func (s *standing) drop(shard int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.held, shard)
}

// down returns the shards of this process that are not connected, how many it holds, and how many the bot has.
func (s *standing) down() (shards []int, held, of int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, connected := range s.held {
		if !connected {
			shards = append(shards, i)
		}
	}
	return shards, len(s.held), s.shards
}

// Limited implements [connectors.Limited]. A process that holds no shard has no limits, unless it can't learn how many
// shards there are.
func (d *Discord) Limited() string {
	down, held, of := d.standing.down()
	until, why := d.logins.held()
	text := ""
	switch {
	case len(down) == 0 && (held > 0 || why == ""):
		return ""
	case of <= 1 || held == 0:
		text = "the bot on Discord is not connected"
	case len(down) == 1:
		text = fmt.Sprintf("of the %d shards of the bot on Discord, %s is not connected", of, list(down))
	default:
		text = fmt.Sprintf("of the %d shards of the bot on Discord, %s are not connected", of, list(down))
	}
	if why != "" {
		text += fmt.Sprintf(": %s until %s", why, until.UTC().Format("2006-01-02 15:04 MST"))
	}
	return text
}
