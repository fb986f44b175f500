// Package chat defines the data types that the whole program shares: ids, rooms, messages, users, platform events, runs
// and questions. It contains data and pure functions; storage and transport live in other packages.
package chat

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"parley/core/answer"
	"parley/core/llm"
	"parley/core/text"
)

// The beginnings of the ids of [Task.By].
const (
	SchedulePrefix = "schedule/"
	HookPrefix     = "hook/"
)

// ResponseID is a room's turn number; later turns have greater numbers. A run keeps its number.
type ResponseID uint64

// EveryTurn is after every turn of a room: to stop up to it stops all. It fits the signed numbers of SQL stores.
const EveryTurn ResponseID = math.MaxInt64

// The kinds of rooms.
const (
	Direct     RoomKind = "direct"
	Group      RoomKind = "group"
	VoiceGroup RoomKind = "voice_group"
	Feed       RoomKind = "feed"
	Thread     RoomKind = "thread"
	Forum      RoomKind = "forum"
	API        RoomKind = "api"
)

// The levels of attention.
const (
	Normal  Attention = ""
	Ambient Attention = "ambient"    // it also considers messages not addressed to it, regardless of access.group
	Muted   Attention = "muted"      // it answers nothing until the room is unmuted
	Quiet   Attention = "unfollowed" // it was asked to be quiet, and is until it is addressed, which resets this to Normal
)

// MemoryKind is the type of a memory. Only messages appear in the transcript and as messages in prompts, are indexed, and
// become facts and summaries; other kinds belong to the turn that created them, or to users without access.
type MemoryKind string

// The kinds of memories.
const (
	Said         MemoryKind = ""              // a message
	IgnoredKind  MemoryKind = "ignore"        // the agent's decision not to answer InReplyTo, with its Thought
	ActionResult MemoryKind = "action_result" // the result of an action
	Draft        MemoryKind = "draft"         // the text of a [RunNotify] run
	KindCommand  MemoryKind = "aside"         // a command or its reply
	Overheard    MemoryKind = "overheard"     // a message or a reaction, in a group, of someone who had no access then
)

// Memory is one message of any author, or another item that [MemoryKind] lists.
type Memory struct {
	ID        MemoryID
	Room      RoomID
	Kind      MemoryKind
	Author    EntityID
	Name      string // the author's display name at that time
	Text      string
	InReplyTo MemoryID // the message it answers; can be empty
	Quoted    Quoted   // the content of that message, if the platform shows it above this one
	At        time.Time
	Files     []Attachment // attachments

	// Only in the agent's own messages:
	Thought     string            // the reasoning behind it; never shown to users
	Actions     []string          // the names of the chosen actions, in order; only "REPLY" for a plain answer
	Providers   []string          // the names of the requested providers
	History     []string          // the output of its actions, oldest first (actionCallbackHistory)
	Calls       []answer.PastCall // the visible final state of its calls; not part of prompts
	Interrupted bool              // it was interrupted; the text ends with a short note
	Failure     llm.FailureKind   // it reports a failure; unless Interrupted, it is not part of the conversation
}

// Empty reports whether m has neither text nor files, except those of the message that it replies to.
func (m Memory) Empty() bool {
	return strings.TrimSpace(m.Text) == "" && !slices.ContainsFunc(m.Files, Attachment.sent)
}

// Untranscribed reports whether m consists only of voice messages without a transcript.
func (m Memory) Untranscribed() bool {
	other := func(f Attachment) bool { return f.sent() && (!f.Spoken() || f.Heard()) }
	return !m.Empty() && strings.TrimSpace(m.Text) == "" && !slices.ContainsFunc(m.Files, other)
}

// PromptText returns m as a model reads it: the quoted message, the text, and the attachments.
func (m Memory) PromptText() string {
	if m.Quoted.Text+m.Quoted.What == "" && len(m.Files) == 0 {
		return m.Text // as most messages
	}
	lines := make([]string, 0, 2+len(m.Files))
	if q := m.Quoted.promptText(); q != "" {
		lines = append(lines, q)
	}
	if m.Text != "" {
		lines = append(lines, m.Text)
	}
	for _, f := range m.Files {
		if !f.Heard() { // transcripts are part of the text
			lines = append(lines, f.PromptText())
		}
	}
	return strings.Join(lines, "\n")
}

