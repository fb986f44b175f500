package discord

import (
	"time"

	"parley/connectors"
)

const (
	disorder  = 10 * time.Second // messages of different channels arrive in any order
	clockSkew = time.Minute      // between Discord's clock and ours
)

// ticket is one of an event of a session.
type ticket = connectors.Ticket[session]

// session holds what a resume requires: the login, and how far its events have been received or accepted. It is stored,
// so its JSON is a format.
type session struct {
	ID      string    `json:"id"`
	Seq     int64     `json:"seq"`
	URL     string    `json:"url"`     // where to resume
	Intents int       `json:"intents"` // those of the login
	At      time.Time `json:"at"`      // when event Seq was received
	Last    uint64    `json:"last"`    // the latest message id so far; 0 if there was none
}

// since returns the first message id that s may not have delivered.
func (s session) since() uint64 {
	switch {
	case s.Last > 0:
		return idAt(when(s.Last).Add(-disorder))
	case s.At.IsZero():
		return 0
	}
	return idAt(s.At.Add(-clockSkew))
}
