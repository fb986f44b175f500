package action

import (
	"slices"

	"parley/core/chat"
)

// Origin says who chose the words of a part of what a model reads. Rights follow from it: see [Origin.Foreign] and [Origin.Quotable].
type Origin string

// Foreign reports whether such words can carry the instructions of someone who has no rights in the turn. With them in a
// prompt, an action that sends anything out of the machine must not do so unasked: see [Call.ReadForeign].
func (o Origin) Foreign() bool { return o != FromOperator && o != FromAsker && o != FromAgent }

// Quotable reports whether a call that a model writes as text may only repeat such words.
func (o Origin) Quotable() bool { return o != FromOperator && o != FromAsker }

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

// said returns the origin of a message of the agent.
func said(m chat.Memory, near []chat.Memory) Origin {
	acted := slices.ContainsFunc(m.Actions, func(name string) bool { return name != "REPLY" }) || len(m.Calls) > 0
	answers := slices.ContainsFunc(near, func(q chat.Memory) bool { return q.ID != "" && q.ID == m.InReplyTo })
	if acted || !answers {
		return FromRetold
	}
	return FromAgent
}
