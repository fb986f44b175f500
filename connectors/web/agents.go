package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"parley/core/chat"
	"parley/core/llm"
)

// Agents are the agents of the configuration that can write by themselves. Implementations are safe for concurrent use.
type Agents interface {
	// AuthorizedAgent reports whether token is that of an agent. It takes the same time for every wrong token.
	AuthorizedAgent(name, token string) bool
	// Post sends the text, the files and the options of m to the chat of a thread, once for each m.Key; the text of a job replaces
	// the earlier one. It fails like Receive of [Hooks].
	Post(ctx context.Context, name, thread, job string, m chat.Task) (chat.Accepted, error)
}

// agentsPath begins the paths of agents.
const agentsPath = "/api/agents/"

// AgentFilesPath begins the paths of files that agents fetch; an id follows, which gives access once.
const AgentFilesPath = agentsPath + "files/"

const (
	maxAgentText  = 16_000                        // characters
	maxJob        = 128                           // characters of the id of a job
	maxChoices    = 10                            // options of a message
	maxLabel      = 60                            // characters of an option
	maxAgentFiles = 24 << 20                      // bytes of the files of a message, as of an answer's
	maxAgentBody  = maxAgentFiles/3*4 + smallBody // bytes: files in base64, and a text
)

// agentPost is the body of POST /api/agents/{name}/messages.
type agentPost struct {
	ThreadID string      `json:"threadId"`
	Text     string      `json:"text"`
	ID       string      `json:"id,omitempty"` // of a job: a later message with it replaces the text
	Files    []agentFile `json:"files,omitempty"`
	Choices  []string    `json:"choices,omitempty"` // options below the text
}

// agentFile is a file of a message, as in an agent's lines of JSON.
type agentFile struct {
	Name      string `json:"name"`
	MediaType string `json:"mediaType"`
	Data      []byte `json:"data"` // in base64
}

// readAgentPost reads a body. An unknown field is refused: its sender would wait for an effect in vain.
func readAgentPost(body []byte) (in agentPost, no *refusal) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	err := dec.Decode(&in)
	if err == nil {
		return in, in.check()
	}
	if _, field, ok := strings.Cut(err.Error(), "unknown field "); ok {
		return in, refused(http.StatusBadRequest, "The body has the unknown field "+field+". It can have threadId, text, id, files and choices.")
	}
	return in, refused(http.StatusBadRequest, "The body needs a threadId and a text. The data of files is base64, and choices are texts.")
}

// check returns the reason why a message can't be sent, or nil.
func (in agentPost) check() *refusal {
	size := 0
	for _, f := range in.Files {
		if len(f.Data) == 0 {
			return refused(http.StatusBadRequest, "A file has no data.")
		} else if len(f.Data) > llm.MaxFile {
			size = maxAgentFiles
		}
		size += len(f.Data)
	}
	badChoice := func(c string) bool {
		return strings.TrimSpace(c) == "" || utf8.RuneCountInString(c) > maxLabel
	}
	distinct := len(slices.Compact(slices.Sorted(slices.Values(in.Choices)))) == len(in.Choices)
	switch {
	case in.ThreadID == "" || strings.TrimSpace(in.Text) == "":
		return refused(http.StatusBadRequest, "The body needs a threadId and a text.")
	case utf8.RuneCountInString(in.Text) > maxAgentText || len(in.ID) > maxJob || len(in.ThreadID) > maxJob:
		return refused(http.StatusRequestEntityTooLarge, "The text, or an id, is too long.")
	case size > maxAgentFiles || len(in.Files) > maxFiles:
		return refused(http.StatusRequestEntityTooLarge, "A message can have at most 8 files, of up to 8 MiB each and 24 MiB together.")
	case len(in.Choices) > maxChoices || slices.ContainsFunc(in.Choices, badChoice) || !distinct:
		return refused(http.StatusBadRequest, "Choices are at most 10 different texts of up to 60 characters.")
	case in.ID != "" && len(in.Files)+len(in.Choices) > 0:
		return refused(http.StatusBadRequest, "A message with an id has only text, because a later text replaces it. Send files and choices without an id.")
	}
	return nil
}

// agentAPI serves the routes of agents.
type agentAPI struct{ web *Web }

// message is POST /api/agents/{name}/messages. Attempts are limited before the token is compared, so that it can't be
// guessed.
func (a agentAPI) message(rw http.ResponseWriter, r *http.Request) {
	w := a.web
	defer w.receive(rw, r)()
	body, ok := door{w}.called(rw, r, maxAgentBody, "There is no such agent with this token.", func(name, token string) bool {
		return w.opts.Agents != nil && w.opts.Agents.AuthorizedAgent(name, token)
	})
	if !ok {
		return
	}
	in, no := readAgentPost(body)
	m := chat.Task{Text: in.Text, Key: r.Header.Get("Idempotency-Key"), Options: in.Choices}
	if no == nil && !validKey(m.Key) {
		no = refused(http.StatusBadRequest, badKey)
	}
	if no != nil {
		no.reply(rw)
		return
	}
	for _, f := range in.Files {
		m.Content = append(m.Content, llm.File{Name: f.Name, Type: f.MediaType, Data: f.Data})
	}
	acc, err := w.opts.Agents.Post(r.Context(), r.PathValue("name"), in.ThreadID, in.ID, m)
	if errors.Is(err, chat.ErrNotFound) || errors.Is(err, chat.ErrUnreached) {
		fail(rw, http.StatusConflict, "This agent has no chat with this threadId: it has ended, for example by /new. Use that of the newest request.")
		return
	}
	acc.Altered = acc.Altered && in.ID == "" // a job has another text each time
	w.hookReply(rw, acc, err)
}

// file is GET /api/agents/files/{id}. All failures look the same, so that ids can't be probed.
func (a agentAPI) file(rw http.ResponseWriter, r *http.Request) {
	w := a.web
	if !w.allow(rw, r, w.attempts) {
		return
	}
	if w.opts.AgentFile == nil {
		fail(rw, http.StatusNotFound, "refused.no_file")
		return
	}
	if r.Method != http.MethodGet { // HEAD would use the address up
		rw.Header().Set("Allow", http.MethodGet)
		fail(rw, http.StatusMethodNotAllowed, "Fetch the file with GET, once.")
		return
	}
	f, err := w.opts.AgentFile(r.Context(), r.PathValue("id"))
	if err != nil {
		if !errors.Is(err, chat.ErrNotFound) {
			w.failures.note("fetch a file for an agent", err)
		}
		fail(rw, http.StatusNotFound, "File not found. An address can be used once, for 15 minutes.")
		return
	}
	r.Header.Del("Range") // the rest could not be fetched later
	rw.Header().Set("Cache-Control", "no-store")
	ServeFile(rw, r, f.Name, cmp.Or(f.Type, "application/octet-stream"), bytes.NewReader(f.Data))
}
