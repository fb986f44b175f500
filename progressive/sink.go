// Package progressive shows an answer in messages that change while they are being read.
package progressive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/core/answer"
	"parley/core/llm"
)

// Sink is one conversation on one platform. Its methods make one request each, at once: they wait for nothing but the
// platform's reply. Requests are made one at a time; Render and Scopes may be called while one is under way. A request
// that ends because ctx was done counts as ambiguous.
//
// Their errors decide what happens next: a [RetryAfter] is a refusal for now; [ErrGone] and [ErrForbidden] are
// final; [ErrUnparsable] asks for the same part as plain text; [ErrAmbiguous] leaves open whether the platform did it;
// any other error means that it certainly did not. [ErrUnsent] is such an error: there was no connection, or
// the next try is another one, and the same request is repeated. After [ErrStale] the text goes into a new message; after
// [ErrGone], which says that people removed the message, the answer ends.
type Sink interface {
	// Render says which messages v becomes here, each within the platform's limits. It is pure: the same arguments give
	// the same parts. It is called for interim views too. Files that hold words of the answer have no Plain: of those
	// named in refused, which the platform did not take, the words are in the text, and they are still among the parts.
	Render(v answer.View, refused ...string) []Part
	// Post creates a message and returns its id. A nonce is always the same for one part of one run (another one is
	// used only to send again what the user removed); where the platform knows nonces, one that was used before gives
	// the message that has it already, with its old text, or [ErrGone] if that was removed.
	Post(ctx context.Context, p Part, nonce string) (id string, err error)
	// Scopes says whose budgets a request spends, the narrowest first: chat, bot, route.
	Scopes(op Op) []Scope
}

// Editor changes what was posted. A sink without it is shown only the last word.
type Editor interface {
	// Edit makes the message say p. Asking for what it says already succeeds (TR-07). A message that shows a file is only
	// asked to show another one, of any kind, and one with text to say another text.
	Edit(ctx context.Context, id string, p Part) error
}

// Deleter takes a message back. With a sink that lacks it, a part that is no longer wanted stays.
type Deleter interface {
	// Delete succeeds if the message was gone already.
	Delete(ctx context.Context, id string) error
}

// Typer shows that an answer is coming. With a sink that lacks it, nothing says so before the first text.
type Typer interface {
	// Typing shows the sign once and says how long it stays.
	Typing(ctx context.Context) (stays time.Duration, err error)
}

// NonceKeeper says that posting again with the same nonce is safe, within the time it returns after the first try. A
// sink that lacks it is asked to repeat a create of unknown outcome only as [Resender] says.
type NonceKeeper interface {
	NonceWindow() time.Duration
}

// Resender is a [Sink] that can mark a message as a possible repetition. Where no nonce tells whether a create was done, a
// text of the last word is then sent once more in all, marked: a rare repetition is better than silence. With a sink that
// lacks it, or that does not want it, such a text is sent at most once.
type Resender interface {
	// Resends reports whether the sink wants that. It always returns the same.
	Resends() bool
	// Marked returns p with a short line that says that it may be a repetition, within the platform's limits. Like Render it
	// is pure.
	Marked(p Part) Part
}

// BudgetReporter hears more than success and refusal: a platform may say beside any answer how much of a budget is left. With a
// sink that lacks it, only a [RetryAfter] closes a scope.
type BudgetReporter interface {
	// BudgetHint is what the platform said with its last answer, once; ok is false if it said nothing. It is called after
	// each request, before the next.
	BudgetHint() (l BudgetHint, ok bool)
}

// Part is one platform message: text, or a file. Files come below the text that is there when they are first shown. For
// one that the platform does not take, which is [ErrUnparsable], Plain is posted, if there is one; see [Sink].
type Part struct {
	File    *llm.File       // nil is text
	Text    string          // in the platform's dialect; if it is empty, Plain is to be sent, without markup
	Plain   string          // the same without any markup, for a platform that refuses Text
	Offer   *answer.Choices // buttons below it; nil is none, and takes away those that were there
	ReplyTo bool            // it stands below the message that the address names
	Under   int             // how many runes at its end are lines about calls: they change, and may go
}

// Op is a kind of request.
type Op uint8

// The kinds of requests.
const (
	Post Op = iota
	Edit
	Delete
	Typing
)

func (o Op) String() string { return [...]string{"post", "edit", "delete", "typing"}[o] }

