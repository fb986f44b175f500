// Package progressive shows an answer in chat messages that are edited while it is generated, within the platform's
// rate limits.
//
// A [Message] is one answer in one chat. It renders the answer to parts, one for each message of the platform, compares
// them with the messages that exist, and makes one request after the other until they are equal. A [Sink] is the platform:
// it renders, and makes single requests. A [Gate] decides when a request may be made, so that all answers together keep
// to the budgets of each chat and of the bot. [MarkdownMessages] renders Markdown for most platforms.
//
// The package's promises, which its tests check with requests that fail at every possible point: visible text does not
// disappear; the final state is shown, or a line that reports the missing part; no message appears twice without a
// mark, even if the process dies between a request and its response.
package progressive

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/core/answer"
	"parley/core/llm"
)

// Sink is one conversation on one platform. Each method makes one request immediately, and waits only for the
// platform's response. Requests are sequential; Render and Scopes can be called during one. A request canceled by ctx
// counts as ambiguous.
//
// Errors determine the next request: a [RetryAfter] is a temporary refusal; [ErrGone] and [ErrForbidden] are final;
// [ErrUnparsable] requests the same part as plain text; [ErrAmbiguous] means that the outcome is unknown; any other
// error means that the request had no effect. [ErrUnsent] is such an error: there was no connection, or the next
// attempt uses another one, and the same request is repeated. After [ErrStale] the text goes into a new message; after
// [ErrGone], which means that a user deleted the message, the answer ends.
type Sink interface {
	// Render converts v to messages within the platform's limits. It is pure: the same arguments return the same parts.
	// It is also called for intermediate views. Files with text of the answer have no Plain: the text of those listed
	// in refused, which the platform did not accept, is part of the messages, and the files are still among the parts.
	Render(v answer.View, refused ...string) []Part
	// Post creates a message and returns its id. The nonce is an idempotency key, constant for one part of one run (a
	// different one is only used to repost a message that a user deleted). On platforms with nonces, a repeated nonce
	// returns the existing message, with its old text, or [ErrGone] if that was deleted.
	Post(ctx context.Context, p Part, nonce string) (id string, err error)
	// Scopes returns the budgets that a request uses, narrowest first: chat, bot, route.
	Scopes(op Op) []Scope
}

// Editor edits posted messages. A sink without it only shows the final state.
type Editor interface {
	// Edit sets the content of a message to p. It succeeds if the content is unchanged. Its errors are those of [Sink].
	// A message with a file is only changed to another file, of any kind, and one with text to another text.
	Edit(ctx context.Context, id string, p Part) error
}

// Deleter deletes messages. With a sink that lacks it, obsolete parts stay.
type Deleter interface {
	// Delete deletes a message, and succeeds if it was already deleted. Its errors are those of [Sink].
	Delete(ctx context.Context, id string) error
}

// Typer shows a typing indicator. With a sink that lacks it, nothing is shown before the first text.
type Typer interface {
	// Typing shows the indicator once and returns how long it stays. After [ErrForbidden], [ErrGone] or [ErrStale] no
	// indicator is shown any more; after another error it is tried again.
	Typing(ctx context.Context) (stays time.Duration, err error)
}

// NonceKeeper is a [Sink] whose Post is idempotent for equal nonces, within the returned time after the first attempt.
// With a sink that lacks it, a create with an unknown outcome is only repeated as [Resender] allows.
type NonceKeeper interface {
	NonceWindow() time.Duration
}

// Resender is a [Sink] that can mark a message as a possible repetition. Without nonces, a final text whose create has
// an unknown outcome is then sent once more, marked, as soon as the platform works again: a rare repetition is better than
// a missing answer. With a sink that lacks it, or returns false, such a text is sent at most once.
type Resender interface {
	// Resends reports whether the sink wants repetitions. It always returns the same value.
	Resends() bool
	// Marked returns p with a short line that marks it as a possible repetition, within the platform's limits. Like
	// Render it is pure.
	Marked(p Part) Part
}

