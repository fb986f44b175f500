package schedule

import (
	"slices"
	"strings"
	"time"

	"parley/core/access"
	"parley/core/chat"
)

// TurnPolicy decides how a later message affects a run, and how long a run can take.
type TurnPolicy struct {
	Direct Policy        // in direct chats
	Group  Policy        // everywhere else
	Limit  time.Duration // of a whole run
	First  time.Duration // until the model's first output
	Idle   time.Duration // between two outputs
	OnEdit EditPolicy    // the effect of an edited question on its answer
	Window time.Duration // within which messages in direct chats are combined; each message restarts it, up to five times its length in total
}

// EditPolicy is the effect of an edited question on its answer.
type EditPolicy string

// The policies for edits.
const (
	ReviseAnswer EditPolicy = "revise"   // the latest answer of a room is rewritten in place
	RememberEdit EditPolicy = "remember" // the answer stays
)

// Policy is the order of a room's turns.
type Policy string

// The policies.
const (
	Supersede Policy = "supersede" // the later turn claims the room immediately
	Queue     Policy = "queue"     // one after the other
	Collect   Policy = "collect"   // all waiting messages are answered together
	Steer     Policy = "steer"     // the asker's messages join the run in progress; those of others wait as under Queue
)

// PolicyFor returns the policy of rooms of kind k.
func (t TurnPolicy) PolicyFor(k chat.RoomKind) Policy {
	if k.Private() {
		return t.Direct
	}
	return t.Group
}

const (
	maxWaiting = 10 // runs of a room under Queue and Steer; later messages are only remembered, and users are told
	maxWindows = 5  // the maximum length, in windows, that restarts can reach
)

// Users or their apps split one question over several messages. These are the times to wait for the next part. A
// message that shows no sign of another part waits for nothing.
const (
	albumGap = 2 * time.Second         // between two of a group, such as the pictures of an album
	splitGap = 1200 * time.Millisecond // between the parts of a text that was too long for one message
	mediaGap = 1500 * time.Millisecond // between a file and the text that users write about it
	allParts = 10 * time.Second        // for all parts
)

// JoinRule returns how m is combined with other messages: whether it opens a run, only joins one, or is only
// remembered, and how long its run waits for more. d is the access decision about m.
func (t TurnPolicy) JoinRule(m chat.Message, d access.Decision) chat.JoinRule {
	policy := t.PolicyFor(m.Place.Kind)
	j := chat.JoinRule{NoRun: d == access.No, JoinOnly: d == access.ContextOnly, Collect: policy == Collect && d != access.ContextOnly}
	if d == access.Maybe || d == access.ContextOnly {
		j.Kind = chat.RunDecide
	}
	if policy == Queue || policy == Steer {
		j.Limit = maxWaiting
	}
	if m.Place.Kind.Private() {
		// In a direct chat, a user who keeps writing is still answered after Most.
		j.Window, j.Most = t.Window, maxWindows*t.Window
	}
	if gap := gapAfter(m); gap > j.Window {
		j.Window, j.Most = gap, max(j.Most, allParts)
	}
	return j
}

// gapAfter returns the time to wait for more messages that belong to m; 0 if nothing indicates that there are more. A
// voice message alone is complete.
func gapAfter(m chat.Message) time.Duration {
	switch {
	case m.Group != "":
		return albumGap
	case m.MayContinue:
		return splitGap
	case strings.TrimSpace(m.Text) == "" && !m.Untranscribed():
		return mediaGap
	}
	return 0
}

// Latest returns the last of runs that has claimed the room by rule alone, or the zero Run. An undecided run claims
// nothing, because the model may choose to be silent, and a task claims only a place of its own.
func Latest(runs []chat.Run) chat.Run {
	for _, r := range slices.Backward(runs) {
		if r.Kind != chat.RunDecide && !r.Kind.Apart() && r.Kind.Claims() {
			return r
		}
	}
	return chat.Run{}
}

// LastTurns returns the newest turn that open runs claim, for each [chat.Run.Claim].
func LastTurns(open []chat.Run) map[chat.RoomID]chat.ResponseID {
	last := map[chat.RoomID]chat.ResponseID{}
	for _, r := range open {
		last[r.Claim()] = max(last[r.Claim()], r.Turn())
	}
	return last
}

// Due returns the next of the open runs, in turn order, and the time until its start. The oldest is first, also under
// Supersede: there it ends immediately, because a later turn has claimed the room. Parked runs that wait for a person,
// and tasks for later, are skipped, so that there may be none (ok is false). A run that was started before (Epoch > 0)
// does not wait: it was interrupted. Unless it is parked, it has the room, so that the store starts no other run: it comes before older ones that
// were parked and woken.
func (t TurnPolicy) Due(open []chat.Run, now time.Time) (next chat.Run, wait time.Duration, ok bool) {
	if i := slices.IndexFunc(open, func(r chat.Run) bool { return r.Epoch > 0 && !r.Parked }); i >= 0 {
		return open[i], 0, true
	}
	for _, next := range open {
		switch {
		case forLater(next, now):
			continue
		case t.Taken(open, next):
			return next, 0, true
		case next.Parked && now.Before(next.Ready):
			continue
		case next.Epoch > 0:
			return next, 0, true
		}
		return next, max(0, next.Ready.Sub(now)), true
	}
	return chat.Run{}, 0, false
}

// Taken reports whether a later turn among the open runs has claimed the room of r. Only the Supersede policy has that;
// a run that is apart, and one whose call waits for an approval, are never superseded.
func (t TurnPolicy) Taken(open []chat.Run, r chat.Run) bool {
	return !r.Kind.Apart() && !r.Lasting && t.PolicyFor(r.RoomKind) == Supersede && Latest(open).Turn() > r.Turn()
}

// forLater reports whether r must not begin yet: see [chat.Task.NotBefore].
func forLater(r chat.Run, now time.Time) bool {
	return (r.Kind == chat.RunTask || r.Kind == chat.RunNotify) && r.Epoch == 0 && r.Ready.After(now)
}