// Scope names a budget: a chat, a bot, a route. The part before the first "/" is its kind, by which its [Budget] is
// found.
type Scope string

// RetryAfter is a refusal that says when to try again, and in which scope.
type RetryAfter struct {
	Scope Scope
	After time.Duration
	Err   error
}

func (r RetryAfter) Error() string {
	return fmt.Sprintf("%s is rate-limited for %v: %v", r.Scope, r.After, r.Err)
}

func (r RetryAfter) Unwrap() error { return r.Err }

// BudgetHint is what a platform said of a scope without refusing anything: Left more requests fit until After has passed,
// 0 being a hold. It changes nothing about the budget's pace. It is an error only so that leave takes it, alone after a
// success or joined with what went wrong.
type BudgetHint struct {
	Scope Scope // the narrowest of the request if empty
	Left  int
	After time.Duration
}

func (l BudgetHint) Error() string {
	return fmt.Sprintf("%s has room for %d more within %v", l.Scope, l.Left, l.After)
}

// What the platform's answers come down to.
var (
	ErrGone       = errors.New("the message is gone")
	ErrForbidden  = errors.New("the chat no longer accepts messages")
	ErrUnparsable = errors.New("the platform can't read the markup")
	ErrAmbiguous  = errors.New("the platform may or may not have carried out the request")
	ErrUnsent     = errors.New("nothing was sent to the platform")
	ErrStale      = errors.New("the message can no longer be edited")
)

// Gate keeps requests within every budget they spend. It is the only thing that waits.
type Gate interface {
	// Enter waits for a permit in all of t's scopes. The caller then makes one request and calls leave with its error,
	// once, as soon as the request returns: when the platform counted it is unknown, so a budget's window starts then,
	// a [RetryAfter] closes its scope, and a [BudgetHint] narrows it. A permit returned with [ErrUnused] was not spent.
	// Enter fails with the cause of ctx. A [PriorityTyping] ticket does not wait: without an available permit, or while
	// other tickets wait in its chat, it fails with [ErrNoPermit]. Enter is safe for concurrent use.
	Enter(ctx context.Context, t Ticket) (leave func(error), err error)
}

// Ticket is one wish for a permit.
type Ticket struct {
	Scopes   []Scope // the narrowest first
	Priority Priority
	// Fresh is when the oldest character was made that the reader does not see yet; the present if zero. What waits the
	// longest goes first, see [Priority].
	Fresh time.Time
}

// What passes between a [Gate] and its guests.
var (
	ErrNoPermit = errors.New("no permit at hand")
	ErrUnused   = errors.New("the permit was not used")
)

// Priority orders tickets: each level is worth a head start over those below, as if its text were that much older. So
// no ticket starves: once it is older than the head start, it goes first.
type Priority uint8

// The priorities.
const (
	PriorityTyping Priority = iota // typing: only when nothing else waits
	Interim                        // text on the way
	Status                         // what an action says or does: the reader wonders why nothing is written
	First                          // the first text of an answer
	PriorityReply                  // a reply to a command: short, and a user waits for it
	Final                          // the last word of an answer
)

// headStart is over text on the way.
func (p Priority) headStart() time.Duration {
	switch p {
	case PriorityTyping:
		return -24 * time.Hour
	case Status:
		return 10 * time.Second
	case First:
		return 30 * time.Second
	case PriorityReply:
		return time.Minute
	case Final:
		return 2 * time.Minute
	}
	return 0
}

// Budget is how many requests a scope allows in any window of time. A Budget with N 0 allows any number.
type Budget struct {
	N   int
	Per time.Duration
	// Reserve is for long windows: how many of the N permits stream edits leave to requests of higher priority, which
	// leave fewer the higher they are. The other permits that are left when an edit asks are spread evenly over the rest
	// of the window, so edits thin out as the budget shrinks. Typing uses at most half of N. With 0 all but last words
	// leave one permit. One of those that are left may be borrowed if another is back within Per / N.
	Reserve int
}

// reserve returns how many permits a request of priority p leaves to those of higher priority.
func (b Budget) reserve(p Priority) int {
	switch {
	case p == Final:
		return 0
	case p == PriorityTyping && b.Reserve > 0:
		return max(b.N/2, b.Reserve)
	case p == PriorityTyping:
		return 2
	case b.Reserve == 0:
		return 1
	case p == Interim:
		return b.Reserve
	}
	steps := int(Final - Interim) // from all of it to nothing
	return (b.Reserve*int(Final-p) + steps - 1) / steps
}
