package core

import (
	"log/slog"
	"math/rand/v2"
	"time"

	"parley/core/access"
	"parley/core/action"
	"parley/core/attachment"
	"parley/core/chat"
	"parley/core/consent"
	"parley/core/event"
	"parley/core/generate"
	"parley/core/llm"
	"parley/core/prompt"
	"parley/core/quota"
	"parley/core/relay"
	"parley/core/schedule"
	"parley/core/storage"
	"parley/core/turn"
)

// Config is what a [Runtime] is made of. Every field is needed unless it says otherwise.
type Config struct {
	Agent   chat.Agent
	Owner   string // names this process; no other process, earlier or at the same time, may have the same name
	Store   storage.Store
	Tracker Tracker
	Bus     relay.Bus         // nil: this is the only replica
	Models  llm.Models        // Large at least
	Reader  attachment.Reader // nil: attachments are not read
	// ReadLinks has it read the pages that questions link to, too.
	ReadLinks bool
	Plugins   []action.Plugin // may be empty
	// Schema compiles the schemas of actions, by which the parameters of calls are checked. With nil each action checks its own.
	Schema action.SchemaCompiler
	// Observers are called with every event, as those of the plugins are; may be empty.
	Observers []event.Observer
	Open      Opener
	About     turn.Program // what /status and /model tell; may be empty
	Turns     schedule.TurnPolicy
	// Generation is how the model is asked; zero is natively, in at most 6 rounds.
	Generation generate.Config
	Access     access.Policy
	Approval   consent.Policy // says which calls of actions a person must approve first
	Recall     prompt.Recall
	Parallel   int                    // how many answers are made for one person at the same time; 0 is no limit
	Total      int                    // and how many for all; 0 is no limit
	Spenders   map[chat.EntityID]bool // says who may let answers go beyond a soft limit, besides the owners
	Meter      *quota.Meter           // counts messages and what the models cost, and refuses beyond the limits; nil for no limits
	Grace      time.Duration          // how long runs may go on after Run was told to end, before they are cut off
	Log        *slog.Logger
	Jitter     func(time.Duration) time.Duration // spreads the pause before a retry; nil takes one of [d/2, d) by chance
}

// jitter spreads d over [d/2, d), so that many runs which failed together don't try again together.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2) }
