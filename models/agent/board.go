package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"parley/core/text"
)

// board holds the activities of an answer by their ids.
type board map[string]json.RawMessage

const (
	maxDocument   = 256 << 10 // bytes of a document
	maxActivities = 50        // in one answer
	maxLines      = 12        // of a status
	maxLine       = 200       // characters of one
)

var errDocument = errors.New("the agent sent a patch that does not fit its document")

// set replaces an activity, or keeps an existing one if it must not be replaced.
func (b board) set(id string, content json.RawMessage, keep bool) {
	_, known := b[id]
	if len(content) <= maxDocument && !(known && keep) && (known || len(b) < maxActivities) {
		b[id] = content
	}
}

// patch changes an activity by a JSON Patch. One that does not fit changes nothing: an answer does not fail because of a
// status.
func (b board) patch(id string, patch json.RawMessage) {
	old, known := b[id]
	if now, err := patched(old, patch); known && err == nil {
		b[id] = now
	}
}

// patched returns doc changed by a JSON Patch. An empty doc is an empty object.
func patched(doc, patch json.RawMessage) (json.RawMessage, error) {
	if len(doc) == 0 {
		doc = json.RawMessage("{}")
	}
	p, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDocument, err)
	}
	o := jsonpatch.NewApplyOptions()
	o.AccumulatedCopySizeLimit = maxDocument
	now, err := p.ApplyWithOptions(doc, o)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDocument, err)
	}
	if len(now) > maxDocument {
		return nil, fmt.Errorf("%w: it becomes too large", errDocument)
	}
	return now, nil
}

// The fields of an activity, or of a part of data, that users read: the first that exists, and a list below it.
var (
	lineFields = [...]string{"text", "message", "title", "label", "description", "name", "status"}
	listFields = [...]string{"steps", "items", "tasks", "todos"}
)

// activityText returns the text of an activity for users: its first text, and a list of steps with their states. It
// is empty for content without any.
func activityText(content json.RawMessage) string {
	var plain string
	if json.Unmarshal(content, &plain) == nil {
		return plain
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(content, &fields) != nil {
		return ""
	}
	lines := []string{firstLine(fields)}
	for _, name := range listFields {
		var steps []json.RawMessage
		if json.Unmarshal(fields[name], &steps) != nil {
			continue
		}
		for _, s := range steps {
			lines = append(lines, stepLine(s))
		}
		break
	}
	return strings.TrimSpace(strings.Join(lines[:min(len(lines), maxLines)], "\n"))
}

// firstLine returns the first text among fields.
func firstLine(fields map[string]json.RawMessage) string {
	for _, name := range lineFields {
		var s string
		if json.Unmarshal(fields[name], &s) == nil && strings.TrimSpace(s) != "" {
			return s
		}
	}
	return ""
}

// stepLine returns a step in one line, with a sign for its state.
func stepLine(step json.RawMessage) string {
	var plain string
	if json.Unmarshal(step, &plain) == nil {
		return "- " + text.OneLine(plain, maxLine)
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(step, &fields) != nil {
		return ""
	}
	var state string
	_ = json.Unmarshal(fields["status"], &state) // of another type: no state
	sign := "▫️ "
	switch strings.ToLower(state) {
	case "completed", "complete", "done", "success":
		sign = "✅ "
	case "running", "in_progress", "executing", "active":
		sign = "⏳ "
	case "failed", "error":
		sign = "⚠️ "
	}
	delete(fields, "status")
	return sign + text.OneLine(firstLine(fields), maxLine)
}
