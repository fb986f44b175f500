package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"parley/connectors"
	"parley/internal/rest"
)

const (
	// mostShards is far more than any bot has.
	mostShards = 4096
	// divisionEvery is how often a process checks whether another one has changed the number of shards.
	divisionEvery = 5 * time.Second
	// mostBefore is how many earlier divisions are remembered.
	mostBefore = 4
)

// The reasons to end all shards and begin again with another number.
var (
	errFull    = errors.New("the bot is in too many servers for its number of shards")
	errDivided = errors.New("another process has changed the number of shards")
)

// division is into how many shards a bot's servers are divided. All processes must agree on it, because a server belongs
// to the shard with the number (id >> 22) % Shards. It is stored, so its JSON is a format.
type division struct {
	Shards int `json:"shards"`
	// Number is the number of this division. It is part of the names of its shards' state.
	Number int        `json:"number"`
	Before []division `json:"before,omitempty"` // the earlier ones, latest first, without theirs
}

// undivided is the connection of earlier versions.
var undivided = division{Shards: 1}

// same reports whether two divisions are the same one.
func (d division) same(as division) bool { return d.Shards == as.Shards && d.Number == as.Number }

// next returns the division that follows d.
func (d division) next(shards int) division {
	before := append([]division{{Shards: d.Shards, Number: d.Number}}, d.Before...)
	return division{Shards: shards, Number: d.Number + 1, Before: before[:min(len(before), mostBefore)]}
}

// state returns the prefix of the names of a shard's state. The first division has the names of earlier versions.
func (d division) state(bot string, shard int) string {
	name := Name + "/" + bot
	if d.Number > 0 {
		name += "/" + strconv.Itoa(d.Number) + "/" + strconv.Itoa(shard)
	}
	return name
}

// shardOf returns the shard of a server. Direct messages, which have none, are on shard 0.
func shardOf(guild string, shards int) int { return int(snowflake(guild) >> 22 % uint64(shards)) }

// divisions decides into how many shards a bot is divided. The number is stored when the bot is first connected, and
// changed when the settings say another one, or when Discord demands more. It does not follow each new recommendation,
// because a change ends all sessions.
type divisions struct {
	memo  connectors.StateStore
	bot   string // the id of the bot's account
	fixed int    // of the settings; 0 is as many as Discord recommends
	queue *loginQueue
}

func (d *divisions) name() string { return Name + "/" + d.bot + "/shards" }

// stored returns the division that all processes agree on, and whether there is one.
func (d *divisions) stored(ctx context.Context) (division, bool, error) {
	text, err := d.memo.Kept(ctx, d.name())
	if err != nil {
		return division{}, false, fmt.Errorf("read the number of shards: %w", err)
	}
	var now division
	if json.Unmarshal([]byte(text), &now) != nil || now.Shards < 1 || now.Shards > mostShards {
		return undivided, false, nil // as if there was none: it is asked for again
	}
	return now, true, nil
}

// save makes a division the one of all processes.
func (d *divisions) save(ctx context.Context, next division) (division, error) {
	text, err := json.Marshal(next)
	if err == nil {
		err = d.memo.Keep(ctx, d.name(), string(text))
	}
	if err != nil {
		return next, fmt.Errorf("save the number of shards: %w", err)
	}
	return next, nil
}

// first returns the division to begin with.
func (d *divisions) first(ctx context.Context) (division, error) {
	now, known, err := d.stored(ctx)
	if err != nil {
		return now, err
	}
	want := d.fixed
	switch {
	case want == 0 && known:
		return now, nil
	case want == 0:
		if want, err = d.queue.recommended(ctx); err != nil {
			return now, err
		}
		want = min(max(want, 1), mostShards)
	}
	switch {
	case known && want == now.Shards:
		return now, nil
	case want == now.Shards:
		return d.save(ctx, now)
	}
	return d.save(ctx, now.next(want))
}

// enlarge returns a division with more shards, after Discord has refused the one before. If another process was quicker,
// it is that one's. Discord is asked; if it recommends no more than before, the number is doubled.
func (d *divisions) enlarge(ctx context.Context, before division) (division, error) {
	now, _, err := d.stored(ctx)
	if err != nil || !now.same(before) {
		return now, err
	}
	want, err := d.queue.recommended(ctx)
	if err != nil {
		return now, err
	}
	if want <= now.Shards {
		want = 2 * now.Shards
	}
	if want > mostShards {
		return now, connectors.Fatal{Err: fmt.Errorf("Discord demands more than %d shards; please report this bug", now.Shards)}
	}
	return d.save(ctx, now.next(want))
}

// watch ends with errDivided when another process has changed the division, and otherwise with ctx. A failed read is
// repeated later.
func (d *divisions) watch(ctx context.Context, now division, end context.CancelCauseFunc) {
	for rest.For(ctx, divisionEvery) == nil {
		if next, known, err := d.stored(ctx); err == nil && known && !next.same(now) {
			end(errDivided)
			return
		}
	}
}

// inherit fills k, for a shard that has no state yet, from the shards of earlier divisions: their channels that belong
// to the shard now, and the earliest position. The search for missed messages starts there. It looks further back only
// while a division had shards that were never connected.
func (k *keeper) inherit(ctx context.Context, bot string, now division, shard int) error {
	for _, d := range now.Before {
		complete := true
		for i := range d.Shards {
			var s session
			found, err := k.load(ctx, d.state(bot, i)+sessionName, &s)
			if err != nil {
				return err
			}
			complete = complete && found
			if at := s.since(); at > 0 && (k.stored.since() == 0 || at < k.stored.since()) {
				k.stored = session{At: s.At, Last: s.Last}
			}
			u := newUsed()
			if _, err := k.load(ctx, d.state(bot, i)+channelsName, &u.all); err != nil {
				return err
			}
			k.used.add(u, func(guild string) bool { return shardOf(guild, now.Shards) == shard })
		}
		if complete {
			return nil
		}
	}
	return nil
}

// list returns numbers for a log or an error, such as "0, 2 and 3", without an end after ten.
func list(all []int) string {
	slices.Sort(all)
	text := ""
	for i, n := range all {
		switch {
		case i == 0:
		case i == 10:
			return text + " and others"
		case i == len(all)-1:
			text += " and "
		default:
			text += ", "
		}
		text += strconv.Itoa(n)
	}
	return text
}
