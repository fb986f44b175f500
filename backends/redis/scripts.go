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

// Scripts are run by their hash, and sent when the server doesn't know it. Each begins with the functions of later.lua.
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

// place is a room of an agent; turns are claimed in places.
type place struct {
	agent chat.AgentID
	room  chat.RoomID
}

// announcement is published by a script when the marks of a room rise. Replicas of other versions read it, so fields
// are only added.
type announcement struct {
	Agent   chat.AgentID    `json:"agent"`
	Room    chat.RoomID     `json:"room"`
	Latest  chat.ResponseID `json:"latest,omitempty"`
	Stopped chat.ResponseID `json:"stopped,omitempty"`
}

// layout builds the names of keys and channels, and sets the lifetime of marks.
type layout struct {
	prefix string
	ttl    time.Duration
}

// marksKey returns the key of the marks of p. The agent is escaped, so that its name ends at the first slash and no two
// places share a key. The braces are a hash tag: in a cluster, they select the slot.
func (l layout) marksKey(p place) string {
	return l.prefix + "{" + url.PathEscape(string(p.agent)) + "/" + string(p.room) + "}:turn"
}

// turnsChannel returns the channel of announcements. It is one for all rooms, so a claim costs no subscription.
func (l layout) turnsChannel() string { return l.prefix + "turns" }

// framesChannel returns the channel of a room's frames. Channels are shared by all databases of a server, so the number
// of a database in the URL doesn't separate gateways; the prefix does.
func (l layout) framesChannel(room chat.RoomID) string { return l.framesPrefix() + string(room) }

func (l layout) framesPrefix() string { return l.prefix + "frames:" }

// request is one call of a script for a turn of a place.
type request struct {
	script *goredis.Script
	place
	turn chat.ResponseID
}

// mark returns the marks that the request raises; none for settleScript, which only reads.
func (q request) mark() inmem.Marks {
	switch q.script {
	case claimScript:
		return inmem.Marks{Latest: q.turn}
	case stopScript:
		return inmem.Marks{Stopped: q.turn}
	}
	return inmem.Marks{}
}

// keys returns the keys of the script.
func (l layout) keys(q request) []string { return []string{l.marksKey(q.place)} }

// args returns the arguments of the script. Turns are text, because Lua's numbers are exact up to 2^53 only.
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

// run calls the script and returns the marks after it.
func (l layout) run(ctx context.Context, c goredis.Scripter, q request) (inmem.Marks, error) {
	return marks(q.script.Run(ctx, c, l.keys(q), l.args(q)...))
}

// marks reads the reply of a script: the marks of the room.
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
