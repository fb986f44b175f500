package chat

import "time"

// Approval is the record of a call of an action that needs one: what is asked for, and what came of it. It holds no content, only
// hashes.
type Approval struct {
	ID        string
	Room      RoomID
	Run       RunID
	Call      string // the id of the call within its run
	Tool      string // "server/tool"
	Kind      string // a hash of the tool's definition
	Arguments string // a hash of the arguments
	Effect    string
	Asker     EntityID
	At        time.Time
	Expires   time.Time
	Decision  Decision
	By        EntityID // who decided
	Decided   time.Time
}

// Decision is what came of an [Approval].
type Decision string

// The decisions. An approval is pending at first, then one of the others; Approved becomes Used when the call is made.
const (
	Pending  Decision = "pending"
	Approved Decision = "approved" // for this call
	Used     Decision = "used"     // the call was made
	Always   Decision = "always"   // for this call and later ones of this kind in this room
	Standing Decision = "standing" // the call was made because of an earlier Always
	Denied   Decision = "denied"
	Expired  Decision = "expired" // no one decided in time
	Stopped  Decision = "stopped" // the turn ended first
	Lapsed   Decision = "lapsed"  // it was Always once
	// Replaced is of a request in whose place a later one of the same user for the same tool is asked. It can become Pending again.
	Replaced Decision = "replaced"
)
