package redis

import (
	"context"
	_ "embed" // the scripts
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"parley/backends/inmem"
	"parley/core/chat"
)

var (
	//go:embed later.lua
	laterLua string
	//go:embed claim.lua
	claimLua string
	//go:embed settle.lua
	settleLua string
	//go:embed stop.lua
	stopLua string

	claimScript  = goredis.NewScript(laterLua + claimLua)
	settleScript = goredis.NewScript(laterLua + settleLua)
	stopScript   = goredis.NewScript(laterLua + stopLua)
)

// place is an agent's room.
type place struct {
	agent chat.AgentID
	room  chat.RoomID
}

// announcement tells all replicas that the marks of a room have risen.
type announcement struct {
	Agent   chat.AgentID    `json:"agent"`
	Room    chat.RoomID     `json:"room"`
	Latest  chat.ResponseID `json:"latest,omitempty"`
	Stopped chat.ResponseID `json:"stopped,omitempty"`
}

// layout is where things are in Redis, and for how long.
type layout struct {
	prefix string
	ttl    time.Duration
}

// marksKey escapes the agent, so that the first slash ends it. The braces keep the room in one slot of a cluster.
func (l layout) marksKey(p place) string {
	return l.prefix + "{" + url.PathEscape(string(p.agent)) + "/" + string(p.room) + "}:turn"
}

// turnsChannel is one for all rooms: so a claim costs no subscription.
func (l layout) turnsChannel() string { return l.prefix + "turns" }

// framesChannel of a room. Channels have no database numbers: gateways that share a server need prefixes of their own.
func (l layout) framesChannel(room chat.RoomID) string { return l.framesPrefix() + string(room) }

func (l layout) framesPrefix() string { return l.prefix + "frames:" }

// request is one run of a script: a turn of a place.
type request struct {
	script *goredis.Script
	place
	turn chat.ResponseID
}

// mark is what the request would raise.
func (q request) mark() inmem.Marks {
	switch q.script {
	case claimScript:
		return inmem.Marks{Latest: q.turn}
	case stopScript:
		return inmem.Marks{Stopped: q.turn}
	}
	return inmem.Marks{}
}

func (l layout) keys(q request) []string { return []string{l.marksKey(q.place)} }

func (l layout) args(q request) []any {
	args := []any{strconv.FormatUint(uint64(q.turn), 10), l.ttl.Milliseconds()}
	m := q.mark()
	if m == (inmem.Marks{}) {
		return args
	}
	told, err := json.Marshal(announcement{q.agent, q.room, m.Latest, m.Stopped})
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return append(args, l.turnsChannel(), told)
}

func (l layout) run(ctx context.Context, c goredis.Scripter, q request) (inmem.Marks, error) {
	return marks(q.script.Run(ctx, c, l.keys(q), l.args(q)...))
}

// marks reads the reply that all scripts give.
func marks(cmd *goredis.Cmd) (inmem.Marks, error) {
	reply, err := cmd.StringSlice()
	if err != nil {
		return inmem.Marks{}, err
	}
	if len(reply) != 2 {
		return inmem.Marks{}, fmt.Errorf("marks of %d parts", len(reply))
	}
	latest, err := strconv.ParseUint(reply[0], 10, 64)
	if err != nil {
		return inmem.Marks{}, fmt.Errorf("latest turn: %w", err)
	}
	stopped, err := strconv.ParseUint(reply[1], 10, 64)
	if err != nil {
		return inmem.Marks{}, fmt.Errorf("stopped turn: %w", err)
	}
	return inmem.Marks{Latest: chat.ResponseID(latest), Stopped: chat.ResponseID(stopped)}, nil
}
