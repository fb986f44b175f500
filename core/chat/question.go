package chat

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"parley/core/answer"
	"parley/core/text"
	"parley/internal/lang"
)

// Question asks users to choose from options: buttons where the platform has them. One of the users in For chooses
// once, by a button, or, as long as it is the last message of the room, by writing the option or its number.
type Question struct {
	Options []string `json:"options"` // up to 10, each of up to 60 characters; at least 1, unless Other is set
	// Other is the label of an answer in the user's own words, such as "Something else…"; empty: only the options can be chosen.
	// The words then become the last option, which is the chosen one.
	Other string `json:"other,omitempty"`
	// Fields make the question a form, with Other as the label of the button that opens it. The words are then the values of the fields that are
	// not answered yet, see [answer.JoinValues]: all of them from a form, one where the fields are asked one after the other.
	Fields []answer.Field `json:"fields,omitempty"`
	// Files answer fields of the kind [answer.FileField]. Those of the choice are added to it.
	Files []Attachment `json:"files,omitempty"`
	// Replies means that only a reply to the question itself is an answer in the user's own words, where users write messages.
	Replies bool `json:"replies,omitempty"`
	// Details are a text that is not part of the answer, because others read it too. Each user in For can have it shown.
	Details string `json:"details,omitempty"`
	// Approval means that the last option refuses something, and the others approve it. Platforms can color them.
	Approval bool `json:"approval,omitempty"`
	// Edit lets users approve a call with other arguments, in words of their own; nil: not. See [EditIn].
	Edit    *Edit      `json:"edit,omitempty"`
	For     []EntityID `json:"for"`     // the only users who can choose; if empty, no user can
	Expires time.Time  `json:"expires"` // default: an hour from now, 5 minutes if an action waits for it
	// Handler names the [action.ChoiceHandler] that processes the choice, and Payload is passed to it.
	Handler string `json:"chooser"`
	Payload string `json:"payload,omitempty"`

	// Set by the runtime:
	ID    string    `json:"id"` // random; the only content of a button
	Run   RunID     `json:"run"`
	Room  RoomID    `json:"room"`
	Asked time.Time `json:"asked,omitzero"` // questions of earlier versions have none
	// After a choice: the option, the user, and the run of the result. If the question was closed without a choice, By
	// is empty and the run only removes the options.
	Choice    int      `json:"choice,omitempty"`
	By        EntityID `json:"by,omitempty"`
	Name      string   `json:"name,omitempty"`
	BilledTo  EntityID `json:"payer,omitempty"` // whose limits the result counts against; empty: By's
	ResultRun RunID    `json:"carrier,omitempty"`
}

// Edit describes a call whose arguments can be changed.
type Edit struct {
	Schema    json.RawMessage `json:"schema"` // that the arguments fit
	Arguments json.RawMessage `json:"arguments"`
}

// EditIn returns the arguments in words that begin with the label of an edit, in any language, such as "Edit: {…}"; ok is false for other words.
// The arguments need not be JSON.
func EditIn(words string) (arguments json.RawMessage, ok bool) {
	for _, label := range lang.Every("hold.edit") {
		label = strings.TrimRight(label, " …")
		if len(words) <= len(label) || !strings.EqualFold(words[:len(label)], label) {
			continue
		}
		rest, colon := strings.CutPrefix(strings.TrimLeft(words[len(label):], " …"), ":")
		rest = strings.TrimSpace(strings.TrimPrefix(strings.Trim(rest, " \n`"), "json\n"))
		if !json.Valid([]byte(rest)) { // phones write such quotation marks
			rest = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`).Replace(rest)
		}
		if colon || strings.HasPrefix(rest, "{") { // else it is a longer word
			return text.CleanJSON(json.RawMessage(rest)), true
		}
	}
	return nil, false
}

// Open reports whether the question can still be answered.
func (q Question) Open(now time.Time) bool { return q.ResultRun == "" && now.Before(q.Expires) }

// Choices returns the visible part of q, with the choice if there is one.
func (q Question) Choices() *answer.Choices {
	c := &answer.Choices{ID: q.ID, Options: q.Options, Other: q.Other, Details: q.Details != "", Approval: q.Approval, Edit: q.Edit != nil}
	if q.Approval {
		c.Until = q.Expires.UnixMilli()
	}
	for i := range q.Fields {
		if !q.Fields[i].Done {
			c.Fields = append(c.Fields, q.Fields[i])
		}
	}
	if q.By != "" {
		c.Chosen = q.Choice + 1
		if last := len(q.Options) - 1; q.Other != "" { // perhaps words
			c.Options = append(slices.Clone(q.Options[:last]), text.Brief(q.Options[last], maxLabel))
		}
	}
	return c
}

// ChoiceLine describes the choice, and the user who made it if others could have.
func (q Question) ChoiceLine(where RoomKind) string {
	chosen := q.Options[q.Choice]
	if q.Other != "" {
		chosen = strings.Join(strings.Fields(chosen), " ")
		chosen = text.Unmarked(text.Brief(chosen, maxLine))
	}
	mark := "→ **" + chosen + "**"
	if !where.Private() && q.Name != "" {
		mark += " (" + text.Unmarked(q.Name) + ")"
	}
	return mark
}

// Refused is the error of a handler of choices if a choice has no effect, such as because another user was faster: the reason for the user.
// It replaces the options, and none of them is shown as chosen.
type Refused string

// Error implements error.
func (r Refused) Error() string { return string(r) }

// Refuse returns err, or else reason as a [Refused]; nil if both are empty.
func Refuse(reason string, err error) error {
	if err == nil && reason != "" {
		return Refused(reason)
	}
	return err
}

const (
	maxLine  = 200 // characters of a choice in one line
	maxLabel = 60  // characters of words as a label
	// MaxWords is the maximum length of an answer in a user's own words, in characters.
	MaxWords = 4000
)

// Choice is an [Inbound]: a user pressed a button.
type Choice struct {
	Question string // the question's ID
	Option   int    // from 0; not used with Words or Show
	Words    string // the user's own words instead of an option: see [Question.Other]
	// Files come with the words of a form. If Fleeting is set, the connector can fetch them only now, and they are copied to the store.
	Files    []Attachment
	Fleeting bool
	Show     bool // nothing is chosen: the user wants to read [Question.Details], which come in [Accepted.Refused], or to open its form, which comes in [Accepted.Form]
	Room     RoomID
	Author   EntityID
	BilledTo EntityID // whose limits the result counts against, like [Address.BilledTo]; empty: the author's
	Name     string
	Roles    []string
}

func (Choice) inbound() {}

// Approval is the record of a call that needs an approval: the request and its result. It holds no content, only
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

// Decision is the result of an [Approval].
type Decision string

// The decisions. An approval is pending at first, then one of the others; Approved becomes Used when the call is made.
const (
	Pending  Decision = "pending"
	Approved Decision = "approved" // for this call
	Amended  Decision = "amended"  // with the changes in the words of the answer to its question
	Used     Decision = "used"     // the call was made
	Always   Decision = "always"   // for this call and later ones of this kind in this room
	Standing Decision = "standing" // the call was made because of an earlier Always
	Denied   Decision = "denied"
	Expired  Decision = "expired" // no one decided in time
	Stopped  Decision = "stopped" // the turn ended first
	Lapsed   Decision = "lapsed"  // it was Always once; or the call is asked about again: the asker wrote before it was made, or the later request keeps it
	// Replaced is the decision of a request that a later one of the same user for the same tool has replaced. It can
	// become Lapsed.
	Replaced Decision = "replaced"
)
