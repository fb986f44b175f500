// Package connectors defines the interfaces between chat platforms and the gateway.
package connectors

import (
	"context"
	"log/slog"
	"net"

	"parley/core/chat"
	"parley/core/llm"
	"parley/progressive"
)

// Handler processes one inbound event. Nil means that the event is stored, and only then may it be acknowledged to the
// platform; after an error the event must be redelivered.
type Handler func(ctx context.Context, in chat.Inbound) (chat.Accepted, error)

// Connector receives a platform's events.
type Connector interface {
	// Name identifies the connector in addresses and logs.
	Name() string
	// Run passes every event to h, in order within a room, until ctx is done; then it returns nil. Any other return is
	// an error: the connector is restarted after a pause, unless the error is [Fatal].
	Run(ctx context.Context, h Handler) error
}

// Poster opens conversations on platforms with messages of their own. Readers of a connector without it follow the
// answer itself.
type Poster interface {
	// Open can fail with core.ErrUnreached.
	Open(ctx context.Context, a chat.Address) (progressive.Sink, error)
}

// Fetcher downloads attachments. Without it, attachments are only listed by name.
type Fetcher interface {
	// Fetch returns the content of one of this connector's files, of at most limit bytes. Its errors contain no
	// secrets; the reason can be [chat.ErrTooLarge] or [chat.ErrNotFound].
	Fetch(ctx context.Context, f chat.Attachment, limit int64) (llm.File, error)
}

// Checker tests a connector's settings against the real service. It is optional.
type Checker interface {
	// Check returns its findings, or an error that includes the next step.
	Check(ctx context.Context) (CheckResult, error)
}

// CheckResult is the result of a check.
type CheckResult struct {
	Text string // one line
	// Unheard describes which group messages the bot does not receive, and how to change that; empty if it receives
	// all.
	Unheard string
}

// StateStore persists small, rarely written state of connectors. Names begin with the connector's own.
type StateStore interface {
	// Keep replaces the value stored under name. The value is stored when Keep returns.
	Keep(ctx context.Context, name, value string) error
	// Kept returns the stored value, or "".
	Kept(ctx context.Context, name string) (string, error)
}

// Fatal is an error that a restart can't fix, such as a rejected token or a missing permission. Its text tells the
// operator what to do.
type Fatal struct{ Err error }

func (f Fatal) Error() string { return f.Err.Error() }

func (f Fatal) Unwrap() error { return f.Err }

// Deps holds what every connector receives.
type Deps struct {
	Log *slog.Logger
	// Dial opens connections to the platform. Nil is the system's way, with the environment's proxy.
	Dial Dialer
	// Memo keeps the connector's state. A connector that is only checked needs none.
	Memo StateStore
}

// Settings are the values of a platform's section of the configuration ([sections.Section]), once they were read and
// checked.
type Settings interface {
	// Connect creates the connector without making a request.
	Connect(d Deps) Connector
	// Budgets are the budgets of the connector's scopes, by kind.
	Budgets() map[string]progressive.Budget
}

// Dialer has the signature of net.Dialer.DialContext.
type Dialer func(ctx context.Context, network, address string) (net.Conn, error)
