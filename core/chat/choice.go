package chat

import "time"

// Question is something that people are asked, with options to choose from: buttons where the platform has them. One of
// those it is for chooses once, by a button, or by writing the option or its number.
type Question struct {
	Options []string   `json:"options"` // 1 to 10, each of at most 60 characters
	For     []EntityID `json:"for"`     // who may choose: nobody else, and nobody if it is empty
	Expires time.Time  `json:"expires"` // an hour from now if it is zero, 5 minutes if somebody waits for it
	// Chooser names the [action.ChoiceHandler] that goes on with what was chosen, and Payload is what it needs to know for that.
	Chooser string `json:"chooser"`
	Payload string `json:"payload,omitempty"`

	// The runtime knows these:
	ID   string `json:"id"` // random, all that a button carries
	Run  RunID  `json:"run"`
	Room RoomID `json:"room"`
	// Once somebody has chosen, what, who, and the run that carries it out. Where the question was closed without a choice, By
	// is empty, and the run only takes the options away.
	Choice    int      `json:"choice,omitempty"`
	By        EntityID `json:"by,omitempty"`
	Name      string   `json:"name,omitempty"`
	BilledTo  EntityID `json:"payer,omitempty"` // whose limits count what comes of it; empty: By's
	ResultRun RunID    `json:"carrier,omitempty"`
}

// Open says that an answer is awaited.
func (q Question) Open(now time.Time) bool { return q.ResultRun == "" && now.Before(q.Expires) }

// Choice is an [Inbound]: somebody pressed a button.
type Choice struct {
	Question string // its ID
	Option   int    // from 0
	Room     RoomID
	Author   EntityID
	BilledTo EntityID // whose limits count what comes of it, as [Address.BilledTo]; empty: the author's
	Name     string
	Roles    []string
}

func (Choice) inbound() {}
