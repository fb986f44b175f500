package discord

import (
	"time"

	"parley/connectors"
)

const (
	// Ids are ordered by time, but messages of different channels can be delivered in another order, and clocks differ.
	// A search for missed messages therefore starts earlier than the last known message. What it finds twice is
	// recognized by its id.
	disorder  = 10 * time.Second // messages of different channels arrive in any order
	clockSkew = time.Minute      // between Discord's clock and ours
)

// ticket is held for one event until everything in it is stored. Its position is the session as of that event.
type ticket = connectors.Ticket[session]

// session holds what a resume requires: the login, and the number of the last event. gateway has the session as of the
// last received event; the intake's watermark has it as of the last event before which everything is accepted, and that
// is what is stored. Its JSON is a format: a later version must be able to read it.
type session struct {
	ID      string    `json:"id"`
	Seq     int64     `json:"seq"`
	URL     string    `json:"url"`     // where to resume
	Intents int       `json:"intents"` // those of the login
	Shards  int       `json:"shards"`  // how many the bot had at the login; 0 if an earlier version stored it, which means 1
	At      time.Time `json:"at"`      // when event Seq was received
	Last    uint64    `json:"last"`    // the latest message id so far; 0 if there was none
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
