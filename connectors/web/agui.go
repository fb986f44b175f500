package web

import (
	"net/http"

	"parley/connectors/web/agui"
	"parley/connectors/web/dialect"
	"parley/core/answer"
	"parley/core/chat"
	wire "parley/internal/agui"
	"parley/internal/version"
)

// aguiAPI serves AG-UI at /agui, and the four routes of CopilotKit's runtime below /copilotkit. Its client chooses the ids of
// threads.
type aguiAPI struct{ clients }

// routes adds the routes to mux.
func (a aguiAPI) routes(mux *http.ServeMux) {
	mux.HandleFunc("POST /agui", a.run)
	mux.HandleFunc("POST /agui/connect", a.connect)
	mux.HandleFunc("POST /agui/stop/{thread}", a.stop)
	mux.HandleFunc("GET /copilotkit/info", a.info)
	mux.HandleFunc("POST /copilotkit/agent/{agent}/run", a.run)
	mux.HandleFunc("POST /copilotkit/agent/{agent}/connect", a.connect)
	mux.HandleFunc("POST /copilotkit/agent/{agent}/stop/{thread}", a.stop)
}

// threadID returns the client's id of a conversation, apart from those of other formats.
func threadID(id string) string { return "thread/" + id }

// info describes the agent: GET /copilotkit/info.
func (a aguiAPI) info(rw http.ResponseWriter, _ *http.Request) {
	agent := map[string]string{"name": "default", "description": a.web.opts.Agent.Name}
	reply(rw, http.StatusOK, map[string]any{
		"version": version.Release, "agents": map[string]any{"default": agent}, "audioFileTranscriptionEnabled": false,
	})
}

// aguiRun is an accepted run.
type aguiRun struct {
	agui.Request
	*exchange
	target
}

// encoder returns the encoder for the answer of a run.
func (r *aguiRun) encoder() *agui.Encoder {
	return &agui.Encoder{Thread: r.ThreadID, Run: r.RunID, Version: r.ProtocolVersion, Messages: r.Input.Messages, State: r.StateObject(),
		ID: string(chat.Run{ID: r.run}.Said()) + "/" + r.RunID}
}

// run answers the last message, or continues an interrupted run: POST /agui.
func (a aguiAPI) run(rw http.ResponseWriter, r *http.Request) {
	var run *aguiRun
	apart(func() { run = a.take(rw, r) })
	if run != nil {
		run.relay(run.target, run.encoder())
	}
}

// take reads a request and accepts its message or decision, or answers it and returns nil.
func (a aguiAPI) take(rw http.ResponseWriter, r *http.Request) *aguiRun {
	in, ok := a.read(rw, r)
	if !ok {
		return nil
	}
	if len(in.Resume) == 0 && !in.Asks() {
		fail(rw, http.StatusBadRequest, "The last message must be one of the user, with text or a file.")
		return nil
	}
	x, ok := a.begin(rw, r, threadID(in.ThreadID))
	if !ok {
		return nil
	}
	var t target
	if len(in.Resume) > 0 {
		t, ok = x.resume(in.Resume[0])
	} else {
		t, ok = x.deliver(sent{messages: in.Messages, system: in.System, whole: true, after: -1})
	}
	if !ok {
		return nil
	}
	return &aguiRun{in, x, t}
}

// read reads a request, or answers it.
func (a aguiAPI) read(rw http.ResponseWriter, r *http.Request) (in agui.Request, ok bool) {
	data, end, ok := a.readDialect(rw, r)
	if !ok {
		return in, false
	}
	defer end()
	in, err := agui.Parse(data)
	if err != nil {
		fail(rw, http.StatusBadRequest, sentence(err))
	}
	return in, err == nil
}

// resume answers the question of an interrupted run.
func (x *exchange) resume(in wire.Resume) (t target, ok bool) {
	if in.Status == wire.Abandoned {
		return x.decide(in.InterruptID, false)
	}
	open, err := x.web.opts.Store.OpenQuestions(x.r.Context(), x.room.ID)
	if err != nil {
		x.web.broken(x.rw, "find an open question", err)
		return t, false
	}
	for _, q := range open {
		if q.ID != in.InterruptID {
			continue
		}
		option, ok := agui.Option(answer.Choices{ID: q.ID, Options: q.Options}, in.Payload)
		if !ok {
			return t, x.refuse(http.StatusBadRequest, "The payload must be one of the options.")
		}
		return x.choose(q.ID, option)
	}
	return t, x.refuse(http.StatusConflict, "This question is closed.")
}

// connect replays a conversation, and continues with its running answer: POST /agui/connect.
func (a aguiAPI) connect(rw http.ResponseWriter, r *http.Request) {
	var run *aguiRun
	apart(func() { run = a.joining(rw, r) })
	if run != nil {
		run.relay(run.target, joining{run.encoder(), run.Input.Messages})
	}
}

// joining reads a request of connect, or answers it and returns nil. Its messages are the stored ones.
func (a aguiAPI) joining(rw http.ResponseWriter, r *http.Request) *aguiRun {
	in, ok := a.read(rw, r)
	if !ok {
		return nil
	}
	run := &aguiRun{Request: in, exchange: &exchange{clients: a.clients, rw: rw, r: r}}
	run.Input.Messages = []wire.Message{}
	if no := run.load(threadID(in.ThreadID)); no != nil {
		if no.status == http.StatusNotFound {
			return run // a thread that has not begun
		}
		no.reply(rw)
		return nil
	}
	recent, err := a.web.recent(r.Context(), run.room.ID)
	if err != nil {
		a.web.broken(rw, "read a conversation", err)
		return nil
	}
	for _, m := range recent {
		role, text := dialect.User, dialect.Own(m.Text)
		if m.Author == chat.EntityID(a.web.opts.Agent.ID) {
			role, text = dialect.Assistant, m.Text
		}
		run.Input.Messages = append(run.Input.Messages, wire.Message{ID: shortID(m), Role: role, Content: dialect.Raw(text)})
	}
	if len(run.past) > 0 {
		run.target.run = run.running(run.past[len(run.past)-1])
	}
	return run
}

// joining is the encoder of a stream that begins with the messages of the conversation.
type joining struct {
	*agui.Encoder
	messages []wire.Message
}

// Begin implements [dialect.Encoder].
func (j joining) Begin(b []byte) []byte { return agui.History(j.Encoder.Begin(b), j.messages) }

// stop stops the answers of a thread: POST /agui/stop/{thread}.
func (a aguiAPI) stop(rw http.ResponseWriter, r *http.Request) {
	if a.stopOwn(rw, r, threadID(r.PathValue("thread"))) {
		reply(rw, http.StatusOK, map[string]bool{"stopped": true})
	}
}
