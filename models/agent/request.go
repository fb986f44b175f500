package agent

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"parley/core/llm"
	"parley/internal/agui"
	"parley/internal/uistream"
	"parley/models"
	"parley/models/wire"
)

// contextNote describes the context that the gateway adds to the conversation.
const contextNote = "About this moment of the conversation, from the gateway"

// forwarded holds values that AG-UI has no field for.
type forwarded struct {
	Model       string   `json:"model,omitempty"`
	MaxTokens   int      `json:"maxTokens,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
	User        *user    `json:"user,omitempty"`
}

// user is the author of the message, as far as the owner lets the agent know them.
type user struct {
	ID       string `json:"id,omitempty"` // opaque, the same in all rooms
	Name     string `json:"name,omitempty"`
	Platform string `json:"platform,omitempty"`
	Locale   string `json:"locale,omitempty"`
}

// job is one request and its place in the conversation.
type job struct {
	llm.Request
	session   llm.Session
	kept      kept
	paused    *pause // the run that it continues; nil for a new one
	decisions []agui.Resume
	typed     bool // the newest message of the user has decided, and not the results of calls
	runID     string
	old       bool // the agent refuses the version of the protocol
}

// job returns the request r with its session. A request without one is a thread of its own.
func (m *Model) job(r llm.Request) job {
	j := job{Request: r, old: m.old.Load(), session: llm.Session{Thread: rand.Text(), New: true, Run: rand.Text()}}
	if r.Session != nil {
		j.session = *r.Session
		_ = json.Unmarshal(r.Session.State, &j.kept) // unreadable: begin again
	}
	j.runID = j.session.Run
	questions := map[string]bool{} // by the ids of their calls
	for _, t := range r.Messages {
		if t.Opaque.Of(owner) == nil {
			continue
		}
		j.runID += "-next" // each part of an answer is a run of its own
		for _, c := range t.Calls {
			questions[c.ID] = true
		}
	}
	j.paused, j.decisions = decide(r.Messages, j.kept.Pause, j.session.User.Name)
	j.typed = j.paused == j.kept.Pause
	j.kept.Pause = nil
	j.Messages = slices.DeleteFunc(slices.Clone(r.Messages), func(t llm.Message) bool { // the questions are no calls of the conversation
		return t.Role == llm.RoleAssistant && t.Opaque.Of(owner) != nil && t.Text == "" || t.Role == llm.RoleTool && questions[t.Call]
	})
	if m.options.Agent.History == models.HistoryLast {
		j.Messages = j.unseen()
	}
	return j
}

// unseen returns the messages that the agent has not received yet. It has its own last answer.
func (j job) unseen() []llm.Message {
	if j.session.New {
		return j.Messages
	}
	from := 1 + slices.IndexFunc(j.Messages, func(t llm.Message) bool { return j.kept.Seen != "" && j.messageID(t) == j.kept.Seen })
	if from == 0 {
		for i, t := range j.Messages {
			if t.Role == llm.RoleAssistant {
				from = i + 1
			}
		}
	}
	for from < len(j.Messages) && j.Messages[from].Role == llm.RoleAssistant {
		from++
	}
	return j.Messages[from:]
}

// messageID returns an id for the agent: the same in each request, and without the ids of the platform. It is empty for a
// message of this request alone.
func (j job) messageID(t llm.Message) string {
	if t.ID == "" {
		return ""
	}
	h := sha256.Sum256([]byte(j.session.Thread + "/" + t.ID))
	return hex.EncodeToString(h[:12])
}

// seen returns the id of the newest message in the request.
func (j job) seen() string {
	for _, t := range slices.Backward(j.Messages) {
		if id := j.messageID(t); id != "" {
			return id
		}
	}
	return j.kept.Seen
}

// forwarded returns the parameters of the model, and the user as far as the owner allows.
func (m *Model) forwarded(j job) forwarded {
	f := forwarded{Model: m.options.Model, MaxTokens: wire.Limit(m.options.MaxTokens, j.MaxTokens), Temperature: m.options.Temperature}
	u := user{ID: j.session.User.ID, Locale: j.session.User.Locale}
	if slices.Contains(m.options.Agent.Share, models.ShareName) {
		u.Name = j.session.User.Name
	}
	if slices.Contains(m.options.Agent.Share, models.SharePlatform) {
		u.Platform = j.session.User.Platform
	}
	if u != (user{}) {
		f.User = &u
	}
	return f
}

// input returns j as the body of a request of AG-UI.
func (m *Model) input(j job) agui.Input {
	in := agui.Input{
		ThreadID: j.session.Thread, RunID: j.runID, State: j.kept.State, Messages: []agui.Message{}, Tools: []agui.Tool{}, Context: []agui.Note{},
		Forwarded: raw(m.forwarded(j)), Resume: j.decisions,
	}
	if !j.old {
		in.ProtocolVersion = agui.Version
	}
	if len(in.State) == 0 {
		in.State = json.RawMessage("{}")
	}
	if j.paused != nil {
		in.ParentRunID = j.paused.Run
	}
	add := func(id string, w agui.Message) {
		w.ID = cmp.Or(id, fmt.Sprintf("m%d", len(in.Messages)+1))
		in.Messages = append(in.Messages, w)
	}
	if j.System != "" && (m.options.Agent.History != models.HistoryLast || j.session.New || j.kept.Seen == "") {
		add("system", agui.Message{Role: "system", Content: raw(j.System)})
	}
	for _, t := range j.Messages {
		switch id := j.messageID(t); {
		case t.Context:
			in.Context = append(in.Context, agui.Note{Description: contextNote, Value: t.Text})
		case t.Role == llm.RoleTool:
			add(id, agui.Message{Role: "tool", Content: raw(t.Text), CallID: t.Call})
		case t.Role == llm.RoleAssistant:
			add(id, assistant(t))
		default:
			add(id, agui.Message{Role: "user", Content: userContent(t)})
		}
	}
	return in
}

// raw returns v as JSON: strings, numbers, and JSON that was read.
func raw(v any) json.RawMessage {
	data, _ := json.Marshal(v) // never fails for these
	return data
}

// assistant writes an answer of the agent, or of another model, without the agent's questions.
func assistant(t llm.Message) agui.Message {
	w := agui.Message{Role: "assistant"}
	if t.Text != "" {
		w.Content = raw(t.Text)
	}
	if t.Opaque.Of(owner) != nil {
		return w
	}
	for _, c := range t.Calls {
		arguments := string(c.Parameters)
		if !json.Valid(c.Parameters) { // an answer that broke off; the call's result describes the error
			arguments = "{}"
		}
		w.ToolCalls = append(w.ToolCalls, agui.Call{ID: c.ID, Type: "function", Function: agui.Function{Name: c.Name, Arguments: arguments}})
	}
	return w
}

// userContent returns the text of a message, or a list of parts if it has files.
func userContent(t llm.Message) json.RawMessage {
	if len(t.Images)+len(t.Files) == 0 {
		return raw(t.Text)
	}
	var parts []agui.Part
	if t.Text != "" {
		parts = append(parts, agui.Part{Type: "text", Text: t.Text})
	}
	for _, f := range slices.Concat(t.Images, t.Files) {
		part := agui.Part{Type: "document", Source: &agui.Source{Type: "data", Value: base64.StdEncoding.EncodeToString(f.Data), MimeType: f.Type}}
		if f.URL != "" {
			part.Source = &agui.Source{Type: "url", Value: f.URL, MimeType: f.Type}
		}
		if kind, _, _ := strings.Cut(f.Type, "/"); slices.Contains([]string{"image", "audio", "video"}, kind) {
			part.Type = kind
		}
		if f.Name != "" {
			part.Metadata = raw(map[string]string{"filename": f.Name})
		}
		parts = append(parts, part)
	}
	return raw(parts)
}

// chatRequest is the body of a request to a route of the AI SDK, with the fields that routes ignore by default.
type chatRequest struct {
	uistream.Request
	RunID   string   `json:"runId"`
	System  string   `json:"system,omitempty"`
	Context []string `json:"context,omitempty"`
	forwarded
}

// chat returns j as the body of a request to a route of the AI SDK. The system prompt and the context are not among the
// messages, because routes have their own, and refuse others.
func (m *Model) chat(j job) chatRequest {
	w := chatRequest{Request: uistream.Request{ID: j.session.Thread, Trigger: uistream.Submit}, RunID: j.runID, System: j.System, forwarded: m.forwarded(j)}
	for _, t := range j.Messages {
		id := cmp.Or(j.messageID(t), fmt.Sprintf("m%d", len(w.Messages)+1))
		switch {
		case t.Context:
			w.Context = append(w.Context, t.Text)
		case t.Role == llm.RoleAssistant && t.Text != "" && t.Opaque.Of(owner) == nil:
			w.Messages = append(w.Messages, uistream.Message{ID: id, Role: "assistant", Parts: []uistream.Part{{Type: "text", Text: t.Text}}})
		case t.Role == llm.RoleUser:
			parts := []uistream.Part{{Type: "text", Text: t.Text}}
			for _, f := range slices.Concat(t.Images, t.Files) {
				parts = append(parts, uistream.Part{Type: "file", MediaType: f.Type, FileName: f.Name, URL: f.DataURL()})
			}
			w.Messages = append(w.Messages, uistream.Message{ID: id, Role: "user", Parts: parts})
		}
	}
	if j.paused != nil { // the agent's message comes before words that answer it
		at := len(w.Messages)
		if at > 0 && j.typed {
			at--
		}
		w.Messages = slices.Insert(w.Messages, at, j.paused.decided(j.decisions))
	}
	if n := len(w.Messages); m.options.Agent.History == models.HistoryLast && n == 1 {
		w.Message, w.Messages = &w.Messages[0], nil
	}
	return w
}
