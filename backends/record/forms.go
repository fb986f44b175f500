package record

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"parley/core/answer"
	"parley/core/chat"
)

// verdict is the form in which a [chat.Verdict] is stored.
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

// Verdict returns the form in which v is stored; "" for none.
func Verdict(v *chat.Verdict) string {
	if v == nil {
		return ""
	}
	return JSON(verdict(*v))
}

// content is the part of a memory that is only read together with it.
type content struct {
	Quoted    chat.Quoted       `json:"quoted,omitzero"`
	Files     []chat.Attachment `json:"files,omitempty"`
	Thought   string            `json:"thought,omitempty"`
	Actions   []string          `json:"actions,omitempty"`
	Providers []string          `json:"providers,omitempty"`
	Calls     []answer.PastCall `json:"calls,omitempty"`
}

// ContentOf returns the form of the fields of m that have no column of their own; "" for none.
func ContentOf(m chat.Memory) string {
	if m.Quoted == (chat.Quoted{}) && len(m.Files)+len(m.Thought)+len(m.Actions)+len(m.Providers)+len(m.Calls) == 0 {
		return ""
	}
	return JSON(content{m.Quoted, m.Files, m.Thought, m.Actions, m.Providers, m.Calls})
}

// AddressOf returns the form of an optional address; "" for none.
func AddressOf(a chat.Address) string {
	if a.Connector == "" {
		return ""
	}
	return JSON(a)
}

// Merge brings what is shown up to date, in the order of its parts.
func Merge(shown, news []chat.Shown) []chat.Shown {
	for _, s := range news {
		at, had := slices.BinarySearchFunc(shown, s.Part, func(o chat.Shown, part int) int { return o.Part - part })
		if had {
			shown = slices.Delete(shown, at, at+1)
		}
		if !s.Gone {
			shown = slices.Insert(shown, at, s)
		}
	}
	return shown
}

// MarkID returns what marks hold of an event's id.
func MarkID(id chat.MemoryID) []byte {
	sum := sha256.Sum256([]byte(id))
	return sum[:16]
}

// RunID returns the id of a run. The schemas make it too, to find the files of a run.
func RunID(room chat.RoomID, turn chat.ResponseID) chat.RunID {
	return chat.RunID(fmt.Sprintf("%s#%d", room, turn))
}
