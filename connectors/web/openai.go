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

// routes adds the routes to mux.
func (a openaiAPI) routes(mux *http.ServeMux) {
	mux.HandleFunc("GET /v1/models", func(rw http.ResponseWriter, _ *http.Request) { reply(rw, http.StatusOK, openai.Models(a.model())) })
	mux.HandleFunc("GET /v1/models/{model...}", func(rw http.ResponseWriter, r *http.Request) {
		if r.PathValue("model") != a.model() {
			fail(rw, http.StatusNotFound, "There is only the model "+a.model()+".")
			return
		}
		reply(rw, http.StatusOK, openai.Model(a.model()))
	})
	mux.HandleFunc("POST /v1/chat/completions", a.complete)
	mux.HandleFunc("POST /v1/responses", a.respond)
	mux.HandleFunc("POST /v1/responses/{id}/cancel", a.cancel)
}

// model returns the name of the only model: the agent.
func (a openaiAPI) model() string { return string(a.web.opts.Agent.ID) }

// complete is POST /v1/chat/completions.
func (a openaiAPI) complete(rw http.ResponseWriter, r *http.Request) {
	var q *openaiQuestion
	apart(func() { q = a.take(rw, r, false) })
	if q == nil {
		return
	}
	enc := openai.NewChat(newID(), a.model(), time.Now().Unix(), q.IncludeUsage)
	a.answer(q, enc, enc.Whole)
}

// respond is POST /v1/responses.
func (a openaiAPI) respond(rw http.ResponseWriter, r *http.Request) {
	var q *openaiQuestion
	apart(func() { q = a.take(rw, r, true) })
	if q == nil {
		return
	}
	enc := openai.NewResponses(q.responseID(), a.model(), q.Previous, time.Now().Unix())
	a.answer(q, enc, enc.Whole)
}

// openaiQuestion is an accepted request.
type openaiQuestion struct {
	openai.Request
	*exchange
	target
	messages int // of the user, with this one
}

// answer replies with the answer, as a stream or as a whole.
func (a openaiAPI) answer(q *openaiQuestion, enc dialect.Encoder, whole func(dialect.State) any) {
	defer q.forget()
	if q.Stream {
		q.relay(q.target, enc)
		return
	}
	s, err := a.whole(q.r, q.run, q.listen(q.target, enc))
	switch sentence, failed := s.Failed(); {
	case err != nil:
		a.unanswered(q.rw, q.r, err)
	case failed:
		q.rw.Header().Set("X-Should-Retry", "false") // the user decides about another attempt
		fail(q.rw, http.StatusBadGateway, sentence)
	default:
		reply(q.rw, http.StatusOK, whole(s))
	}
}

// take reads a request and accepts its message, or answers it and returns nil.
func (a openaiAPI) take(rw http.ResponseWriter, r *http.Request, response bool) *openaiQuestion {
	data, end, ok := a.readDialect(rw, r)
	if !ok {
		return nil
	}
	defer end()
	in, err := openai.Parse(data)
	if err != nil {
		fail(rw, http.StatusBadRequest, err.Error())
		return nil
	}
	id, whole, after := chatID(r, in)
	if response {
		id, after = responseID(&in)
	}
	task := openai.IsTask(r.Header, in)
	if task {
		id = "" // it is no part of the conversation
	}
	x, ok := a.begin(rw, r, id)
	if !ok {
		return nil
	}
	x.brief = task
	t, ok := x.deliver(sent{messages: in.Messages, system: in.System, whole: whole, after: after})
	if !ok {
		return nil
	}
	in.Messages = nil // they would be held as long as the stream
	return &openaiQuestion{in, x, t, len(x.past) + 1}
}

// chatID returns the client's id of the conversation of a chat completion, and whether the client sends all of it each time.
func chatID(r *http.Request, in openai.Request) (id string, whole bool, after int) {
	for _, header := range []string{"X-OpenWebUI-Chat-Id", "X-LibreChat-Conversation-Id", "X-Conversation-Id"} {
		if id := r.Header.Get(header); id != "" {
			return "chat/" + id, true, -1
		}
	}
	switch {
	case in.Conversation != "":
		return "chat/" + in.Conversation, true, -1
	case in.User != "":
		return "user/" + in.User, false, -1
	}
	return "", false, -1
}

// responseID returns the id of the conversation of a response: the one that the previous response names, the client's, or a
// new one. after is the number of the user's messages before this one, if it is known, or -1.
func responseID(in *openai.Request) (id string, after int) {
	after = -1
	if rest, ok := strings.CutPrefix(in.Previous, "resp_"); ok {
		conversation, n, _ := strings.Cut(rest, "_")
		if id, err := hex.DecodeString(conversation); err == nil {
			in.Conversation = string(id)
		}
		if n, err := strconv.Atoi(n); err == nil {
			after = n
		}
	}
	in.Conversation = cmp.Or(in.Conversation, newID())
	return "response/" + in.Conversation, after
}

// responseID returns the id of the response. It names the conversation, and the number of the user's messages, so a later
// request can follow it.
func (q *openaiQuestion) responseID() string {
	return fmt.Sprintf("resp_%x_%d", q.Conversation, q.messages)
}

// cancel stops the answers of a response's conversation: POST /v1/responses/{id}/cancel.
func (a openaiAPI) cancel(rw http.ResponseWriter, r *http.Request) {
	in := openai.Request{Previous: r.PathValue("id")}
	id, _ := responseID(&in)
	if a.stopOwn(rw, r, id) {
		reply(rw, http.StatusOK, map[string]any{"id": in.Previous, "object": "response", "status": "cancelled"})
	}
}

// openaiErrors converts error responses to OpenAI's form.
func openaiErrors(status int, sentence, code string) (kind string, body []byte) {
	return "application/json; charset=utf-8", openai.ErrorOf(status, sentence, code)
}
