package dialect

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"mime"
	"slices"
	"strings"

	"parley/core/answer"
	"parley/core/text"
)

// The roles of a [Message].
const (
	User      = "user"
	Assistant = "assistant"
)

// Message is a message of a conversation in a client's request.
type Message struct {
	ID    string // the client's; can be empty
	Role  string // User or Assistant
	Text  string
	Files []File
}

// File is a file inside a request.
type File struct {
	Name, Type string
	Data       []byte
}

// Empty reports whether m has no content.
func (m Message) Empty() bool { return strings.TrimSpace(m.Text) == "" && len(m.Files) == 0 }

// ErrNoMessage refuses a request without a message for the agent.
var ErrNoMessage = errors.New("the last message must be one of the user, with text or a file")

// Asks reports whether the last message is one of the user, with content.
func Asks(all []Message) bool {
	n := len(all)
	return n > 0 && all[n-1].Role == User && !all[n-1].Empty()
}

// AddText adds a part of the text.
func (m *Message) AddText(more string) {
	if m.Text != "" && more != "" {
		m.Text += "\n"
	}
	m.Text += more
}

// FileName returns the name of a file in one line of at most 255 characters.
func FileName(name string) string { return text.OneLine(name, 255) }

// FileOf returns the file that a data: URL holds. ok is false for any other address.
func FileOf(address, name string) (f File, ok bool) {
	head, data, ok := strings.Cut(strings.TrimPrefix(address, "data:"), ",")
	if !ok || !strings.HasPrefix(address, "data:") {
		return f, false
	}
	head, encoded := strings.CutSuffix(head, ";base64")
	kind, _, err := mime.ParseMediaType(head)
	if f = (File{Name: FileName(name), Type: kind}); err != nil {
		f.Type = "application/octet-stream"
	}
	if !encoded {
		return f, false
	}
	f.Data, err = base64.StdEncoding.DecodeString(data)
	return f, err == nil && len(f.Data) > 0
}

// Texts returns the texts of the user's messages.
func Texts(all []Message) (texts []string) {
	for _, m := range all {
		if m.Role == User {
			texts = append(texts, m.Text)
		}
	}
	return texts
}

// Step is the meaning of a request in a known conversation.
type Step struct {
	// Keep is how many of the stored messages of the user stay. The client has removed the others, which the last message
	// replaces.
	Keep int
	// Again reports whether the last message replaces exactly the newest stored one: an edit, or another answer to it.
	Again bool
}

// Place compares a client's messages of the user with the stored ones, both oldest first, and returns the meaning of the
// last one, which sent must have. whole reports whether the client sends the whole conversation each time: only then a
// missing message is a removed one. A client that knows none of the stored messages removes nothing.
func Place(stored, sent []string, whole bool) Step {
	add := Step{Keep: len(stored)}
	if !whole || len(stored) == 0 {
		return add
	}
	prior, last := sent[:len(sent)-1], sent[len(sent)-1]
	matches := func(keep int) bool { // the messages before the last one are those before keep
		n := min(len(prior), keep)
		return slices.EqualFunc(prior[len(prior)-n:], stored[keep-n:keep], Same)
	}
	at := func(keep int) Step { return Step{Keep: keep, Again: keep == len(stored)-1} }
	if n := len(prior); n <= len(stored) && matches(n) { // nothing was dropped or is unknown here
		return at(n)
	}
	for keep := len(stored); keep > 0; keep-- {
		if len(prior) > 0 && matches(keep) {
			return at(keep)
		}
	}
	if Same(stored[0], last) { // all messages before it are unknown here
		return at(0)
	}
	return add
}

// Same reports whether two texts are one message: stores and clients change spaces and invisible characters.
func Same(a, b string) bool {
	return strings.Join(strings.Fields(text.Visible(a)), " ") == strings.Join(strings.Fields(text.Visible(b)), " ")
}

// Own returns the user's own part of a stored message: without the texts that [Quote] has added.
func Own(stored string) string {
	own, _ := text.SplitForwarded(stored)
	return own
}

// Quote returns the text of a message with texts of others below it: they are read as data, and are no instructions of
// the user. Each is cut to a length.
func Quote(own string, others ...string) string {
	for _, o := range others {
		if o = strings.TrimSpace(o); o != "" {
			own += "\n\n" + text.Passed("Embed", text.CutBytes(o, maxQuoted))
		}
	}
	return strings.TrimSpace(own)
}

// maxQuoted is the length of one text of others, in bytes.
const maxQuoted = 8 << 10

// Transcript returns earlier messages of a conversation that the agent does not know, newest ones if there are many.
func Transcript(all []Message) string {
	var lines []string
	size := 0
	for _, m := range slices.Backward(all) {
		line := m.Role + ": " + text.Excerpt(strings.TrimSpace(m.Text), maxQuoted/4)
		if size += len(line) + 1; size > maxQuoted-100 {
			break
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return ""
	}
	slices.Reverse(lines)
	return "Earlier messages of this conversation, as the client has sent them:\n" + strings.Join(lines, "\n")
}

// Option returns the index of the option that a client's payload names: its text or number, as a string or as the
// member option, choice or value of an object; or yes or no: yes is the first option, and no the last.
func Option(c answer.Choices, payload json.RawMessage) (option int, ok bool) {
	var text string
	var number int
	var yes bool
	switch {
	case json.Unmarshal(payload, &text) == nil:
		return c.Named(text)
	case json.Unmarshal(payload, &number) == nil:
		return number, number >= 0 && number < len(c.Options)
	case json.Unmarshal(payload, &yes) == nil && yes:
		return 0, true
	case json.Unmarshal(payload, &yes) == nil:
		return len(c.Options) - 1, true
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(payload, &object) != nil {
		return 0, false
	}
	for _, name := range []string{"option", "choice", "value", "approved"} {
		if inner, found := object[name]; found && len(inner) > 0 && inner[0] != '{' {
			return Option(c, inner)
		}
	}
	return 0, false
}
