package action

import (
	"slices"

	"parley/core/chat"
)

// Origin is the author of a part of a prompt, as far as rights depend on it: see [Origin.Foreign] and
// [Origin.Quotable].
type Origin string

// Foreign reports whether such a text can carry the instructions of a person without rights in the turn. If the prompt
// contains one, an action that sends data out of the machine must ask first: see [Call.ReadForeign].
func (o Origin) Foreign() bool { return o != FromOperator && o != FromAsker && o != FromAgent }

// Quotable reports whether a call that a model writes as text may be a mere repetition of such a text.
func (o Origin) Quotable() bool { return o != FromOperator && o != FromAsker }

// The origins. A new source of prompt text needs one of them, or another one, in [TurnContext.Parts].
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
	FromRemote   Origin = "remote"   // the result of a tool that the provider runs
)

// Origins returns all origins.
func Origins() []Origin {
	return []Origin{
		FromOperator, FromAsker, FromAgent, FromRetold, FromPerson, FromForward, FromReaction, FromQuote, FromFile, FromTitle, FromSummary,
		FromContext, FromHook, FromResult, FromRemote,
	}
}

// Part is a part of the text that the model of a turn has read.
type Part struct {
	Origin Origin
	Text   string // empty for a picture without a description
}

// Fragment is the text that a provider has added to the prompts of a turn.
type Fragment struct {
	Spec ProviderSpec
	ProviderResult
}

// Read contains the texts that the model of a turn has read, besides the conversation.
type Read struct {
	Fragments []Fragment
	Calls     []Acted
	Remote    []string // the results of tools that the provider runs
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
