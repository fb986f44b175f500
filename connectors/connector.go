// Package connectors defines the interfaces between chat platforms and the gateway, and contains what several platforms
// need.
//
// A [Connector] turns a platform's events into [chat.Inbound] values and passes them to a [Handler]. It must implement
// nothing else. A platform whose messages the gateway posts and edits itself is also a [Poster]; one with attachments
// is a [Fetcher]; one whose settings can be tested is a [Checker].
//
// The contract has three rules. An event is acknowledged to the platform only after the handler has returned nil, since
// only then it is stored; [Intake] keeps account of that. Events of one room reach the handler in their order. And an
// event that was delivered before may be delivered again at any time: the ids of messages must therefore be the same
// each time.
//
// [Supervise] runs a connector and restarts it. [Lease] makes it run in one process at a time; [Shards] divides it among
// several. [Revocation] ends it when its token is rejected. [Jobs] is for short work besides messages.
package connectors

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"parley/core/chat"
	"parley/core/llm"
	"parley/core/text"
	"parley/internal/sections"
	"parley/progressive"
)

// Handler processes one inbound event. Nil means that the event is stored, and only then may it be acknowledged to the
// platform; after an error the event must be delivered again, unless the error is [chat.ErrTooLarge], which every
// attempt would end with. It blocks until the event is stored, and does not wait for an answer. It is safe for
// concurrent use, but events of one room must be passed one after the other.
type Handler func(ctx context.Context, in chat.Inbound) (chat.Accepted, error)

// Connector receives a platform's events. Its methods other than Run are safe for concurrent use.
type Connector interface {
	// Name identifies the connector in addresses and logs. It is part of stored ids, so it must never change.
	Name() string
	// Run passes every event to h, in order within a room, until ctx is done; then it returns nil. Any other return is
	// an error: the connector is restarted after a pause, unless the error is [Fatal]. When Run returns, the goroutines
	// that it started have ended and no call of h is in progress. Calls don't overlap.
	Run(ctx context.Context, h Handler) error
}

// Poster opens conversations on platforms with messages of their own. Readers of a connector without it follow the
// answer itself.
type Poster interface {
	// Open returns a sink for a stored address, for one answer. It is called once for each run that is to be shown,
	// also for runs of an earlier process, so all that it needs is in the address. It can fail with
	// [chat.ErrUnreached]: the address can't be reached any more. After other errors it is tried again.
	Open(ctx context.Context, a chat.Address) (progressive.Sink, error)
}

// Signaler shows the status of a user's message at the message itself, such as by a reaction. It is optional.
type Signaler interface {
	// Signal returns the request that shows s, and the budgets that it uses, or nil if the platform shows nothing for this change.
	Signal(s chat.Signal) (scopes []progressive.Scope, show func(ctx context.Context) error)
}

// Fetcher downloads attachments. Without it, attachments are only listed by name.
type Fetcher interface {
	// Fetch returns the content of one of this connector's files, of at most limit bytes. Its errors contain no
	// secrets; the reason can be [chat.ErrTooLarge] or [chat.ErrNotFound].
	Fetch(ctx context.Context, f chat.Attachment, limit int64) (llm.File, error)
}

// Titler changes the titles of conversations. Connectors that set [chat.Address.Untitled] implement it.
type Titler interface {
	// Title sets the title of the place of a conversation, such as a thread. It is called again if it is unknown whether the
	// title was set.
	Title(ctx context.Context, a chat.Address, title string) error
}

// Checker tests a connector's settings against the real service. It is optional.
type Checker interface {
	// Check returns its findings, or an error that includes the next step. It changes nothing on the platform and in
	// the store.
	Check(ctx context.Context) (CheckResult, error)
}

// Limited is implemented by connectors that can be disconnected for long.
type Limited interface {
	// Limited returns the features that don't work now, and why, as a part of a sentence; "" for none. Everyone can
	// read it at /readyz, so it must contain no secrets. It does not wait.
	Limited() string
}

// Mounted is implemented by connectors whose platform sends events over HTTP, to any process.
type Mounted interface {
	// Mount returns the handler of requests for path on the web listener, or "" and nil for none. The path begins with a
	// slash, the connector's name and another slash. The listener checks nothing: the handler authenticates requests and
	// bounds their bodies. It is called also while Run does not run.
	Mount() (path string, h http.Handler)
}

// CheckResult is the result of a check.
type CheckResult struct {
	Text string // one line
	// NotReceived describes which group messages the bot does not receive, and how to change that; empty if it receives
	// all.
	NotReceived string
	Link        string // where users meet the bot, or invite it
	// CodeLink, with a pairing code after it, is a link that sends the code to the bot; empty if the platform has none.
	CodeLink string
}

// StateStore persists small, rarely written state of connectors. Names begin with the connector's own. It is safe for
// concurrent use.
type StateStore interface {
	// Keep replaces the value stored under name. The value is stored when Keep returns nil; after an error, it may be.
	Keep(ctx context.Context, name, value string) error
	// Kept returns the stored value, or "" if there is none. Its errors are those of the store.
	Kept(ctx context.Context, name string) (string, error)
}

