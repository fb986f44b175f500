package web

import (
	"cmp"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"

	"parley/connectors/web/deepchat"
)

// deepchatAPI serves the web component deep-chat.
type deepchatAPI struct{ clients }

// endpoints returns the routes.
func (a deepchatAPI) endpoints() []endpoint {
	stop := func(rw http.ResponseWriter, r *http.Request) {
		a.stop(rw, r, deepchatID(conversationOf(r)), okReply{true})
	}
	return []endpoint{
		{route: "POST /deepchat", serve: a.send, about: "deep-chat: answers the last message", kind: eventStream},
		{route: "POST /deepchat/stop", serve: stop, about: "deep-chat: stops the answers", out: okReply{}, query: "conversation"},
		{route: "GET /deepchat/history", serve: a.history, about: "deep-chat: returns the messages", out: []deepchat.Response{}, query: "conversation"},
	}
}

// deepchatID returns the client's id of a conversation, apart from those of other formats.
func deepchatID(id string) string { return "deepchat/" + id }

// deepchatCookie names the conversation of a browser: the component has no ids.
const deepchatCookie = "parley_deepchat"

func conversationCookie(r *http.Request) string {
	cookie, err := r.Cookie(deepchatCookie)
	if err != nil || !firstParty(r) {
		return ""
	}
	return cookie.Value
}

// conversationOf returns the client's id of the conversation of a request without a body: of its address, or of a cookie.
func conversationOf(r *http.Request) string {
	return cmp.Or(r.URL.Query().Get("conversation"), conversationCookie(r))
}

// history returns the messages of a conversation, for the component's loadHistory: none of one that is not known yet.
func (a deepchatAPI) history(rw http.ResponseWriter, r *http.Request) {
	x := &exchange{clients: a.clients, rw: rw, r: r}
	if no := x.load(deepchatID(conversationOf(r)), door(a.clients).conversation); no != nil && no.status != http.StatusNotFound {
		no.reply(rw)
		return
	}
	messages := []deepchat.Response{}
	for _, m := range x.recent {
		one := deepchat.Response{Role: "user"}
		if _, one.Text = a.said(m); a.web.opts.wrote(m) {
			one.Role = "ai"
		}
		for _, f := range attachedTo(m) {
			one.Files = append(one.Files, deepchat.File{Name: f.Name})
		}
		messages = append(messages, one)
	}
	reply(rw, http.StatusOK, messages)
}

// send is POST /deepchat: a stream if the component asks for one, and otherwise the whole answer.
func (a deepchatAPI) send(rw http.ResponseWriter, r *http.Request) {
	x, t := a.accept(rw, r)
	if x == nil {
		return
	}
	enc := &deepchat.Encoder{}
	if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		x.relay(t, enc)
		return
	}
	s, ok := x.wait(t, enc)
	switch sentence, failed := s.Failed(); {
	case !ok:
	case failed:
		reply(rw, http.StatusOK, deepchat.Error{Error: sentence})
	default:
		reply(rw, http.StatusOK, enc.Whole(s))
	}
}

// accept accepts the message of a request, or answers the request; then x is nil. A message with files is a form.
func (a deepchatAPI) accept(rw http.ResponseWriter, r *http.Request) (x *exchange, t target) {
	kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != "multipart/form-data" {
		return a.clients.accept(rw, r, func(body []byte) (incoming, error) {
			in, err := deepchat.ParseJSON(body)
			return locate(rw, r, in, err)
		})
	}
	apart(func() {
		body := r.Body
		end := a.web.receive(rw, r)
		in, err := deepchat.ParseForm(multipart.NewReader(http.MaxBytesReader(rw, r.Body, maxBody), params["boundary"]))
		q, err := locate(rw, r, in, err)
		if err != nil {
			end()
			refuseBody(rw, body, refuse(err, sentence(err)))
			return
		}
		defer end()
		x, t = a.take(rw, r, q)
	})
	return x, t
}

// locate returns the message of a request in its conversation: the one that the request or a cookie names, or a new one.
func locate(rw http.ResponseWriter, r *http.Request, in deepchat.Request, err error) (incoming, error) {
	id := cmp.Or(in.Conversation, conversationCookie(r))
	if id == "" && err == nil {
		id = newID()
		c := pageCookie(r, deepchatCookie, id, 0)
		c.Path = "/deepchat"
		http.SetCookie(rw, c)
	}
	return incoming{id: deepchatID(id), messages: in.Messages}, err
}
