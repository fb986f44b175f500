// Package connectors says what joins a platform to the gateway.
package connectors

import (
	"context"
	"log/slog"
	"net"

	"parley/core/chat"
	"parley/core/llm"
	"parley/progressive"
)

// Handler takes one inbound event. When it returns nil the event is safe, and only then may the platform be told so;
// an error means that it is not, and that the event must come again.
type Handler func(ctx context.Context, in chat.Inbound) (chat.Accepted, error)

// Connector brings what happens on a platform into the gateway.
type Connector interface {
	// Name is how addresses and the log call it.
	Name() string
	// Run hands every event to h, in order within a room, until ctx is done; then it returns nil. Any other return
	// is an error: it is started again after a while, unless it is a [Fatal].
	Run(ctx context.Context, h Handler) error
}

// Poster opens conversations on platforms that have messages of their own. Where a connector lacks it, people watch
// the answer itself.
type Poster interface {
	// Open may fail with core.ErrUnreached.
	Open(ctx context.Context, a chat.Address) (progressive.Sink, error)
}

// Fetcher gives what was attached to messages. Where a connector lacks it, files are only named.
type Fetcher interface {
	// Fetch gives the whole of a file of this connector's, at most limit bytes. Its error holds no secret; it is
	// [chat.ErrTooLarge] or [chat.ErrNotFound] where that is why.
	Fetch(ctx context.Context, f chat.Attachment, limit int64) (llm.File, error)
}

// Checker tries a connector's settings for real. A connector that lacks it is not checked.
type Checker interface {
	// Check returns what it found, or an error that says the next step.
	Check(ctx context.Context) (CheckResult, error)
}

// CheckResult is what a check has found.
type CheckResult struct {
	Text string // in one line
	// Unheard says what of groups the bot is not told, and how to change that; empty if it hears everything.
	Unheard string
}

// StateStore keeps what a connector must not forget when its process ends: little, and seldom written. Names begin with the
// connector's own.
type StateStore interface {
	// Keep remembers value in place of what was kept under name. It is safe when Keep returns.
	Keep(ctx context.Context, name, value string) error
	// Kept is what was kept last, or "".
	Kept(ctx context.Context, name string) (string, error)
}

// Fatal is an error that no new start can mend: a wrong token, a missing right. Its text tells the person who runs the
// gateway what to do.
type Fatal struct{ Err error }

func (f Fatal) Error() string { return f.Err.Error() }

func (f Fatal) Unwrap() error { return f.Err }

// Deps is what every connector is given.
type Deps struct {
	Log *slog.Logger
	// Dial opens connections to the platform. Nil is the system's way, with the environment's proxy.
	Dial Dialer
	// Memo keeps the connector's state. Nil keeps nothing.
	Memo StateStore
}

// Settings are the values of a platform's section of the configuration ([sections.Section]), once they were read and
// checked.
type Settings interface {
	// Connect makes the connector, which talks to nobody before it runs.
	Connect(d Deps) Connector
	// Budgets are the budgets of the connector's scopes, by kind.
	Budgets() map[string]progressive.Budget
}

// Dialer is the form of net.Dialer.DialContext.
type Dialer func(ctx context.Context, network, address string) (net.Conn, error)
