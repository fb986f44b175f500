package core

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"parley/core/access"
	"parley/core/action"
	"parley/core/attachment"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/generate"
	"parley/core/llm"
	"parley/core/prompt"
	"parley/core/quota"
	"parley/core/relay"
	"parley/core/schedule"
	"parley/core/storage"
	"parley/core/turn"
	"parley/internal/trace"
)

// Config contains the parts and the settings of a [Runtime]. Every field is required unless its comment says otherwise.
type Config struct {
	Agent   chat.Agent
	Owner   string // names this process; no other process, earlier or at the same time, may have the same name
	Store   storage.Store
	Tracker Tracker
	Bus     relay.Bus         // nil: this is the only replica
	Models  llm.Models        // Large at least
	Reader  attachment.Reader // nil: attachments are not read
	// Fetch downloads an attachment from the connector that it came from, for models that take files; nil: they get none.
	Fetch func(ctx context.Context, connector string, f chat.Attachment, limit int64) (llm.File, error)
	// ReadLinks makes it read the pages that questions link to, too.
	ReadLinks bool
	Plugins   []action.Plugin // may be empty
	// Memo stores the users who were blocked with /block; nil: none can be.
	Memo access.Memo
	// Schema compiles the schemas of actions, for the check of the parameters of calls. With nil each action checks its
	// own.
	Schema action.SchemaCompiler
	// Observers are called with every event, as those of the plugins are; may be empty.
	Observers []event.Observer
	Trace     func(chat.RunID) trace.Span // the root span of a run; nil: no traces
	Open      Opener
	// Signal returns the request that shows the status of messages, or nil if their platform shows nothing. Nil: no platform does.
	Signal func(s chat.Signal) func(ctx context.Context) error
	About  turn.Program // for /status and /model; may be empty
	Turns  schedule.TurnPolicy
	// Generation defines how the model generates answers; zero is natively, in at most 6 rounds.
	Generation generate.Config
	Access     access.Policy
	Approval   time.Duration  // how long a run waits for the approval of a call; 0 is an hour
	Zone       *time.Location // of the times that approvers read; nil is UTC
	Recall     prompt.Recall
	Retention  schedule.Retention // zero keeps messages
	Parallel   int                // the maximum number of concurrent answers for one person; 0 is no limit
	Total      int                // the same for all persons; 0 is no limit
	Meter      *quota.Meter       // counts messages and the cost of models, and enforces limits; nil for no limits
	// Pseudonym returns the opaque id of a user for agents. It is always the same. Nil: agents get none.
	Pseudonym func(ctx context.Context, user chat.EntityID) (string, error)
	// Visitor is that of [access.Pairing].
	Visitor func(ctx context.Context, account chat.EntityID) (chat.EntityID, error)
	// Audit records a decision that a user made in a chat: a block, or an approval. Nil: it is not recorded.
	Audit func(ctx context.Context, by chat.EntityID, what, about string)
	// OperatorsPage reports whether a user of the operator's page is logged in. Nil: there is no page.
	OperatorsPage func(ctx context.Context) (bool, error)
	// FileLink returns an address where an agent can fetch an attachment of a room once. Nil: agents get none.
	FileLink func(ctx context.Context, room chat.Room, f chat.Attachment) (string, error)
	Grace    time.Duration // how long runs may continue after the shutdown has begun, before they are canceled
	Log      *slog.Logger
	Jitter   func(time.Duration) time.Duration // spreads the pause before a retry; nil takes one of [d/2, d) by chance
}

// jitter spreads d over [d/2, d), so that many runs which failed together don't try again together.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2) }
