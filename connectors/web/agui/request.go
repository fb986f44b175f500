package agui

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	"parley/connectors/web/dialect"
	wire "parley/internal/agui"
)

// Request is a run that a client asks for.
type Request struct {
	wire.Input
	Messages []dialect.Message // of the user and the assistant
	System   string            // instructions, and the context of the client
}

// part is a part of a message. Data, URL, MimeType and FileName are those of a binary part of 0.0.x.
type part struct {
	wire.Part
	MimeType string `json:"mimeType"`
	Data     string `json:"data"`
	FileName string `json:"filename"`
}

// Parse reads the body of a run. Its error is a sentence.
func Parse(data []byte) (Request, error) {
	var r Request
	if err := json.Unmarshal(data, &r.Input); err != nil || r.ThreadID == "" || r.RunID == "" {
		return r, errors.New(`the body must be a JSON object with "threadId", "runId" and "messages"`)
	}
	for i, m := range r.Input.Messages {
		one, err := message(m, i == len(r.Input.Messages)-1)
		switch {
		case err != nil:
			return r, err
		case m.Role == "system", m.Role == "developer":
			r.System = strings.TrimSpace(r.System + "\n\n" + one.Text)
		case m.Role == dialect.User, m.Role == dialect.Assistant:
			r.Messages = append(r.Messages, one)
		}
	}
	for _, c := range r.Context {
		r.System = strings.TrimSpace(r.System + "\n\n" + c.Description + ": " + c.Value)
	}
	return r, nil
}

// StateObject reports whether the client's state is an object.
func (r Request) StateObject() bool { return bytes.HasPrefix(bytes.TrimSpace(r.State), []byte("{")) }

// message converts a message, with its files if files is set.
func message(in wire.Message, files bool) (m dialect.Message, err error) {
	m = dialect.Message{ID: in.ID, Role: in.Role}
	if json.Unmarshal(in.Content, &m.Text) == nil {
		return m, nil
	}
	var parts []part
	_ = json.Unmarshal(in.Content, &parts) // other content, such as that of an activity, is not for the agent
	for _, p := range parts {
		m.AddText(p.Text)
		address := ""
		switch {
		case p.Source != nil && p.Source.Type == "data":
			address = "data:" + p.Source.MimeType + ";base64," + p.Source.Value
		case p.Source != nil:
			address = p.Source.Value
		case p.Data != "":
			address = "data:" + p.MimeType + ";base64," + p.Data
		}
		if address == "" || !files || in.Role != dialect.User {
			continue
		}
		var meta struct {
			Name string `json:"filename"`
		}
		_ = json.Unmarshal(p.Metadata, &meta) // a file needs no name
		f, ok := dialect.FileOf(address, cmp.Or(meta.Name, p.FileName))
		if !ok {
			return m, errors.New("send files inside the message")
		}
		m.Files = append(m.Files, f)
	}
	return m, nil
}
