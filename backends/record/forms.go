package record

import (
	"crypto/sha256"
	"fmt"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
)

// verdict is the stored form of a [chat.Verdict]. It has the same fields, so that one converts to the other, and the
// names in JSON must not change.
type verdict struct {
	Outcome answer.Outcome    `json:"outcome"`
	Text    string            `json:"text,omitempty"`
	History []string          `json:"history,omitempty"`
	Calls   []answer.PastCall `json:"calls,omitempty"`

	Thought   string   `json:"thought,omitempty"`
	Actions   []string `json:"actions,omitempty"`
	Providers []string `json:"providers,omitempty"`

	Files int `json:"files,omitempty"`
}

// Verdict returns the stored form of v; "" for none.
func Verdict(v *chat.Verdict) string {
	if v == nil {
		return ""
	}
	return JSON(verdict(*v))
}

// outcome is the stored form of the parts of an outcome that no query compares. The epoch is that of the end: a process of an earlier
// version reopens and ends a run without it, and the epoch that it finds there belongs to an earlier end.
type outcome struct {
	Epoch  chat.Epoch    `json:"epoch"`
	Usage  *llm.UsageSum `json:"usage,omitempty"`
	Reason string        `json:"reason,omitempty"`
	answer.Effort
}

// OutcomeOf returns the stored form of the parts of o that have no column of their own, for a run that ends in that epoch; "" if all are empty.
func OutcomeOf(o answer.Outcome, epoch chat.Epoch) string {
	if o.Usage == nil && o.Reason == "" && o.Effort == (answer.Effort{}) {
		return ""
	}
	return JSON(outcome{epoch, o.Usage, o.Reason, o.Effort})
}

// content is the stored form of the fields of a memory that no query compares, in one column.
type content struct {
	Quoted    chat.Quoted       `json:"quoted,omitzero"`
	Files     []chat.Attachment `json:"files,omitempty"`
	Thought   string            `json:"thought,omitempty"`
	Actions   []string          `json:"actions,omitempty"`
	Providers []string          `json:"providers,omitempty"`
	Calls     []answer.PastCall `json:"calls,omitempty"`
}

// ContentOf returns the stored form of the fields of m that have no column of their own; "" if all are empty, as for
// most messages.
func ContentOf(m chat.Memory) string {
	if m.Quoted == (chat.Quoted{}) && len(m.Files)+len(m.Thought)+len(m.Actions)+len(m.Providers)+len(m.Calls) == 0 {
		return ""
	}
	return JSON(content{m.Quoted, m.Files, m.Thought, m.Actions, m.Providers, m.Calls})
}

// contentOf parses the text of ContentOf.
func contentOf(text string) (c content, err error) {
	err = (&contentColumn{into: &c, names: make([]string, 0, 2)}).ScanBytes([]byte(text)) // room for the actions of one answer
	return c, err
}

// fill sets the fields of m that c has.
func (c content) fill(m *chat.Memory) {
	m.Quoted, m.Files, m.Thought, m.Actions, m.Providers, m.Calls = c.Quoted, c.Files, c.Thought, c.Actions, c.Providers, c.Calls
}

// AddressOf returns the stored form of an optional address; "" for none.
func AddressOf(a chat.Address) string {
	if a.Connector == "" {
		return ""
	}
	return JSON(a)
}

// MarkID returns the form of an event's id in marks: half of its SHA-256. It tells events apart but can't be turned
// back, as ids of deleted messages are not to be kept.
func MarkID(id chat.MemoryID) []byte {
	sum := sha256.Sum256([]byte(id))
	return sum[:16]
}

// RunID returns the id of a run: room#turn. It is made of data that exists when a message is stored, so the files and
// memories of a run are found without reading it. The triggers in both schemas make it too. The runs of a room are a
// range of ids, from room# to room$, which is the next character.
func RunID(room chat.RoomID, turn chat.ResponseID) chat.RunID {
	return chat.RunID(fmt.Sprintf("%s#%d", room, turn))
}
