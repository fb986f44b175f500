package web

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"parley/connectors/web/dialect"
	"parley/connectors/web/openai"
)

// openaiAPI serves the clients of OpenAI's API below /v1/.
type openaiAPI struct{ clients }

// endpoints returns the routes.
func (a openaiAPI) endpoints() []endpoint {
	return []endpoint{
		{route: "GET /v1/models", serve: a.models, about: "OpenAI: lists the only model"},
		{route: "GET /v1/models/{model...}", serve: a.models, about: "OpenAI: returns the only model"},
		{route: "POST /v1/chat/completions", serve: a.complete, about: "OpenAI: answers the last message, as a whole or as a stream", kind: eventStream},
		{route: "POST /v1/responses", serve: a.respond, about: "OpenAI: answers the last message, as a whole or as a stream", kind: eventStream},
		{route: "GET /v1/responses/{id}", serve: a.retrieve, about: "OpenAI: returns a response again, as a whole or as a stream", kind: eventStream},
		{route: "POST /v1/responses/{id}/cancel", serve: a.cancel, about: "OpenAI: stops a response"},
	}
}

// models returns the only model, or the list of it.
func (a openaiAPI) models(rw http.ResponseWriter, r *http.Request) {
	switch r.PathValue("model") {
	case "":
		reply(rw, http.StatusOK, openai.Models(a.model()))
	case a.model():
		reply(rw, http.StatusOK, openai.Model(a.model()))
	default:
		fail(rw, http.StatusNotFound, "There is only the model "+a.model()+".")
	}
}

// model returns the name of the only model: the agent.
func (a openaiAPI) model() string { return string(a.web.opts.Agent.ID) }

// complete is POST /v1/chat/completions.
func (a openaiAPI) complete(rw http.ResponseWriter, r *http.Request) {
	in, x, t := a.accept(rw, r, func(in *openai.Request, q *incoming) { q.id, q.whole = chatID(r, *in) })
	if x != nil {
		enc := openai.NewChat(newID(), a.model(), time.Now().Unix(), in.IncludeUsage)
		a.answer(x, t, in.Stream, enc, enc.Whole)
	}
}

// respond is POST /v1/responses.
func (a openaiAPI) respond(rw http.ResponseWriter, r *http.Request) {
	in, x, t := a.accept(rw, r, func(in *openai.Request, q *incoming) { q.id, q.earlier, q.counted = responseID(in) })
	if x != nil {
		// The id names the conversation, and the number of the user's messages, so a later request can follow it.
		id := fmt.Sprintf("resp_%x_%d", in.Conversation, len(x.past)+1)
		enc := openai.NewResponses(id, a.model(), in.Previous, time.Now().Unix())
		a.answer(x, t, in.Stream, enc, enc.Whole)
	}
}

// accept accepts the message of a request, or answers the request; then x is nil. locate sets its conversation.
func (a openaiAPI) accept(rw http.ResponseWriter, r *http.Request, locate func(*openai.Request, *incoming)) (in openai.Request, x *exchange, t target) {
	x, t = a.clients.accept(rw, r, func(body []byte) (q incoming, err error) {
		if in, err = openai.Parse(body); err != nil {
			return q, err
		}
		q = incoming{messages: in.Messages, system: in.System, brief: openai.IsTask(r.Header, in)}
		if locate(&in, &q); q.brief {
			q.id = "" // it is no part of the conversation
		}
		in.Messages = nil // they would be held as long as the stream
		return q, nil
	})
	return in, x, t
}

// answer replies with the answer, as a stream or as a whole.
func (a openaiAPI) answer(x *exchange, t target, stream bool, enc dialect.Encoder, whole func(dialect.State) any) {
	defer x.forget()
	if stream {
		x.relay(t, enc)
		return
	}
	s, ok := x.wait(t, enc)
	if !ok {
		return
	}
	if sentence, failed := s.Failed(); failed {
		x.rw.Header().Set("X-Should-Retry", "false") // the user decides about another attempt
		fail(x.rw, http.StatusBadGateway, sentence)
		return
	}
	reply(x.rw, http.StatusOK, whole(s))
}

// chatID returns the client's id of the conversation of a chat completion, and whether the client sends all of it each time.
func chatID(r *http.Request, in openai.Request) (id string, whole bool) {
	h := r.Header
	in.Conversation = cmp.Or(h.Get("X-OpenWebUI-Chat-Id"), h.Get("X-LibreChat-Conversation-Id"), h.Get("X-Conversation-Id"), in.Conversation)
	switch {
	case in.Conversation != "":
		return "chat/" + in.Conversation, true
	case in.User != "":
		return "user/" + in.User, false
	}
	return "", false
}

// responseID returns the id of the conversation of a response: the one that the previous response names, the client's, or a
// new one. earlier is the number of the user's messages before this one, if there is a previous response (counted).
func responseID(in *openai.Request) (id string, earlier int, counted bool) {
	conversation, n, _ := strings.Cut(strings.TrimPrefix(in.Previous, "resp_"), "_")
	if name, err := hex.DecodeString(conversation); err == nil && len(name) > 0 {
		in.Conversation = string(name)
	}
	earlier, _ = strconv.Atoi(n) // 0 if it is no number
	in.Conversation = cmp.Or(in.Conversation, newID())
	return "response/" + in.Conversation, earlier, in.Previous != ""
}

// retrieve is GET /v1/responses/{id}: the response, or with ?stream=true its events from the beginning, also while it is written.
func (a openaiAPI) retrieve(rw http.ResponseWriter, r *http.Request) {
	in := openai.Request{Previous: r.PathValue("id")}
	id, n, _ := responseID(&in)
	x := &exchange{clients: a.clients, rw: rw, r: r}
	no := x.load(id, door(a.clients).conversation)
	if no == nil && (n < 1 || n > len(x.past)) {
		no = refused(http.StatusNotFound, "Response not found.")
	}
	if no != nil {
		no.reply(rw)
		return
	}
	acc, err := a.web.opts.Store.Known(r.Context(), x.past[n-1])
	if err != nil {
		a.web.broken(rw, "find a response", err)
		return
	}
	enc := openai.NewResponses(in.Previous, a.model(), "", time.Now().Unix())
	a.answer(x, target{run: acc.Run}, r.URL.Query().Get("stream") == "true", enc, enc.Whole)
}

// cancel stops the answers of a response's conversation: POST /v1/responses/{id}/cancel.
func (a openaiAPI) cancel(rw http.ResponseWriter, r *http.Request) {
	in := openai.Request{Previous: r.PathValue("id")}
	id, _, _ := responseID(&in)
	a.stop(rw, r, id, map[string]any{"id": in.Previous, "object": "response", "status": "cancelled"})
}

// openaiErrors converts error responses to OpenAI's form.
func openaiErrors(status int, sentence, code string) (kind string, body []byte) {
	return "application/json; charset=utf-8", openai.ErrorOf(status, sentence, code)
}
