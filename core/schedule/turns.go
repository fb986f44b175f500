package schedule

import (
	"slices"
	"strings"
	"time"

	"parley/core/access"
	"parley/core/chat"
)

// TurnPolicy says what becomes of a run when a later message arrives, and how long a run may take.
type TurnPolicy struct {
	Direct Policy        // in private rooms
	Group  Policy        // everywhere else
	Limit  time.Duration // of a whole run
	First  time.Duration // until the model's first word
	Idle   time.Duration // between two words
	OnEdit EditPolicy    // what becomes of an answer whose question is edited
	Window time.Duration // within which messages in private rooms become one; each begins it anew, up to five times its length
}

// EditPolicy says what an edited question means for its answer.
type EditPolicy string

// The policies for edits.
const (
	ReviseAnswer EditPolicy = "revise"   // the latest answer of a room is written anew, in its messages
	RememberEdit EditPolicy = "remember" // the answer stays
)

// Policy is a way to order the turns of a room.
type Policy string

// The policies.
const (
	Supersede Policy = "supersede" // the later turn takes the room at once
	Queue     Policy = "queue"     // one after the other
	Collect   Policy = "collect"   // all that wait are answered together
)

func (t TurnPolicy) PolicyFor(k chat.RoomKind) Policy {
	if k.Private() {
		return t.Direct
	}
	return t.Group
}

const (
	maxWaiting = 10 // runs of a room under Queue; what comes then is remembered, and people are told (IN-07)
	maxWindows = 5  // how often a window may begin anew
)

// What belongs together comes apart (TR-26): people, or their apps, send it in several messages. A message that shows
// no sign of it waits for nothing.
const (
	albumGap = 2 * time.Second         // between two of a group, such as the pictures of an album
	splitGap = 1200 * time.Millisecond // between the parts of a text that was too long for one message
	mediaGap = 1500 * time.Millisecond // between a file and the words that people write to it
	allParts = 10 * time.Second        // for all of it
)

// JoinRule says what becomes of m.
func (t TurnPolicy) JoinRule(m chat.Message, d access.Decision) chat.JoinRule {
	policy := t.PolicyFor(m.Place.Kind)
	j := chat.JoinRule{NoRun: d == access.No, JoinOnly: d == access.ContextOnly, Collect: policy == Collect && d != access.ContextOnly}
	if d == access.Maybe || d == access.ContextOnly {
		j.Kind = chat.RunDecide
	}
	if policy == Queue {
		j.Limit = maxWaiting
	}
	if m.Place.Kind.Private() {
		j.Window, j.Most = t.Window, maxWindows*t.Window // IN-13: also who goes on writing is answered
	}
	if gap := gapAfter(m); gap > j.Window {
		j.Window, j.Most = gap, max(j.Most, allParts)
	}
	return j
}

// gapAfter is how soon more that belongs to m would follow; 0 if nothing says that there is more.
func gapAfter(m chat.Message) time.Duration {
	switch {
	case m.Group != "":
		return albumGap
	case m.MayContinue:
		return splitGap
	case strings.TrimSpace(m.Text) == "" && !m.Unheard():
		return mediaGap
	}
	return 0
}

// Latest is the last of runs that rules alone have given the room, or else no run. What is undecided takes no room.
func Latest(runs []chat.Run) chat.Run {
	for _, r := range slices.Backward(runs) {
		if r.Kind != chat.RunDecide && r.Kind.Claims() {
			return r
		}
	}
	return chat.Run{}
}

// LastTurn returns the newest turn that open runs, in turn order, claim.
func LastTurn(open []chat.Run) (last chat.ResponseID) {
	for _, r := range open {
		last = max(last, r.Turn())
	}
	return last
}

// Due says which of the open runs, in turn order, is to be started, and after how long. There is at least one. The
// oldest goes first, also under Supersede: there it ends at once, because a later turn has the room.
func (t TurnPolicy) Due(open []chat.Run, now time.Time) (next chat.Run, wait time.Duration) {
	next = open[0]
	taken := t.PolicyFor(next.RoomKind) == Supersede && Latest(open).Turn() > next.Turn()
	if next.Epoch > 0 || taken {
		return next, 0
	}
	return next, max(0, next.Ready.Sub(now))
}
