// Package deepchat has the wire format of the web component deep-chat.
package deepchat

import (
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"strings"

	"parley/connectors/web/dialect"
	"parley/core/text"
)

// Encoder implements [dialect.Encoder]. Text and progress share one bubble, which is overwritten unless text is only added.
type Encoder struct {
	sent string // the bubble
	skip string // the text of an earlier message
}

// Response is an event of a stream, a whole response, and a message of the history.
type Response struct {
	Text      string `json:"text"`
	Role      string `json:"role,omitempty"`
	Overwrite bool   `json:"overwrite,omitempty"` // of the bubble; otherwise the text is added to it
	Files     []File `json:"files,omitempty"`     // of a message
}

// File names a file of a message. Its content needs the sender's token, which the component does not send for files.
type File struct {
	Name string `json:"name"`
}

// Error is an event of a stream, and the body of an error response.
type Error struct {
	Error string `json:"error"`
}

// Key is the same for encoders whose events are the same: all that begin an answer.
func (*Encoder) Key() string { return "deepchat" }

// Begin implements [dialect.Encoder]. The component shows that it waits by itself.
func (*Encoder) Begin(b []byte) []byte { return b }

// Skip implements [dialect.Encoder].
func (e *Encoder) Skip(s dialect.State) { e.skip = s.Text }

// Encode implements [dialect.Encoder].
func (e *Encoder) Encode(b []byte, s dialect.State) []byte {
	if sentence, failed := s.Failed(); failed {
		return e.Fail(b, sentence, "")
	}
	was, now := e.sent, e.bubble(s)
	e.sent = now
	switch {
	case now == was:
		return b
	case was != "" && strings.HasPrefix(now, was):
		return dialect.Event(b, Response{Text: now[len(was):]})
	}
	return dialect.Event(b, Response{Text: now, Overwrite: was != ""})
}

// bubble returns the text of the bubble.
func (e *Encoder) bubble(s dialect.State) string {
	added, _ := dialect.Added(e.skip, s.Text)
	parts := []string{strings.TrimLeft(added, "\n")}
	if line := s.Line(); line != "" {
		parts = append(parts, "_"+text.Unmarked(line)+"_")
	}
	if s.Choices != nil {
		parts = append(parts, s.Choices.Numbered())
	}
	return strings.TrimLeft(strings.Join(parts, "\n\n"), "\n")
}

// Whole returns the response of a request without a stream. s is the only state.
func (e *Encoder) Whole(s dialect.State) Response {
	return Response{Text: strings.TrimRight(e.bubble(s), "\n"), Role: "ai"}
}

// Fail implements [dialect.Encoder].
func (*Encoder) Fail(b []byte, sentence, _ string) []byte { return dialect.Event(b, Error{sentence}) }

// Request is a message of the component.
type Request struct {
	Messages     []dialect.Message // usually only the newest
	Conversation string            // of additionalBodyProps; can be empty
}

// errForm is the sentence about a body that has another form.
var errForm = errors.New(`the body must be a JSON object with "messages", or a whole form`)

// message is a message in a request.
type message struct {
	Role string `json:"role"`
	Text string `json:"text"`
}

// ParseJSON reads a request without files.
func ParseJSON(data []byte) (r Request, err error) {
	var in struct {
		Messages     []message `json:"messages"`
		Conversation string    `json:"conversation"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return r, errForm
	}
	r.Conversation = in.Conversation
	for _, m := range in.Messages {
		r.add(m)
	}
	return r, r.check()
}

// ParseForm reads a request with files.
func ParseForm(form *multipart.Reader) (r Request, err error) {
	var files []dialect.File
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return r, errors.Join(errForm, err)
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return r, errors.Join(errForm, err)
		}
		name := part.FormName()
		switch {
		case name == "files":
			files = append(files, dialect.File{Name: dialect.FileName(part.FileName()), Type: part.Header.Get("Content-Type"), Data: data})
		case name == "conversation":
			r.Conversation = string(data)
		case strings.HasPrefix(name, "message"):
			var m message
			if json.Unmarshal(data, &m) != nil {
				return r, errForm
			}
			r.add(m)
		}
	}
	if n := len(r.Messages); n == 0 || r.Messages[n-1].Role != dialect.User {
		r.add(message{Role: dialect.User}) // a message of files alone
	}
	r.Messages[len(r.Messages)-1].Files = files
	return r, r.check()
}

func (r *Request) add(m message) {
	role := m.Role
	if role == "ai" {
		role = dialect.Assistant
	}
	r.Messages = append(r.Messages, dialect.Message{Role: role, Text: m.Text})
}

func (r *Request) check() error {
	if !dialect.Asks(r.Messages) {
		return dialect.ErrNoMessage
	}
	return nil
}
