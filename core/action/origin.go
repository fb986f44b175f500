package action

import (
	"slices"
	"strings"

	"parley/core/chat"
)

// Origin says who chose the words of a part of what a model reads. Rights follow from it: see [Origin.Foreign] and [Origin.Quotable].
type Origin string

// The origins. A new way in which text reaches a prompt needs one of them, or another one, in [TurnContext.Parts].
const (
	FromOperator Origin = "operator" // the configuration: tasks of schedules and hooks
	FromAsker    Origin = "asker"    // the user who is answered
	FromAgent    Origin = "agent"    // an answer of the agent to a message in sight, without actions
	FromRetold   Origin = "retold"   // any other message of the agent, which can repeat results, reminders, or messages out of sight
	FromPerson   Origin = "person"   // a message of anyone else, and their name
	FromForward  Origin = "forward"  // a message that the asker passes on
	FromReaction Origin = "reaction" // a message that a reaction quotes
	FromQuote    Origin = "quote"    // a message that another one replies to
	FromFile     Origin = "file"     // a file or a linked page, with its name; a voice message that is not the asker's, or that the asker forwards or replies to
	FromTitle    Origin = "title"    // the name of a room, which its members choose
	FromSummary  Origin = "summary"  // the summary of a conversation
	FromContext  Origin = "context"  // a provider: knowledge, facts, recalled messages, evaluations, texts of MCP prompts and others
	FromHook     Origin = "hook"     // a value in a request to a hook
	FromResult   Origin = "result"   // the result of an action
	FromRemote   Origin = "remote"   // the result of a tool on the model's own side
)

// Origins returns all origins.
func Origins() []Origin {
	return []Origin{
		FromOperator, FromAsker, FromAgent, FromRetold, FromPerson, FromForward, FromReaction, FromQuote, FromFile, FromTitle, FromSummary,
		FromContext, FromHook, FromResult, FromRemote,
	}
}

// Foreign reports whether such words can carry the instructions of someone who has no rights in the turn. With them in a
// prompt, an action that sends anything out of the machine must not do so unasked: see [Call.ReadForeign].
func (o Origin) Foreign() bool { return o != FromOperator && o != FromAsker && o != FromAgent }

// Quotable reports whether a call that a model writes as text may only repeat such words.
func (o Origin) Quotable() bool { return o != FromOperator && o != FromAsker }

// Part is a part of what the model of a turn has been given to read.
type Part struct {
	Origin Origin
	Text   string // empty for a picture without a description
}

// Fragment is what a provider has added to the prompts of a turn.
type Fragment struct {
	Spec ProviderSpec
	ProviderResult
}

// Read is what the model of a turn has been given to read, besides the conversation.
type Read struct {
	Fragments []Fragment
	Calls     []Acted
	Remote    []string // the results of tools on the model's own side
}

// Parts returns the texts that the model of the turn was given to read, by origin. It is the only place that decides this: for calls that
// may repeat those texts, and for calls that send something out of the machine. The operator's prompt, providers that are Own,
// and the definitions of actions are left out; the latter include those of the tools of MCP servers, which the operator chose.
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
		if f.Transcript != s.Transcript() { // otherwise it consists of the messages above
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
		if !c.NotMade { // otherwise it is the reason, which the program gives
			parts = append(parts, Part{FromResult, c.ForModel()})
		}
	}
	for _, result := range r.Remote {
		parts = append(parts, Part{FromRemote, result})
	}
	return parts
}

// Own reports whether messages contain nothing but words of the asker and answers to them: [ProviderResult.Own] of a provider that
// quotes messages.
func (s TurnContext) Own(messages []chat.Memory) bool {
	return !slices.ContainsFunc(messages, func(m chat.Memory) bool {
		return slices.ContainsFunc(s.partsOf(m, messages), func(p Part) bool { return p.Origin.Foreign() })
	})
}

// OwnPlace reports whether the asker, and no one else, can have chosen the name of the room.
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

// retried reports whether m has the words of another author, whose question the asker repeats: it stands in the conversation with
// other words then.
func (s TurnContext) retried(m chat.Memory) bool {
	i := slices.IndexFunc(s.Recent, func(o chat.Memory) bool { return o.ID == m.ID })
	return i >= 0 && s.Recent[i].Text != m.Text
}

// said returns the origin of a message of the agent.
func said(m chat.Memory, near []chat.Memory) Origin {
	acted := slices.ContainsFunc(m.Actions, func(name string) bool { return name != "REPLY" }) || len(m.Calls) > 0
	answers := slices.ContainsFunc(near, func(q chat.Memory) bool { return q.ID != "" && q.ID == m.InReplyTo })
	if acted || !answers {
		return FromRetold
	}
	return FromAgent
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
