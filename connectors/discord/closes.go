package discord

import (
	"errors"
	"fmt"

	"github.com/gorilla/websocket"

	"parley/connectors"
)

// portal is where the owner of a bot changes its settings.
const portal = "https://discord.com/developers/applications"

// fatalCodes are the close codes after which Discord's documentation forbids reconnecting, and the remedies.
var fatalCodes = map[int]string{
	4004: errRevoked.Error(),
	4012: "Discord no longer speaks this version of its gateway; update Parley",
	4013: "Discord does not know the requested intents; update Parley",
	4014: "Discord rejected the Message Content intent; switch it on at " + portal +
		" (your application, Bot, Privileged Gateway Intents, Message Content Intent)",
}

// The close codes about shards.
const (
	invalidShard = 4010
	tooFewShards = 4011
)

// hopeless returns err as a [connectors.Fatal] if reconnecting can't help; else nil. If the bot needs more shards, and
// the settings leave their number to Discord, it returns errFull.
func (g *gateway) hopeless(err error) error {
	if errors.Is(err, errRevoked) {
		return connectors.Fatal{Err: errRevoked}
	}
	code := codeOf(err)
	text := fatalCodes[code]
	switch {
	case code == tooFewShards && !g.fixed:
		return errFull
	case code == tooFewShards:
		text = fmt.Sprintf("the bot is in too many servers for %d shards; set connectors.discord.shards to auto, or to a higher number", g.shards)
	case code == invalidShard:
		text = fmt.Sprintf("Discord rejected shard %d of %d; please report this bug", g.shard, g.shards)
	case text == "":
		return nil
	}
	return connectors.Fatal{Err: fmt.Errorf("%s (close code %d)", text, code)}
}

// endsSession reports whether the session can't be resumed after err: because it was closed normally (1000, 1001), or
// because Discord does not accept the login, the sequence number or the age of the session (4003, 4005, 4007, 4009).
// After a network error it can be resumed.
func endsSession(err error) bool {
	var i invalid
	if errors.As(err, &i) {
		return !i.resumable
	}
	switch codeOf(err) {
	case 1000, 1001, 4003, 4005, 4007, 4009:
		return true
	}
	return false
}

// codeOf returns the code that Discord closed the connection with, or 0.
func codeOf(err error) int {
	var w *websocket.CloseError
	if errors.As(err, &w) {
		return w.Code
	}
	return 0
}
