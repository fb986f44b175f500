package web

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"parley/connectors/web/aisdk"
	"parley/connectors/web/dialect"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/uistream"
)

// aisdkAPI serves the AI SDK's useChat below /api/chat. Its client chooses the ids of conversations and messages.
type aisdkAPI struct{ clients }

// endpoints returns the routes.
func (a aisdkAPI) endpoints() []endpoint {
	stop := func(rw http.ResponseWriter, r *http.Request) {
		a.stop(rw, r, aisdkID(r.PathValue("id")), okReply{true})
	}
	return []endpoint{
		{route: "POST /api/chat", serve: a.send, about: "AI SDK: answers the last message", kind: eventStream},
		{route: "GET /api/chat/{id}", serve: a.history, about: "AI SDK: returns the messages"},
		{route: "GET /api/chat/{id}/stream", serve: a.resume, about: "AI SDK: resumes the running answer", kind: eventStream, query: "approvals"},
		{route: "POST /api/chat/{id}/stop", serve: stop, about: "AI SDK: stops the answers", out: okReply{}},
	}
}

// aisdkID returns the client's id of a conversation, apart from those of other formats.
func aisdkID(id string) string { return "ui/" + id }

// send is POST /api/chat.
func (a aisdkAPI) send(rw http.ResponseWriter, r *http.Request) {
	var in aisdk.Request
	x, t := a.accept(rw, r, func(body []byte) (q incoming, err error) {
		in, err = aisdk.Parse(body)
		q = incoming{id: aisdkID(in.ID), messages: in.Messages, whole: in.Whole, again: in.Again, question: in.Question, payload: dialect.Raw(in.Approved)}
		in.Messages = nil // they would be held as long as the stream
		return q, err
	})
	if x == nil {
		return
	}
	enc := a.encoder(x.room.ID, t.run)
	enc.Approvals = in.Approvals
	switch {
	case in.Answer != "": // the stream continues that message
		enc.MessageID, enc.Continues = in.Answer, true
	case t.question != "": // the answer to a choice is another message
		enc.MessageID += "/" + t.question
	}
	a.relay(x, t, in.ID, enc)
}

// encoder returns the encoder for the answer of a run.
func (a aisdkAPI) encoder(room chat.RoomID, run chat.RunID) *aisdk.Encoder {
	return &aisdk.Encoder{MessageID: string(chat.Run{ID: run}.Said()), URL: func(f llm.File) string { return fileURL(room, run, f) }}
}

// resumable is the header with the id that assistant-ui names to resume a stream.
const resumable = "X-Resumable-Stream-Id"

// fileURL returns the address of a file of an answer: a data: URL until it is stored.
func fileURL(room chat.RoomID, run chat.RunID, f llm.File) string {
	if f.Past == nil {
		return f.DataURL()
	}
	var shown frame
	shown.show(room, chat.Run{ID: run}.Said(), answer.PastCall{Files: []llm.PastFile{*f.Past}})
	if len(shown.Images) > 0 {
		return "/" + shown.Images[0]
	}
	return "/" + shown.Files[0].URL
}

// relay streams t. id is the client's of the conversation, which assistant-ui resumes by.
func (aisdkAPI) relay(x *exchange, t target, id string, enc *aisdk.Encoder) {
	x.rw.Header().Set(uistream.Header, uistream.Version)
	x.rw.Header().Set(resumable, id)
	x.relay(t, enc)
}

// resume replays the running answer from its beginning, and continues it: GET /api/chat/{id}/stream. If none is running, the
// status is 204.
func (a aisdkAPI) resume(rw http.ResponseWriter, r *http.Request) {
	x := &exchange{clients: a.clients, rw: rw, r: r}
	var t target
	var no *refusal
	apart(func() {
		if no = x.load(aisdkID(r.PathValue("id")), door{x.web}.conversation); no == nil {
			t.run = x.current()
		}
	})
	switch {
	case no != nil && no.status != http.StatusNotFound:
		no.reply(rw)
	case t.run == "":
		rw.WriteHeader(http.StatusNoContent)
	default:
		enc := a.encoder(x.room.ID, t.run)
		enc.Approvals = r.URL.Query().Get("approvals") == "true"
		a.relay(x, t, r.PathValue("id"), enc)
	}
}

// history returns the messages of a conversation, for the start of a client: GET /api/chat/{id}. A running answer is not
// among them: the client resumes it.
func (a aisdkAPI) history(rw http.ResponseWriter, r *http.Request) {
	x := &exchange{clients: a.clients, rw: rw, r: r}
	if no := x.load(aisdkID(r.PathValue("id")), door{x.web}.conversation); no != nil {
		no.reply(rw)
		return
	}
	wants := wishes{details: readerOf(r).details}
	messages := []uistream.Message{}
	for _, m := range x.recent {
		messages = append(messages, a.message(m, wants))
	}
	reply(rw, http.StatusOK, map[string]any{"messages": messages})
}

// message returns a stored message.
func (a aisdkAPI) message(m chat.Memory, wants wishes) uistream.Message {
	role, text := a.said(m)
	out := uistream.Message{ID: shortID(m), Role: role}
	for _, f := range attachedTo(m) {
		if f.URL != "" {
			out.Parts = append(out.Parts, uistream.Part{Type: "file", URL: "/" + f.URL, MediaType: f.Type, FileName: f.Name})
		}
	}
	at := 0 // of the text that is not in a part yet
	for _, t := range wants.pastTools(m) {
		if t.At > at && t.At <= len(text) {
			out.Parts = append(out.Parts, uistream.Part{Type: "text", Text: strings.TrimLeft(text[at:t.At], "\n"), State: "done"})
			at = t.At
		}
		out.Parts = append(out.Parts, aisdk.PastCall(t.CallID, t.ToolName, t.Args, cmp.Or(t.Result, t.ShortResult), cmp.Or(t.Error, answer.ItFailed), t.Phase == "result")...)
		for _, url := range slices.Concat(t.Images, urls(t.Files)) {
			out.Parts = append(out.Parts, uistream.Part{Type: "file", URL: "/" + url, MediaType: "application/octet-stream"})
		}
	}
	if rest := strings.TrimLeft(text[at:], "\n"); rest != "" || len(out.Parts) == 0 {
		out.Parts = append(out.Parts, uistream.Part{Type: "text", Text: rest, State: "done"})
	}
	return out
}

// urls returns the addresses of files.
func urls(files []shownFile) (all []string) {
	for _, f := range files {
		all = append(all, f.URL)
	}
	return all
}

// textErrors converts error responses to text, which useChat shows to users as it is.
func textErrors(_ int, sentence, _ string) (kind string, body []byte) {
	return "text/plain; charset=utf-8", []byte(sentence)
}
