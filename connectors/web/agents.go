package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"parley/core/chat"
)

// Agents are the agents of the configuration that can write by themselves. Implementations are safe for concurrent use.
type Agents interface {
	// AuthorizedAgent reports whether token is that of an agent. It takes the same time for every wrong token.
	AuthorizedAgent(name, token string) bool
	// Post sends text to the chat of a thread, once for each key; the text of a job replaces the earlier one. It fails like
	// Receive of [Hooks].
	Post(ctx context.Context, name, thread, job, key, text string) (chat.Accepted, error)
}

// agentsPath begins the paths of agents.
const agentsPath = "/api/agents/"

const (
	maxAgentText = 16_000 // characters
	maxJob       = 128    // characters of the id of a job
)

// agentPost is the body of POST /api/agents/{name}/messages.
type agentPost struct {
	ThreadID string `json:"threadId"`
	Text     string `json:"text"`
	ID       string `json:"id"` // of a job: a later message with it replaces the text
}

// agentAPI serves the routes of agents.
type agentAPI struct{ web *Web }

// message is POST /api/agents/{name}/messages. Attempts are limited before the token is compared, so that it can't be
// guessed.
func (a agentAPI) message(rw http.ResponseWriter, r *http.Request) {
	w := a.web
	body, ok := door{w}.called(rw, r, "There is no such agent with this token.", func(name, token string) bool {
		return w.opts.Agents != nil && w.opts.Agents.AuthorizedAgent(name, token)
	})
	if !ok {
		return
	}
	var in agentPost
	key := r.Header.Get("Idempotency-Key")
	switch err := json.Unmarshal(body, &in); {
	case err != nil || in.ThreadID == "" || strings.TrimSpace(in.Text) == "":
		fail(rw, http.StatusBadRequest, "The body needs a threadId and a text.")
		return
	case utf8.RuneCountInString(in.Text) > maxAgentText || len(in.ID) > maxJob || len(in.ThreadID) > maxJob:
		fail(rw, http.StatusRequestEntityTooLarge, "The text, or an id, is too long.")
		return
	case !validKey(key):
		fail(rw, http.StatusBadRequest, badKey)
		return
	}
	acc, err := w.opts.Agents.Post(r.Context(), r.PathValue("name"), in.ThreadID, in.ID, key, in.Text)
	if errors.Is(err, chat.ErrNotFound) || errors.Is(err, chat.ErrUnreached) {
		fail(rw, http.StatusConflict, "This agent has no chat with this threadId: it has ended, for example by /new. Use that of the newest request.")
		return
	}
	acc.Altered = acc.Altered && in.ID == "" // a job has another text each time
	w.hookReply(rw, acc, err)
}