// Buttoner is a [Sink] with buttons. With a sink that lacks it, or returns false, answers have no buttons of commands: as text, such
// as a numbered option, they would be in the way.
type Buttoner interface {
	// HasButtons reports whether users see an Offer as buttons. It always returns the same value.
	HasButtons() bool
}

// Prober is a [Sink] that can find out whether the platform works again in its chat. With a sink that lacks it, the pauses
// between attempts are fixed.
type Prober interface {
	// Probe makes a call to the chat that changes nothing there, such as a typing indicator, and returns an error
	// unless the platform carried it out. It uses the scopes of [Typing].
	Probe(ctx context.Context) error
}

// BudgetReporter is implemented for platforms that report the remaining budget in their responses. With a sink that
// lacks it, only a [RetryAfter] closes a scope.
type BudgetReporter interface {
	// BudgetHint returns, once, the budget in the last response; ok is false if it reported none. It is called after
	// each request, before the next.
	BudgetHint() (l BudgetHint, ok bool)
}

// Part is one platform message: text, or a file. Files come below the text that exists when they are first shown. If
// the platform refuses a file with [ErrUnparsable], its Plain is posted instead, if not empty; see [Sink].
type Part struct {
	File        *llm.File       // nil for text
	Text        string          // in the platform's dialect; if it is empty, Plain is sent, without markup
	Plain       string          // without markup, for a platform that refuses Text
	Offer       *answer.Choices // buttons below it, or the chosen one; nil removes existing ones
	Below       string          // as a reply to this message of the answer; empty for none
	ReplyTo     bool            // as a reply to the message in the address
	Silent      bool            // of a new message: it notifies no one, see [Pinger]
	StatusRunes int             // runes at its end that are lines about calls: unlike the text, they may disappear
}

// Op is the type of a request.
type Op uint8

// The kinds of requests.
const (
	Post Op = iota
	Edit
	Delete
	Typing
	Draft
)

// String returns a name for logs and metrics.
func (o Op) String() string { return [...]string{"post", "edit", "delete", "typing", "draft"}[o] }

// Scope identifies a budget: a chat, a bot, a route. The part before the first "/" is its kind, which determines its
// [Budget].
type Scope string

// Kind returns the kind of s, which names no chat.
func (s Scope) Kind() string {
	kind, _, _ := strings.Cut(string(s), "/")
	return kind
}

// RetryAfter is a refusal with the time of the next attempt. If the platform names no scope, the gate chooses one.
type RetryAfter struct {
	Scope Scope // empty if the platform named none
	After time.Duration
	Err   error
}

// Error implements error.
func (r RetryAfter) Error() string {
	return fmt.Sprintf("%s is rate-limited for %v: %v", r.Scope, r.After, r.Err)
}

// Unwrap returns the cause, an error of the platform.
func (r RetryAfter) Unwrap() error { return r.Err }

// BudgetHint is the remaining budget that a platform reported for a scope without a refusal: Left more requests until
// After has passed; 0 is a hold. It does not change the budget's pace. It is an error only so that it can be passed to
// leave, alone after a success or joined with another error.
type BudgetHint struct {
	Scope Scope // the narrowest one of the request if empty
	Left  int
	After time.Duration
}

// Error implements error.
func (l BudgetHint) Error() string {
	return fmt.Sprintf("%s has room for %d more within %v", l.Scope, l.Left, l.After)
}

// The results of requests that need different reactions; see [Sink].
var (
	ErrGone       = errors.New("the message is gone")
	ErrForbidden  = errors.New("the chat no longer accepts messages")
	ErrUnparsable = errors.New("the platform can't read the markup")
	ErrAmbiguous  = errors.New("the platform may or may not have carried out the request")
	ErrUnsent     = errors.New("nothing was sent to the platform")
	ErrStale      = errors.New("the message can no longer be edited")
)

