package connectors

import (
	"fmt"
	"strings"
	"time"

	"parley/core/chat"
	"parley/core/text"
)

// Unreadable stands for a message in a direct chat of a kind that bots can't read, so that its author gets an answer.
const Unreadable = "*A message of a kind that can't be read here*"

// Described returns what a message with files is, for [chat.Quoted.What], such as "a voice message 0:12"; "" without files. length is that
// of a recording, and 0 if it is unknown.
func Described(files []chat.Attachment, length time.Duration) string {
	if len(files) == 0 {
		return ""
	}
	what := "a file"
	switch f := files[0]; {
	case len(files) > 1:
		return fmt.Sprintf("a message with %d files", len(files))
	case f.Voice:
		what = "a voice message"
	case f.Type == "image/gif":
		what = "an animation"
	case strings.HasPrefix(f.Type, "image/"):
		what = "a photo"
	case strings.HasPrefix(f.Type, "audio/"):
		what = "an audio file"
	case strings.HasPrefix(f.Type, "video/"):
		what = "a video"
	}
	if length > 0 {
		what += fmt.Sprintf(" %d:%02d", length/time.Minute, length%time.Minute/time.Second)
	}
	return what
}

// Poll returns a poll as text.
func Poll(question string, options []string) string {
	return text.Passed("Poll", question+"\nOptions: "+strings.Join(options, "; "))
}

// From returns files as those of another message than the one that they are attached to.
func From(origin chat.FileOrigin, files []chat.Attachment) []chat.Attachment {
	for i := range files {
		files[i].Origin = origin
	}
	return files
}
