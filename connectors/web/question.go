package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"parley/core/chat"
	"parley/core/text"
)

const (
	maxText = 32_000 // characters of a message
	maxKey  = 128    // bytes of a clientMessageId
)

// question is a message in a request.
type question struct {
	Text            string   `json:"text,omitempty"`
	Images          []image  `json:"images,omitempty"` // as [picture] each
	Files           []string `json:"files,omitempty"`  // uploads, by their keys
	ClientMessageID string   `json:"clientMessageId,omitempty"`
	StreamProtocol  string   `json:"streamProtocol,omitempty"`
	Reasoning       bool     `json:"reasoning,omitempty"`
	Source          string   `json:"source,omitempty"`
	Name            string   `json:"name,omitempty"`  // the site's name for the visitor: a claim, which gives no rights
	After           *string  `json:"after,omitempty"` // the text that the client has; see [cursor]
	brief           bool     // a task of a client in the background, whose conversation no list has
}

// id returns the id of the message: the same for the same clientMessageId in the same conversation, so that a repeated
// request is recognized.
func (q question) id(room chat.RoomID) chat.MemoryID {
	return chat.MemoryID(string(room) + "/" + q.ClientMessageID)
}

// readQuestion decodes the body of r and checks its fields. The body counts against the shared memory until it returns;
// the decoded message is at most as large.
func (w *Web) readQuestion(rw http.ResponseWriter, r *http.Request) (q question, no *refusal) {
	if no := checkJSON(r, maxBody); no != nil {
		return q, no
	}
	defer w.receive(rw, r)()
	if err := readBody(rw, r, maxBody, q.field); err != nil {
		return q, refuse(err, "The request must be the JSON object {\"text\": …, \"clientMessageId\": …}.")
	}
	q.Text = q.words()
	switch {
	case strings.TrimSpace(q.Text) == "":
		return q, refused(http.StatusBadRequest, "text is required.")
	case utf8.RuneCountInString(q.Text) > maxText:
		return q, refused(http.StatusRequestEntityTooLarge, "refused.message_too_long")
	case !isKey(q.ClientMessageID):
		return q, refused(http.StatusBadRequest, "clientMessageId must be 1 to 128 bytes, without spaces, control characters or \"/\", and not \".\" or \"..\".")
	case q.ClientMessageID == "":
		q.ClientMessageID = newID() // a client that never retries
	}
	return q, nil
}

// words returns the text, or a stand-in for it if the message consists only of files.
func (q *question) words() string {
	switch {
	case strings.TrimSpace(q.Text) != "":
		return q.Text
	case len(q.Files) > 0:
		return wordlessFiles
	case len(q.Images) > 0:
		return wordless
	}
	return ""
}

// isKey reports whether a client can use key as an id; none is one too. Slashes separate the parts of ids, "." and ".."
// would lead elsewhere in an address, and the other characters would be dangerous in logs.
func isKey(key string) bool {
	return len(key) <= maxKey && key != "." && key != ".." && !strings.ContainsFunc(key, unfit)
}

func unfit(c rune) bool { return c <= ' ' || c == '/' || c == 0x7f || c == utf8.RuneError }

// field reads one member of the body into q.
func (q *question) field(dec *json.Decoder, key string) error {
	switch key {
	case "text":
		return dec.Decode(&q.Text)
	case "clientMessageId":
		return dec.Decode(&q.ClientMessageID)
	case "streamProtocol":
		return dec.Decode(&q.StreamProtocol)
	case "reasoning":
		return dec.Decode(&q.Reasoning)
	case "source":
		return dec.Decode(&q.Source)
	case "after":
		return dec.Decode(&q.After)
	case "name":
		return q.setName(dec)
	case "files":
		return readArray(dec, q.addFile)
	case "images":
		return readArray(dec, q.addImage)
	}
	return skipValue(dec)
}

// setName reads the visitor's display name: one line, cut to the length of a name in a prompt.
func (q *question) setName(dec *json.Decoder) error {
	err := dec.Decode(&q.Name)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		return refused(http.StatusBadRequest, "name must be a string.")
	}
	q.Name = text.Brief(text.OneLine(q.Name, text.MaxLabel), text.MaxLabel)
	return err
}

// refuse converts an error of readBody to the response. form is the sentence for a malformed body.
func refuse(err error, form string) *refusal {
	var no *refusal
	var tooBig *http.MaxBytesError
	switch {
	case errors.As(err, &no):
		return no
	case errors.As(err, &tooBig), errors.Is(err, errToken):
		return refused(http.StatusRequestEntityTooLarge, "refused.message_too_long")
	case errors.Is(err, errSlow):
		return refused(http.StatusRequestTimeout, "refused.message_slow")
	case errors.Is(err, errUploads):
		return refused(http.StatusServiceUnavailable, "refused.many_uploads")
	case errors.Is(err, errComplex):
		return refused(http.StatusBadRequest, "The request has too many values, or is nested too deeply.")
	}
	return refused(http.StatusBadRequest, form)
}