// Gate keeps requests within every budget they use. Nothing else waits for budgets.
type Gate interface {
	// Enter waits for a permit in all of t's scopes. The caller then makes one request and calls leave with its error,
	// once, as soon as the request returns: when the platform counted it is unknown, so a budget's window starts then,
	// a [RetryAfter] closes its scope, and a [BudgetHint] narrows it. A permit returned with [ErrUnused] was not spent.
	// Enter fails with the cause of ctx. A [PriorityTyping] ticket does not wait: without an available permit, or while
	// other tickets wait in its chat, it fails with [ErrNoPermit]. Enter is safe for concurrent use.
	Enter(ctx context.Context, t Ticket) (leave func(error), err error)
}

// Ticket is a request for a permit.
type Ticket struct {
	Scopes   []Scope // narrowest first
	Priority Priority
	// Fresh is the time of the oldest text that is not visible yet; now if zero. The longest wait goes first, see
	// [Priority].
	UnshownSince time.Time
	// Owed is the number of requests that the final state will need. Stream edits and changes of status leave so many
	// permits for it.
	Owed int
}

// The errors of permits.
var (
	ErrNoPermit = errors.New("no permit is available now")
	ErrUnused   = errors.New("the permit was not used")
)

// Priority orders tickets. Each level is worth a head start over those below, as if its text were that much older. No
// ticket starves, because a ticket that is older than the head start goes first.
type Priority uint8

// The priorities.
const (
	PriorityTyping Priority = iota // typing indicators: only if nothing else waits
	PriorityStream                 // text of a growing answer
	PriorityStatus                 // the line about a running action: users wonder why no text appears
	PriorityFirst                  // the first text of an answer
	PriorityReply                  // a reply to a command: short, and a user waits for it
	PriorityFinal                  // the final state of an answer
)

// String returns a name for metrics and traces.
func (p Priority) String() string {
	return [...]string{"typing", "stream", "status", "first", "reply", "final"}[p]
}

// headStart returns the advantage of p over stream edits.
func (p Priority) headStart() time.Duration {
	switch p {
	case PriorityTyping:
		return -24 * time.Hour
	case PriorityStatus:
		return 10 * time.Second
	case PriorityFirst:
		return 30 * time.Second
	case PriorityReply:
		return time.Minute
	case PriorityFinal:
		return 2 * time.Minute
	}
	return 0
}

// streams reports whether p is a change of a growing answer. Those are spread out, and leave permits for the final state.
func (p Priority) streams() bool { return p == PriorityStream || p == PriorityStatus }

// Budget is the number of requests that a scope allows in any window of time. With N 0 there is no limit.
type Budget struct {
	N   int
	Per time.Duration
	// Reserve is for long windows: the number of the N permits that stream edits leave to requests of higher priority;
	// the higher their priority, the fewer those leave. The remaining permits are spread evenly over the rest of the
	// window, so edits become rarer as the budget shrinks. Typing uses at most half of N. With 0, all tickets except
	// final ones leave one permit. A permit left this way can be borrowed if another one returns within Per / N, unless
	// the final state will need it.
	Reserve int
	// Pace is the minimum time between two stream edits or changes of status, so that those of many chats don't come in
	// bursts, which a final state would have to wait for. No other request waits for it.
	Pace time.Duration
}

// reserve returns how many permits a request of priority p leaves to those of higher priority.
func (b Budget) reserve(p Priority) int {
	switch {
	case p == PriorityFinal:
		return 0
	case p == PriorityTyping && b.Reserve > 0:
		return max(b.N/2, b.Reserve)
	case p == PriorityTyping:
		return 2
	case b.Reserve == 0:
		return 1
	case p == PriorityStream:
		return b.Reserve
	}
	steps := int(PriorityFinal - PriorityStream) // from all of it to nothing
	return b.Reserve * int(PriorityFinal-p) / steps
}
