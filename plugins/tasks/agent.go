package tasks

import (
	"cmp"
	"context"
	"crypto/rand"
	"time"

	"parley/core/chat"
)

// Agent is an agent of the owner's own that can write to a chat by itself, with a token.
type Agent struct{ Name, Token string }

const (
	agentPerMinute = 30       // messages and updates of an agent
	agentKey       = "agent/" // begins the names of agents among those that pay
)

// AuthorizedAgent is [Tasks.Authorized] for the token of an agent.
func (t *Tasks) AuthorizedAgent(name, token string) bool { return authorized(t.agents, name, token) }

// Post sends the text of m, with its files and options, as a message of the agent name to the chat of a thread: once for each key.
// With a job, a later text replaces the earlier one of the same job in place. In quiet hours a new message waits; a text that
// replaces another does not, as it notifies no user. It fails with the errors of [Tasks.Receive]; [chat.ErrNotFound] also means that
// the thread is not, or no longer, known.
func (t *Tasks) Post(ctx context.Context, name, thread, job string, m chat.Task) (chat.Accepted, error) {
	a := t.agents[name]
	if a == nil || thread == "" {
		return chat.Accepted{}, chat.ErrNotFound
	}
	now := time.Now()
	if !a.allow(now) {
		return chat.Accepted{}, chat.ErrTooMany
	}
	notes, err := t.Store.NotesAbout(ctx, chat.ThreadOf(thread), chat.AgentNote, false, 1)
	if err != nil {
		return chat.Accepted{}, err
	}
	if len(notes) == 0 || notes[0].Key != chat.ThreadKey+name { // a thread of another agent is not its to write to
		return chat.Accepted{}, chat.ErrNotFound
	}
	m.Room, m.By, m.Name, m.Speak, m.NotBefore = notes[0].Room, chat.EntityID(chat.HookPrefix+agentKey+name), name, true, t.Quiet.Until(now)
	if job != "" {
		m.Key = "job/" + job
		return t.services.Update(ctx, m)
	}
	m.Key = "once/" + cmp.Or(m.Key, rand.Text())
	return t.services.Task(ctx, m)
}
