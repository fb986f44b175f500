package core

import (
	"parley/core/schedule"
	"parley/core/turn"
)

// The ports that connectors and backends implement. Their contracts are in the packages that use them.
type (
	// Tracker holds the latest turn of each room: see [schedule.Tracker].
	Tracker = schedule.Tracker
	// Surface shows an answer in one conversation: see [turn.Surface].
	Surface = turn.Surface
	// Opener opens the conversation of a run: see [turn.Opener].
	Opener = turn.Opener
)

// The errors of a [Surface] when an answer could not be shown to its end: see package turn.
var (
	ErrRemoved     = turn.ErrRemoved
	ErrUnconfirmed = turn.ErrUnconfirmed
)