// SharedState is a [StateStore] for values that several processes create or replace at the same time. Connectors that
// run under a [Lease] don't need it.
type SharedState interface {
	StateStore
	// Swap stores value under name if the stored value is old, and reports whether it was. An empty old means that
	// nothing is stored. One of several that swap the same old value at the same time succeeds. After an error, value
	// may be stored.
	Swap(ctx context.Context, name, old, value string) (bool, error)
}

// Fatal is an error that a restart can't fix, such as a rejected token or a missing permission. Its text tells the
// operator what to do.
type Fatal struct{ Err error }

// Error implements error.
func (f Fatal) Error() string { return f.Err.Error() }

// Unwrap returns the cause of the error.
func (f Fatal) Unwrap() error { return f.Err }

// Deps holds what every connector receives.
type Deps struct {
	Log *slog.Logger
	// Dial opens connections to the platform. Nil is the system's way, with the environment's proxy.
	Dial Dialer
	// Memo keeps the connector's state. A connector that is only checked needs none.
	Memo StateStore
	// Shards divides the work of a connector that is [Sharded]. Nil is a process that holds all shards.
	Shards *Shards
	// Commands returns the commands of plugins and MCP servers that all known users of the platform can give, which change at any
	// time. Nil: there are none.
	Commands func() []chat.CommandSpec
	// Enter waits for a permit for a request that belongs to no answer, as [progressive.Gate] does. Nil: there are no budgets.
	Enter func(ctx context.Context, t progressive.Ticket) (leave func(error), err error)
}

// Settings are the values of a platform's section of the configuration ([sections.Section]), once they were read and
// checked.
type Settings interface {
	// Connect creates the connector without making a request.
	Connect(d Deps) Connector
	// Budgets are the budgets of the connector's scopes, by kind.
	Budgets() map[string]progressive.Budget
}

// Dialer has the signature of [net.Dialer.DialContext], so that tests can replace the network.
type Dialer func(ctx context.Context, network, address string) (net.Conn, error)

// Display is how a platform shows answers. Sections of the configuration embed it.
type Display struct {
	// Whether to show a line per action call with the answer: compact = while it is being written; full = also afterwards; off.
	Progress progressive.Progress `yaml:"progress" default:"compact"`
	// How to send code blocks longer than two messages: message = as several messages, which can be searched and quoted;
	// file = as a file below the answer, which is easier to copy. While code is being written, at most half a message of it is
	// shown. If the chat rejects files, the code is sent as messages.
	LongCode progressive.LongCode `yaml:"long_code" default:"message"`
	// The maximum number of messages per answer. The rest of a longer answer is sent as a file, with a notice. 0 = no limit.
	MaxMessages int `yaml:"max_messages" default:"10"`
}

// Check implements [sections.Checker].
func (d Display) Check(reject sections.Reject) { reject.Limit("max_messages", d.MaxMessages) }

// Messages returns a converter for one answer, on a platform that o describes.
func (d Display) Messages(o progressive.MarkdownOptions) *progressive.MarkdownMessages {
	o.Progress, o.LongCode, o.MaxMessages = d.Progress, d.LongCode, d.MaxMessages
	return progressive.NewMarkdownMessages(o)
}

// Unreadable stands for a message in a direct chat of a kind that bots can't read, so that its author gets an answer.
const Unreadable = "*A message of a kind that can't be read here*"

// Described returns a short description of a message with files, for [chat.Quoted.What], such as "a voice message
// 0:12"; "" without files. length is that of a recording, and 0 if it is unknown.
func Described(files []chat.Attachment, length time.Duration) string {
	if len(files) == 0 {
		return ""
	}
	what := "a file"
	switch f := files[0]; {
	case len(files) > 1:
		return fmt.Sprintf("a message with %d files", len(files))
	case f.Voice:
		what = "a voice message"
	case f.Type == "image/gif":
		what = "an animation"
	case strings.HasPrefix(f.Type, "image/"):
		what = "a photo"
	case strings.HasPrefix(f.Type, "audio/"):
		what = "an audio file"
	case strings.HasPrefix(f.Type, "video/"):
		what = "a video"
	}
	if length > 0 {
		what += fmt.Sprintf(" %d:%02d", length/time.Minute, length%time.Minute/time.Second)
	}
	return what
}

// Poll returns a poll as text.
func Poll(question string, options []string) string {
	return text.Passed("Poll", question+"\nOptions: "+strings.Join(options, "; "))
}

// From returns files as those of another message than the one that they are attached to.
func From(origin chat.FileOrigin, files []chat.Attachment) []chat.Attachment {
	for i := range files {
		files[i].Origin = origin
	}
	return files
}

const longestName = 180 // bytes; file systems allow 255

// FileName makes name safe for a platform: at most 180 bytes on one line, without header separators and directories. It
// also removes bidirectional control characters, which can disguise a file's extension.
func FileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || strings.ContainsRune(`"\/`, r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
	if cut := len(name) - longestName; cut > 0 {
		for !utf8.RuneStart(name[cut]) {
			cut++
		}
		// The end is kept, because the extension is there.
		name = name[cut:]
	}
	if strings.Trim(name, "_. ") == "" {
		return "file"
	}
	return name
}
