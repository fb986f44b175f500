package action

import (
	"context"
	"errors"
	"slices"
	"strings"

	"parley/core/chat"
	"parley/core/text"
)

// TurnContext describes the current turn to providers, evaluators and actions.
type TurnContext struct {
	Agent   chat.Agent
	Run     chat.RunID
	Room    chat.Room
	Message chat.Memory   // the newest message to answer
	Recent  []chat.Memory // the room's messages up to this turn, oldest first; others read them too, so they must not be changed
	Private bool
	// Attached are the room's latest messages with files, oldest first, with the full text extracted from the files:
	// Recent can contain shortened texts, or no longer contain the message.
	Attached []chat.Memory
	// Owner reports whether all messages to answer are from owners of the agent, Staff, whether all are from owners or staff, and Allowed,
	// whether all are from known users, by account or role, rather than guests. Both follow from platform accounts, never from the text of a
	// message, which its author can forge.
	Owner, Staff, Allowed bool
	// Settings are the settings of the room, except those that the runtime itself follows. Nil: not read yet.
	Settings []chat.RoomNote
	Summary  string // a summary of the conversation before Recent; empty if there is none
	// Waiting tells the model which calls of the room wait for an approval; empty if none does.
	Waiting string
	Actions []Spec // the actions available in this turn

	Answered []chat.MemoryID // the messages to answer
	AskModel func(ctx context.Context, s TurnContext, template string, more map[string]string) (string, error)
}

