// Package openai has the wire format of OpenAI's API, as far as chat clients use it: chat completions, responses and
// models, with streams and without.
package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"parley/connectors/web/dialect"
)

// Request is the body of POST /v1/chat/completions and POST /v1/responses.
type Request struct {
	Stream       bool
	IncludeUsage bool   // the stream ends with the usage
	System       string // all instructions
	Messages     []dialect.Message
	Conversation string // the client's id of the conversation, or ""
	Previous     string // the id of the response that this one follows, or ""
	User         string
}

// body has the members of both requests.
type body struct {
	Messages      []message       `json:"messages"`
	Input         json.RawMessage `json:"input"` // a string, or messages
	Instructions  string          `json:"instructions"`
	Stream        bool            `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Tools        []json.RawMessage `json:"tools"`
	Functions    []json.RawMessage `json:"functions"`
	N            int               `json:"n"`
	User         string            `json:"user"`
	Conversation json.RawMessage   `json:"conversation"` // an id, or an object with one
	Previous     string            `json:"previous_response_id"`
	Metadata     map[string]any    `json:"metadata"`
}

// message is a message of a client. Items of other types, such as a function's output, have no role.
type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"` // a string, or parts
}

// part is a part of a message.
type part struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Refusal  string          `json:"refusal"`
	ImageURL json.RawMessage `json:"image_url"` // an object with url, or a string in responses
	File     struct {
		Data string `json:"file_data"`
		Name string `json:"filename"`
	} `json:"file"`
	Data  string `json:"file_data"` // in responses, like Name
	Name  string `json:"filename"`
	Audio struct {
		Data   string `json:"data"`
		Format string `json:"format"`
	} `json:"input_audio"`
}

// The sentences of refused requests.
var (
	errTools   = errors.New("this agent has its own tools, so it takes none from clients. Remove tools from the request")
	errChoices = errors.New("this agent gives one answer: n must be 1")
	errForm    = errors.New("the body must be a JSON object in the form of OpenAI's API")
	errRemote  = errors.New("send images and files inside the request, as data: URLs")
)

// Parse reads a request. Its error is a sentence.
func Parse(data []byte) (Request, error) {
	var in body
	if err := json.Unmarshal(data, &in); err != nil {
		return Request{}, errForm
	}
	r := Request{Stream: in.Stream, IncludeUsage: in.StreamOptions.IncludeUsage, System: in.Instructions,
		Conversation: in.conversation(), Previous: in.Previous, User: in.User}
	switch {
	case len(in.Tools)+len(in.Functions) > 0:
		return r, errTools
	case in.N > 1:
		return r, errChoices
	case len(in.Input) > 0:
		if err := in.readInput(); err != nil {
			return r, err
		}
	}
	for i, m := range in.Messages {
		if err := r.add(m, i == len(in.Messages)-1); err != nil {
			return r, err
		}
	}
	if !dialect.Asks(r.Messages) {
		return r, dialect.ErrNoMessage
	}
	return r, nil
}

// readInput reads the input of a response as messages.
func (in *body) readInput() error {
	if bytes.HasPrefix(in.Input, []byte(`"`)) {
		in.Messages = []message{{dialect.User, in.Input}}
		return nil
	}
	if json.Unmarshal(in.Input, &in.Messages) != nil {
		return errForm
	}
	return nil
}

// conversation returns the client's id of the conversation.
func (in *body) conversation() (id string) {
	var object struct{ ID string }
	if json.Unmarshal(in.Conversation, &id) != nil && json.Unmarshal(in.Conversation, &object) == nil {
		id = object.ID
	}
	for _, key := range []string{"conversation_id", "chat_id", "session_id", "thread_id"} {
		given, _ := in.Metadata[key].(string)
		id = cmp.Or(id, given)
	}
	return id
}

// add adds a message. Only the last one needs its files: the earlier ones were sent before.
func (r *Request) add(in message, last bool) error {
	m := dialect.Message{Role: in.Role}
	if json.Unmarshal(in.Content, &m.Text) != nil {
		var parts []part
		if len(in.Content) > 0 && json.Unmarshal(in.Content, &parts) != nil {
			return errForm
		}
		for _, p := range parts {
			if err := p.addTo(&m, last); err != nil {
				return err
			}
		}
	}
	switch in.Role {
	case "system", "developer":
		r.System = strings.TrimSpace(r.System + "\n\n" + m.Text)
	case dialect.User, dialect.Assistant:
		r.Messages = append(r.Messages, m)
	}
	return nil
}

// addTo adds a part to a message, with its file if files is set.
func (p part) addTo(m *dialect.Message, files bool) error {
	m.AddText(p.Text + p.Refusal)
	address, name := p.image(), cmp.Or(p.File.Name, p.Name)
	if data := cmp.Or(p.File.Data, p.Data); data != "" {
		address = data
	}
	if p.Audio.Data != "" {
		address, name = "data:audio/"+p.Audio.Format+";base64,"+p.Audio.Data, "audio."+p.Audio.Format
	}
	if address == "" || !files {
		return nil
	}
	f, ok := dialect.FileOf(address, name)
	if !ok {
		return errRemote
	}
	m.Files = append(m.Files, f)
	return nil
}

// image returns the address of an image.
func (p part) image() (address string) {
	var object struct{ URL string }
	if json.Unmarshal(p.ImageURL, &address) != nil && json.Unmarshal(p.ImageURL, &object) == nil {
		address = object.URL
	}
	return address
}

// IsTask reports whether a request is a task in the background of Open WebUI or LibreChat, such as a title, tags or
// follow-up questions. Open WebUI can name the task in a header; otherwise the text tells.
func IsTask(h http.Header, r Request) bool {
	if h.Get("X-Parley-Task") != "" {
		return true
	}
	text := strings.TrimSpace(r.Messages[len(r.Messages)-1].Text)
	for _, begin := range []string{"### Task:", "Provide a concise, 5-word-or-less title", "Please generate a concise, 5-word-or-less title"} {
		if strings.HasPrefix(text, begin) {
			return true
		}
	}
	return strings.Contains(text, "5-word-or-less title for the conversation")
}
