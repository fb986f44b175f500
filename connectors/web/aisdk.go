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

// routes adds the routes to mux.
func (a aisdkAPI) routes(mux *http.ServeMux) {
	mux.HandleFunc("POST /api/chat", a.send)
	mux.HandleFunc("GET /api/chat/{id}", a.history)
	mux.HandleFunc("GET /api/chat/{id}/stream", a.resume)
	mux.HandleFunc("POST /api/chat/{id}/stop", func(rw http.ResponseWriter, r *http.Request) {
		if a.stopOwn(rw, r, aisdkID(r.PathValue("id"))) {
			reply(rw, http.StatusOK, map[string]bool{"ok": true})
		}
	})
}

// aisdkID returns the client's id of a conversation, apart from those of other formats.
func aisdkID(id string) string { return "ui/" + id }

// send is POST /api/chat.
func (a aisdkAPI) send(rw http.ResponseWriter, r *http.Request) {
	var x *exchange
	var t target
	var enc *aisdk.Encoder
	apart(func() { x, t, enc = a.take(rw, r) })
	if x != nil {
		a.relay(x, t, enc)
	}
}

// take reads a request and accepts its message or decision, or answers it; then the exchange is nil.
func (a aisdkAPI) take(rw http.ResponseWriter, r *http.Request) (*exchange, target, *aisdk.Encoder) {
	data, end, ok := a.readDialect(rw, r)
	if !ok {
		return nil, target{}, nil
	}
	defer end()
	in, err := aisdk.Parse(data)
	if err != nil {
		fail(rw, http.StatusBadRequest, sentence(err))
		return nil, target{}, nil
	}
	x, ok := a.begin(rw, r, aisdkID(in.ID))
	if !ok {
		return nil, target{}, nil
	}
	var t target
	if in.Question != "" {
		t, ok = x.decide(in.Question, in.Approved)
	} else {
		t, ok = x.deliver(sent{messages: in.Messages, whole: in.Whole, again: in.Again, after: -1})
	}
	if !ok {
		return nil, t, nil
	}
	enc := a.encoder(x.room.ID, t.run)
	enc.Approvals = in.Approvals
	switch {
	case in.Answer != "": // the stream continues that message
		enc.MessageID, enc.Continues = in.Answer, true
	case t.question != "": // the answer to a choice is another message
		enc.MessageID += "/" + t.question
	}
	return x, t, enc
}

// sentence returns an error of this package's dialects as a sentence.
func sentence(err error) string {
	s := err.Error()
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

// encoder returns the encoder for the answer of a run.
func (a aisdkAPI) encoder(room chat.RoomID, run chat.RunID) *aisdk.Encoder {
	return &aisdk.Encoder{MessageID: string(chat.Run{ID: run}.Said()), URL: func(f llm.File) string { return fileURL(room, run, f) }}
}

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

func (a aisdkAPI) relay(x *exchange, t target, enc *aisdk.Encoder) {
	x.past = nil
	l := x.listen(t, enc)
	l.prepare = func(h http.Header) { h.Set(uistream.Header, uistream.Version) }
	a.clients.relay(x.rw, x.r, t.run, l)
}

// resume replays the running answer from its beginning, and continues it: GET /api/chat/{id}/stream. If none is running, the
// status is 204.
func (a aisdkAPI) resume(rw http.ResponseWriter, r *http.Request) {
	x := &exchange{clients: a.clients, rw: rw, r: r}
	var run chat.RunID
	var no *refusal
	apart(func() {
		if no = x.load(aisdkID(r.PathValue("id"))); no == nil && len(x.past) > 0 {
			run = x.running(x.past[len(x.past)-1])
		}
	})
	switch {
	case no != nil && no.status != http.StatusNotFound:
		no.reply(rw)
	case run == "":
		rw.WriteHeader(http.StatusNoContent)
	default:
		enc := a.encoder(x.room.ID, run)
		enc.Approvals = r.URL.Query().Get("approvals") == "true"
		a.relay(x, target{run: run}, enc)
	}
}

// history returns the messages of a conversation, for the start of a client: GET /api/chat/{id}. A running answer is not
// among them: the client resumes it.
func (a aisdkAPI) history(rw http.ResponseWriter, r *http.Request) {
	room, ok := a.knownRoom(rw, r, aisdkID(r.PathValue("id")))
	if !ok {
		return
	}
	recent, err := a.web.recent(r.Context(), room.ID)
	if err != nil {
		a.web.broken(rw, "read a conversation", err)
		return
	}
	wants := wishes{details: readerOf(r).details}
	messages := []uistream.Message{}
	for _, m := range recent {
		messages = append(messages, a.message(m, wants))
	}
	reply(rw, http.StatusOK, map[string]any{"messages": messages})
}

// message returns a stored message.
func (a aisdkAPI) message(m chat.Memory, wants wishes) uistream.Message {
	out := uistream.Message{ID: shortID(m), Role: dialect.User}
	if m.Author == chat.EntityID(a.web.opts.Agent.ID) {
		out.Role = dialect.Assistant
	}
	for _, f := range attachedTo(m) {
		if f.URL != "" {
			out.Parts = append(out.Parts, uistream.Part{Type: "file", URL: "/" + f.URL, MediaType: f.Type, FileName: f.Name})
		}
	}
	text, at := m.Text, 0
	if out.Role == dialect.User {
		text = dialect.Own(text)
	}
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

// aisdkErrors converts error responses to the text that useChat shows to users as it is.
func aisdkErrors(_ int, sentence, _ string) (kind string, body []byte) {
	return "text/plain; charset=utf-8", []byte(sentence)
}