// WriteMarkdown writes m as a part of a transcript: who wrote it, when, the text, and the names of the files. It fails if w does.
func (m Memory) WriteMarkdown(w io.Writer, name string) error {
	if _, err := fmt.Fprintf(w, "\n**%s**, %s\n\n%s\n", name, m.At.Format("2006-01-02 15:04:05 MST"), m.Text); err != nil {
		return err
	}
	for _, f := range m.Files {
		if _, err := fmt.Fprintf(w, "\n*File: %s*\n", f.Name); err != nil {
			return err
		}
	}
	return nil
}

// InTranscript reports whether m is part of the conversation. Failure reports and messages about access requests are
// not.
func (m Memory) InTranscript() bool {
	return (m.Failure == "" || m.Interrupted) && !slices.Contains(m.Actions, AccessAction)
}

// Words divides the text of m. A part that can't be distinguished from words of others counts as theirs.
func (m Memory) Words() (w Words) {
	if found := reactionLine.FindStringSubmatch(m.Text); found != nil && m.InReplyTo != "" {
		return Words{Reaction: found[1]}
	}
	w.Own, w.Forwarded = text.SplitForwarded(m.Text)
	if strings.HasPrefix(string(m.Author), HookPrefix) {
		w.Values = strings.Join(hookValue.FindAllString(w.Own, -1), "\n")
		w.Own = hookValue.ReplaceAllString(w.Own, "")
	}
	return w
}

// Quoted is the message, or part of one, that another message replies to. The platform shows it with the reply, so the
// model needs it too, however old it is.
// Its files are among those of the reply, see [RepliedFile].
type Quoted struct {
	Name string `json:"name,omitempty"` // its author's display name; empty if unknown
	Text string `json:"text,omitempty"`
	// What describes the content of that message besides its text, in a few words, such as "a photo" or "a voice message 0:12". It is
	// empty for a message that has only text.
	What string `json:"what,omitempty"`
}

// promptText returns q in one line, in brackets; "" if it is empty.
func (q Quoted) promptText() string {
	to, said := inBrackets(q.Name), inBrackets(q.Text)
	switch {
	case q.What != "" && to != "":
		to = inBrackets(q.What) + " from " + to
	case q.What != "":
		to = inBrackets(q.What)
	case said == "":
		return ""
	}
	if to = cmp.Or(to, "a message"); said == "" {
		return "[In reply to " + to + "]"
	}
	return fmt.Sprintf("[In reply to %s: %s]", to, said)
}

// The origins of files. Files with an origin are not the words of the author of the message, even if they are voice messages.
const (
	OwnFile       FileOrigin = ""
	RepliedFile   FileOrigin = "reply"   // of the message that this one replies to
	ForwardedFile FileOrigin = "forward" // of a message that this one forwards
)

// MaxOwn is the maximum length of [Address.ConnectorData], in bytes.
const MaxOwn = 1024

// AccessAction marks messages about access requests. They contain names chosen by unknown users, so they must not reach
// a prompt.
const AccessAction = "ACCESS"

// PersonAction marks messages that the agent passes on in a talk between a user and a person. They begin with the name of their author.
const PersonAction = "PERSON"

// ByPerson returns the name of the author of a message that the agent has passed on, and the text without it. The name is empty for other messages.
func (m Memory) ByPerson() (name, said string) {
	if found := passedOn.FindStringSubmatch(m.Text); found != nil && slices.Contains(m.Actions, PersonAction) {
		return found[2], found[1] + found[3]
	}
	return "", m.Text
}

// Words are the parts of a message's text by who chose the words.
type Words struct {
	Own       string // the author
	Forwarded string // others, whose message the author passes on
	Reaction  string // the author of the message that a reaction quotes
	Values    string // the sender of a request to a hook
}

var (
	// passedOn matches the texts of messages with PersonAction; the first mark is that of a correction.
	passedOn = regexp.MustCompile(`(?s)^(✏️ )?\*\*([^*]+)\*\*:\s?(.*)$`)
	// reactionLine matches the result of [Reaction.Line].
	reactionLine = regexp.MustCompile(`(?s)^\*(?:Added|Removed) .* to(?: your answer)?: "(.*)"\*$`)
	// hookValue matches a value in the text of a hook: in quotation marks, which have none inside.
	hookValue = regexp.MustCompile(`"[^"]*"`)
)
