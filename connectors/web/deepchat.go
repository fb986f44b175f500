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

// routes adds the routes to mux.
func (a deepchatAPI) routes(mux *http.ServeMux) {
	mux.HandleFunc("POST /deepchat", a.send)
	mux.HandleFunc("POST /deepchat/stop", func(rw http.ResponseWriter, r *http.Request) {
		if a.stopOwn(rw, r, deepchatID(conversationCookie(r))) {
			reply(rw, http.StatusOK, map[string]bool{"ok": true})
		}
	})
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

// send is POST /deepchat: a stream if the component asks for one, and otherwise the whole answer.
func (a deepchatAPI) send(rw http.ResponseWriter, r *http.Request) {
	var x *exchange
	var t target
	apart(func() { x, t = a.take(rw, r) })
	if x == nil {
		return
	}
	enc := &deepchat.Encoder{}
	if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		x.relay(t, enc)
		return
	}
	s, err := a.whole(r, t.run, x.listen(t, enc))
	sentence, failed := s.Failed()
	switch {
	case err != nil:
		a.unanswered(rw, r, err)
	case failed:
		reply(rw, http.StatusOK, deepchat.Error{Error: sentence})
	default:
		reply(rw, http.StatusOK, enc.Whole(s))
	}
}

// take reads a request and accepts its message, or answers it and returns nil.
func (a deepchatAPI) take(rw http.ResponseWriter, r *http.Request) (*exchange, target) {
	in, end, ok := a.read(rw, r)
	if !ok {
		return nil, target{}
	}
	defer end()
	id := cmp.Or(in.Conversation, conversationCookie(r))
	if id == "" {
		id = newID()
		http.SetCookie(rw, &http.Cookie{
			Name: deepchatCookie, Value: id, Path: "/deepchat", HttpOnly: true, SameSite: http.SameSiteStrictMode,
			Secure: strings.HasPrefix(r.Header.Get("Origin"), "https:"),
		})
	}
	x, ok := a.begin(rw, r, deepchatID(id))
	if !ok {
		return nil, target{}
	}
	t, ok := x.deliver(sent{messages: in.Messages, after: -1})
	if !ok {
		return nil, t
	}
	return x, t
}

// read reads a request, or answers it. The caller must call end when it no longer needs the request.
func (a deepchatAPI) read(rw http.ResponseWriter, r *http.Request) (in deepchat.Request, end func(), ok bool) {
	kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != "multipart/form-data" {
		data, end, ok := a.readDialect(rw, r)
		if !ok {
			return in, nil, false
		}
		in, err := deepchat.ParseJSON(data)
		return in, end, a.accepted(rw, end, err)
	}
	body := r.Body
	end = a.web.receive(rw, r)
	in, err := deepchat.ParseForm(multipart.NewReader(http.MaxBytesReader(rw, r.Body, maxBody), params["boundary"]))
	if err != nil {
		end()
		refuseBody(rw, body, refuse(err, sentence(err)))
	}
	return in, end, err == nil
}

// accepted answers a request that has another form.
func (deepchatAPI) accepted(rw http.ResponseWriter, end func(), err error) bool {
	if err != nil {
		end()
		fail(rw, http.StatusBadRequest, sentence(err))
	}
	return err == nil
}
