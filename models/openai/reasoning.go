package openai

import (
	"crypto/sha256"
	"encoding/json"
	"regexp"

	"parley/core/llm"
)

// The fields where servers expect their reasoning back, with the calls that followed from it. Without it, some
// models start their reasoning over after each tool result, and some servers refuse the request.
const (
	ReasoningContent = "reasoning_content" // text
	ReasoningDetails = "reasoning_details" // a list of parts, some of them encrypted
)

// reasoning collects the data to send back. The zero value collects nothing.
type reasoning struct {
	field string // ReasoningContent, ReasoningDetails, or "" for none
	text  string
	parts []map[string]any
}

// add reads an event with reasoning.
func (r *reasoning) add(event []byte) {
	var e struct {
		Choices []struct {
			Delta map[string]json.RawMessage `json:"delta"`
		} `json:"choices"`
	}
	if r.field == "" || json.Unmarshal(event, &e) != nil || len(e.Choices) == 0 {
		return
	}
	raw := e.Choices[0].Delta[r.field]
	if r.field == ReasoningContent {
		var text string
		_ = json.Unmarshal(raw, &text) // another type is that of another server, which wants nothing back
		r.text += text
		return
	}
	var parts []map[string]any
	_ = json.Unmarshal(raw, &parts)
	for _, p := range parts {
		r.part(p)
	}
}

// part adds a piece to the list of parts. Pieces that follow each other with the same index and type are one part,
// whose texts are joined; encrypted ones (data) are always complete.
func (r *reasoning) part(p map[string]any) {
	if n := len(r.parts); n > 0 && r.parts[n-1]["type"] == p["type"] && r.parts[n-1]["index"] == p["index"] && p["data"] == nil {
		last := r.parts[n-1]
		for key, value := range p {
			more, isText := value.(string)
			before, was := last[key].(string)
			switch {
			case (key == "text" || key == "summary") && isText && was:
				last[key] = before + more
			case value != nil:
				last[key] = value
			}
		}
		return
	}
	r.parts = append(r.parts, p)
}

// opaque returns the collected data, for owner, or nil.
func (r *reasoning) opaque(owner string) *llm.Opaque {
	var all any = r.parts
	switch {
	case r.text != "":
		all = r.text
	case len(r.parts) == 0:
		return nil
	}
	data, err := json.Marshal(all)
	if err != nil {
		return nil // decoded JSON can always be encoded
	}
	return &llm.Opaque{Owner: owner, Data: data}
}

// back adds data, which is the reasoning that the server wants back, to a message of calls.
func (m *Model) back(data json.RawMessage, to *message) {
	if len(to.ToolCalls) == 0 || !m.Sends(m.options.Reasoning) {
		return
	}
	if data == nil && m.options.ReasoningRequired {
		data = json.RawMessage(`""`)
	}
	switch m.options.Reasoning {
	case ReasoningContent:
		to.Reasoning = data
	case ReasoningDetails:
		to.Details = data
	}
}

var shortID = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)

// callID returns the id of a call in the form that the server accepts. Ids of other models, after a fallback, are
// hashed: the call and its result get the same one.
func (m *Model) callID(id string) string {
	if !m.options.ShortIDs || shortID.MatchString(id) {
		return id
	}
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	sum := sha256.Sum256([]byte(id))
	short := sum[:9]
	for i, b := range short {
		short[i] = letters[int(b)%len(letters)]
	}
	return string(short)
}