// Transcript returns the conversation line by line, each message with its author's name and its further lines indented,
// so that no text can pass for a message of another author.
func (s TurnContext) Transcript() string {
	var b strings.Builder
	if s.Summary != "" {
		b.WriteString("(Summary of the conversation so far: " + text.Quote(s.Summary) + ")\n")
	}
	for _, m := range s.Recent {
		b.WriteString(s.Line(m) + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Line returns a message in the form of prompts: its author, and the text, quoted.
func (s TurnContext) Line(m chat.Memory) string {
	return s.Speaker(m) + ": " + text.Quote(m.PromptText())
}

// Speaker returns the name of m's author in prompts. A user named like the agent or like a prompt role gets a different
// name, so that they can't impersonate it.
func (s TurnContext) Speaker(m chat.Memory) string {
	name := text.Label(m.Name)
	switch own := append([]string{s.Agent.Name, s.Agent.Character.Username, "system", "developer", "assistant", "tool"}, s.Agent.Names...); {
	case name == "":
		return "someone"
	case m.Author != s.Agent.Entity() && slices.ContainsFunc(own, func(o string) bool { return strings.EqualFold(text.Plain(o), text.Plain(name)) }):
		return name + " (a person)"
	}
	return name
}

// Several reports whether the turn answers messages of several authors.
func (s TurnContext) Several() bool {
	return slices.ContainsFunc(s.Recent, func(m chat.Memory) bool { return slices.Contains(s.Answered, m.ID) && m.Author != s.Message.Author })
}

// Replace replaces a message in a copy of s.Recent, because others share the list.
func (s *TurnContext) Replace(i int, m chat.Memory) {
	s.Recent = slices.Clone(s.Recent)
	s.Recent[i] = m
}

// Ask renders a template with the variables of the turn and those in more, and returns the small model's answer. It is
// meant for evaluators, actions and providers; their time limits apply. It fails with the error of the template or the
// model.
func (s TurnContext) Ask(ctx context.Context, template string, more map[string]string) (string, error) {
	if s.AskModel == nil {
		return "", errors.New("no user can be asked in this context")
	}
	return s.AskModel(ctx, s, template, more)
}

// Parts returns the texts that the model of the turn has read, by origin. No other function decides this: it serves the
// checks of calls that may repeat those texts, and of calls that send data out of the machine. The operator's prompt,
// providers that are Own, and the definitions of actions are left out; the latter include the tools of MCP servers,
// which the operator chose.
func (s TurnContext) Parts(r Read) (parts []Part) {
	add := func(o Origin, texts ...string) {
		if joined := strings.Join(texts, "\n"); strings.TrimSpace(joined) != "" {
			parts = append(parts, Part{o, joined})
		}
	}
	add(FromSummary, s.Summary)
	add(s.titled(), s.Room.Name)
	for _, messages := range [][]chat.Memory{s.Recent, s.Attached, {s.Message}} {
		for _, m := range messages {
			parts = append(parts, s.partsOf(m, s.Recent)...)
		}
	}
	for _, f := range r.Fragments {
		if f.Spec.Own {
			continue
		}
		if !strings.HasPrefix(s.Transcript(), f.Transcript) { // otherwise it consists of the messages above, or of the first of them
			add(FromContext, f.Transcript)
		}
		origin := FromContext
		if f.Own {
			origin = FromAgent // at least some of it can be
		}
		add(origin, f.Text)
		for _, v := range f.Values {
			add(origin, v)
		}
	}
	for _, c := range r.Calls {
		if !c.NotMade { // otherwise it is the reason, a text of the program
			parts = append(parts, Part{FromResult, c.ForModel()})
		}
	}
	for _, result := range r.Remote {
		parts = append(parts, Part{FromRemote, result})
	}
	return parts
}

// Own reports whether messages consist only of words of the asker and answers to them: [ProviderResult.Own] of a
// provider that quotes messages.
func (s TurnContext) Own(messages []chat.Memory) bool {
	return !slices.ContainsFunc(messages, func(m chat.Memory) bool {
		return slices.ContainsFunc(s.partsOf(m, messages), func(p Part) bool { return p.Origin.Foreign() })
	})
}

// OwnPlace reports whether only the asker can have chosen the name of the room.
func (s TurnContext) OwnPlace() bool {
	return s.Private && s.Room.World == "" && (s.Room.Name == "" || s.Room.Name == s.Message.Name)
}

// titled returns the origin of the room's name.
func (s TurnContext) titled() Origin {
	if s.OwnPlace() {
		return FromAsker
	}
	return FromTitle
}

// partsOf returns the parts of a message, which is one of those in near.
func (s TurnContext) partsOf(m chat.Memory, near []chat.Memory) (parts []Part) {
	asker, own := s.Message.Author, false
	switch {
	case m.Kind == chat.ActionResult:
		parts = []Part{{FromResult, m.Text}}
	case m.Author == s.Agent.Entity():
		parts = []Part{{said(m, near), m.Text}}
	case strings.HasPrefix(string(m.Author), chat.SchedulePrefix):
		own, parts = true, []Part{{FromOperator, m.Text}}
	case m.Author != asker || s.retried(m):
		parts = []Part{{FromPerson, m.Name + "\n" + m.Text}}
	default:
		own, parts = true, s.wordsOf(m, near)
	}
	if q := m.Quoted; q != (chat.Quoted{}) {
		parts = append(parts, Part{FromQuote, strings.Join([]string{q.Name, q.What, q.Text}, "\n")})
	}
	for _, f := range m.Files {
		if own && f.Heard() { // its transcript is a part of the text
			parts = append(parts, Part{FromAsker, f.Text})
			continue
		}
		parts = append(parts, Part{FromFile, strings.Join([]string{f.Name, f.Type, f.Title, f.Description, f.Text}, "\n")})
	}
	return parts
}

// retried reports whether m has the words of another author, whose question the asker repeats: the conversation then
// contains it with other words.
func (s TurnContext) retried(m chat.Memory) bool {
	i := slices.IndexFunc(s.Recent, func(o chat.Memory) bool { return o.ID == m.ID })
	return i >= 0 && s.Recent[i].Text != m.Text
}

// wordsOf returns the parts of the text of a message of the asker.
func (s TurnContext) wordsOf(m chat.Memory, near []chat.Memory) (parts []Part) {
	w, author := m.Words(), FromAsker
	if m.Author.Automatic() {
		author = FromOperator
	}
	quoted := FromReaction
	if i := slices.IndexFunc(near, func(q chat.Memory) bool { return q.ID != "" && q.ID == m.InReplyTo }); i >= 0 {
		switch near[i].Author {
		case m.Author:
			quoted = author
		case s.Agent.Entity():
			quoted = said(near[i], near)
		}
	}
	for _, p := range []Part{{author, w.Own}, {FromForward, w.Forwarded}, {quoted, w.Reaction}, {FromHook, w.Values}} {
		if strings.TrimSpace(p.Text) != "" {
			parts = append(parts, p)
		}
	}
	return parts
}
