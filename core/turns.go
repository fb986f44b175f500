package core

import (
	"slices"
	"time"
)

// Turns says what becomes of a run when a later message arrives, and how long a run may take.
type Turns struct {
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

func (t Turns) policy(k RoomKind) Policy {
	if k.Private() {
		return t.Direct
	}
	return t.Group
}

const (
	maxWaiting = 10 // runs of a room under Queue; what comes then is remembered, and people are told (IN-07)
	maxWindows = 5  // how often a window may begin anew
)

// rule says what becomes of a message in a room of kind k.
func (t Turns) rule(k RoomKind, d decision) JoinRule {
	j := JoinRule{NoRun: d == no, Collect: t.policy(k) == Collect}
	if d == maybe {
		j.Duty = Decide
	}
	if k.Private() {
		j.Window = t.Window
	}
	if t.policy(k) == Queue {
		j.Limit = maxWaiting
	}
	return j
}

// latest is the last of runs that rules alone have given the room, or else no run. What is undecided takes no room.
func latest(runs []Run) Run {
	for _, r := range slices.Backward(runs) {
		if r.Duty != Decide && r.Duty.claims() {
			return r
		}
	}
	return Run{}
}

// due says which of the open runs, in turn order, is to be started, and after how long. There is at least one. The
// oldest goes first, also under Supersede: there it ends at once, because a later turn has the room.
func (t Turns) due(open []Run, now time.Time) (next Run, wait time.Duration) {
	next = open[0]
	taken := t.policy(next.Kind) == Supersede && latest(open).Response > next.Response
	if next.Epoch > 0 || taken {
		return next, 0
	}
	wait = next.Ready.Sub(now)
	if t.Window > 0 { // IN-13: also who goes on writing is answered
		wait = min(wait, next.Opened.Add(maxWindows*t.Window).Sub(now))
	}
	return next, max(0, wait)
}
