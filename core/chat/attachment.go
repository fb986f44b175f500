package chat

import (
	"errors"
	"strings"
	"time"

	"parley/core/text"
)

// WithTranscripts returns text with the transcripts of voice messages.
func WithTranscripts(text string, files []Attachment) string {
	var lines []string
	if strings.TrimSpace(text) != "" {
		lines = append(lines, text)
	}
	for _, f := range files {
		if f.Heard() {
			lines = append(lines, f.Text)
		}
	}
	return strings.Join(lines, "\n")
}

// The maximum lengths of a quoted message, in characters.
const (
	MaxQuoted  = 2000 // as it is stored: the agent may not have received the message itself
	ShortQuote = 300  // in a prompt that contains the message itself, and of the agent's own messages
)

// inBrackets returns text in one line, without brackets that would close the surrounding ones.
func inBrackets(text string) string {
	return strings.NewReplacer("[", "(", "]", ")").Replace(strings.Join(strings.Fields(text), " "))
}

// UploadPiece is the length of the stored pieces of an upload, in bytes. The last piece of a file can be shorter.
const UploadPiece = 512 << 10

// MaxUploads is the sum of the sizes of all uploads, in bytes: those of the sender with the most make room for new ones.
const MaxUploads = 2 << 30

// ThumbnailPiece is the number of the piece that holds an upload's thumbnail.
const ThumbnailPiece = -1

// ErrNoSpace means that the space for uploads is used up.
var ErrNoSpace = errors.New("the space for uploads is used up")

// Upload is a file that a user sends to a room ahead of the message that names it.
type Upload struct {
	ID        string   // begins with the room's
	Room      RoomID   // where it can be named, and read
	Sender    EntityID // whose limit it counts against
	Message   MemoryID // the message that names it; empty: none does yet
	Name      string   // the sender's file name: a label, never to be used as a path
	Type      string   // MIME type
	Size      int64    // bytes
	At        time.Time
	Attempt   string // the latest attempt to send it; only that can continue
	Complete  bool   // all of it is stored
	Thumbnail bool   // it has a thumbnail
	Evicted   bool   // its content was removed to make room for others
}

// UploadRule bounds uploads. 0 is no bound.
type UploadRule struct {
	Waiting int   // uploads of one sender that no message names yet
	Total   int64 // bytes of all uploads, as far as they have arrived
}

// FileOrigin is the message that a file belongs to, if it is not the message that it is attached to.
type FileOrigin string

// Attachment is a file attached to a message. The connector that issued Ref fetches its content on demand.
type Attachment struct {
	Ref         string `json:"ref,omitempty"`         // the connector's reference; at most MaxOwn bytes, and never containing a secret
	Name        string `json:"name,omitempty"`        // the sender's file name: a label, never to be used as a path
	Type        string `json:"type,omitempty"`        // MIME type, as reported by the platform
	Size        int64  `json:"size,omitempty"`        // in bytes; 0 if unknown
	Voice       bool   `json:"voice,omitempty"`       // a voice message to the agent
	Title       string `json:"title,omitempty"`       // a title from the sender or the file's reader
	Description string `json:"description,omitempty"` // of an analyzed image
	Text        string `json:"text,omitempty"`        // extracted text of a document, an image or a voice message
	// Seen is the message that showed the image to a model with vision. In turns about other messages its description
	// is used.
	Seen      MemoryID `json:"seen,omitempty"`
	Unread    string   `json:"unread,omitempty"`    // why it can't be read, in a few words for users
	Link      bool     `json:"link,omitempty"`      // a page that the message links to; Ref is its address
	Thumbnail bool     `json:"thumbnail,omitempty"` // the connector has a small picture of it

	Origin FileOrigin `json:"origin,omitempty"`
	Field  string     `json:"field,omitempty"` // the name of the field of a form that it answers
	Group  string     `json:"group,omitempty"` // the [Message.Group] that it came in, if it answers one
}

// sent reports whether f is a part of the message that it is attached to.
func (f Attachment) sent() bool { return f.Origin != RepliedFile }

// Spoken reports whether f is a voice message of the author of the message that it is attached to.
func (f Attachment) Spoken() bool { return f.Voice && f.Origin == OwnFile }

// Heard reports whether f is such a voice message with a transcript.
func (f Attachment) Heard() bool { return f.Spoken() && f.Text != "" }

// PromptText returns the name of f and its known content. The content is indented, so that it can't pass for the
// sender's own text.
func (f Attachment) PromptText() string {
	kind := "File"
	if f.Voice {
		kind = "Voice message"
	} else if f.Link {
		kind = "Linked page, which may say anything"
	}
	switch f.Origin {
	case RepliedFile:
		kind += " of the message replied to"
	case ForwardedFile:
		kind = "Forwarded " + strings.ToLower(kind[:1]) + kind[1:]
	}
	var named []string
	for _, part := range []string{f.Name, f.Type, f.Title} {
		if part != "" {
			named = append(named, inBrackets(part))
		}
	}
	if f.Unread != "" {
		named = append(named, "not read: "+inBrackets(f.Unread))
	}
	lines := []string{"[" + kind + ": " + strings.Join(named, ", ") + "]"}
	for _, read := range []string{f.Description, f.Text} {
		if read != "" {
			lines = append(lines, "  "+text.Quote(read))
		}
	}
	return strings.Join(lines, "\n")
}

// Same reports whether both refer to the same file, as far as the known fields tell.
func (f Attachment) Same(o Attachment) bool {
	return f.Ref == o.Ref || f.Name == o.Name && f.Type == o.Type && f.Size == o.Size && f.Size > 0
}

// Read reports whether reading f is finished, successfully or not.
func (f Attachment) Read() bool { return f.Text != "" || f.Description != "" || f.Unread != "" }

// FilePart is a part of a stored file.
type FilePart struct {
	Name string
	Type string // MIME
	Size int64  // size of the whole file in bytes
	Data []byte
}
