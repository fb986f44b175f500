package web

import (
	"net/http"

	"parley/connectors/web/agui"
	"parley/connectors/web/dialect"
	"parley/core/chat"
	wire "parley/internal/agui"
	"parley/internal/version"
)

// aguiAPI serves AG-UI at /agui, and the four routes of CopilotKit's runtime below /copilotkit. Its client chooses the ids of
// threads.
type aguiAPI struct{ clients }

// endpoints returns the routes.
func (a aguiAPI) endpoints() []endpoint {
	return []endpoint{
		{route: "POST /agui", serve: a.run, about: "AG-UI: answers the last message", kind: eventStream},
		{route: "POST /agui/connect", serve: a.connect, about: "AG-UI: replays a thread", kind: eventStream},
		{route: "POST /agui/stop/{thread}", serve: a.stopThread, about: "AG-UI: stops the answers of a thread"},
		{route: "GET /copilotkit/info", serve: a.info, about: "CopilotKit: describes the agent"},
		{route: "POST /copilotkit/agent/{agent}/run", serve: a.run, about: "CopilotKit: answers the last message", kind: eventStream},
		{route: "POST /copilotkit/agent/{agent}/connect", serve: a.connect, about: "CopilotKit: replays a thread", kind: eventStream},
		{route: "POST /copilotkit/agent/{agent}/stop/{thread}", serve: a.stopThread, about: "CopilotKit: stops the answers of a thread"},
	}
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

// encoderOf returns the encoder for the answer of a run.
func encoderOf(in agui.Request, run chat.RunID) *agui.Encoder {
	return &agui.Encoder{Thread: in.ThreadID, Run: in.RunID, Version: in.ProtocolVersion, Messages: in.Input.Messages, State: in.StateObject(),
		ID: string(chat.Run{ID: run}.Said()) + "/" + in.RunID}
}

// run answers the last message, or continues an interrupted run: POST /agui.
func (a aguiAPI) run(rw http.ResponseWriter, r *http.Request) {
	var in agui.Request
	x, t := a.accept(rw, r, func(body []byte) (q incoming, err error) {
		if in, err = agui.Parse(body); err != nil {
			return q, err
		}
		q = incoming{id: threadID(in.ThreadID), messages: in.Messages, system: in.System, whole: true}
		if len(in.Resume) > 0 {
			q.question, q.payload = in.Resume[0].InterruptID, in.Resume[0].Payload
			if in.Resume[0].Status == wire.Abandoned {
				q.payload = dialect.Raw(false)
			}
		} else if !dialect.Asks(in.Messages) {
			return q, dialect.ErrNoMessage
		}
		in.Messages = nil // they would be held as long as the stream
		return q, nil
	})
	if x != nil {
		x.relay(t, encoderOf(in, t.run))
	}
}

// connect replays a conversation, and continues with its running answer: POST /agui/connect.
func (a aguiAPI) connect(rw http.ResponseWriter, r *http.Request) {
	x := &exchange{clients: a.clients, rw: rw, r: r}
	var in agui.Request
	var t target
	ok := false
	apart(func() { in, t, ok = a.join(x) })
	if ok {
		x.relay(t, joining{encoderOf(in, t.run), in.Input.Messages})
	}
}

// join reads a request of connect, or answers it. Its messages are the stored ones. A thread that has not begun has none.
func (a aguiAPI) join(x *exchange) (in agui.Request, t target, ok bool) {
	data, end, ok := a.readBody(x.rw, x.r)
	if !ok {
		return in, t, false
	}
	defer end()
	in, err := agui.Parse(data)
	if err != nil {
		fail(x.rw, http.StatusBadRequest, sentence(err))
		return in, t, false
	}
	if no := x.load(threadID(in.ThreadID), door{x.web}.conversation); no != nil && no.status != http.StatusNotFound {
		no.reply(x.rw)
		return in, t, false
	}
	in.Messages, in.Input.Messages = nil, []wire.Message{}
	for _, m := range x.recent {
		role, text := a.said(m)
		in.Input.Messages = append(in.Input.Messages, wire.Message{ID: shortID(m), Role: role, Content: dialect.Raw(text)})
	}
	return in, target{run: x.current()}, true
}

// joining is the encoder of a stream that begins with the messages of the conversation.
type joining struct {
	*agui.Encoder
	messages []wire.Message
}

// Begin implements [dialect.Encoder].
func (j joining) Begin(b []byte) []byte { return agui.History(j.Encoder.Begin(b), j.messages) }

// stopThread stops the answers of a thread: POST /agui/stop/{thread}.
func (a aguiAPI) stopThread(rw http.ResponseWriter, r *http.Request) {
	a.stop(rw, r, threadID(r.PathValue("thread")), map[string]bool{"stopped": true})
}
