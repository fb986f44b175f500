package web

import "net/http"

// endpoint is a route of the API with the types of its bodies. The table registers the handlers and describes them, so that the
// description can't differ from the routes.
type endpoint struct {
	route string // method and pattern, as of http.ServeMux
	serve http.HandlerFunc
	about string
	in    any    // the JSON body: a value of its type; nil: another kind, or none
	out   any    // the JSON reply; of a stream the events; nil: another kind, or none
	kind  string // media type of the reply; "": JSON if there is out
	query string // names of the parameters of the query, with spaces between
	made  bool   // the status of success is 201
}

const (
	eventStream = "text/event-stream"
	anyFile     = "application/octet-stream"
	one         = " /api/conversations/{id}" // a conversation
)

// endpoints returns all routes of the API.
func endpoints(w *Web) (all []endpoint) {
	c := clients{w}
	for _, part := range [][]endpoint{
		visitorEndpoints(w), contactAPI{w}.endpoints(), conversationEndpoints(w), manageAPI{w}.endpoints(), fileAPI{w}.endpoints(), programEndpoints(w),
		openaiAPI{c}.endpoints(), aisdkAPI{c}.endpoints(), aguiAPI{c}.endpoints(), deepchatAPI{c}.endpoints(),
	} {
		all = append(all, part...)
	}
	return all
}

func visitorEndpoints(w *Web) []endpoint {
	d, logins := door{w}, loginAPI{w}
	return []endpoint{
		{route: "POST /api/visitors", serve: answering(d.mint), about: "Makes an anonymous visitor, or renews its token", in: mintRequest{}, out: mintReply{}, made: true},
		{route: "POST /api/account/conversations", serve: answering(d.adopt), about: "Lists or takes over a visitor's conversations", in: adoptRequest{}, out: listReply{}},
		{route: "GET /api/login", serve: answering(logins.loggedIn), about: "Reports whether the browser is the owner's", out: loginReply{}},
		{route: "POST /api/login", serve: answering(logins.logIn), about: "Logs the owner's browser in", in: loginRequest{}, out: loginReply{}},
		{route: "DELETE /api/login", serve: answering(logins.logOut), about: "Logs the browser out", out: loginReply{}},
		{route: "POST /api/ticket", serve: answering(socketAPI{w}.ticket), about: "Makes a ticket for a WebSocket", out: ticketReply{}, made: true},
		{route: "GET " + socketPath, serve: socketAPI{w}.connect, about: "Begins a WebSocket"},
	}
}

func conversationEndpoints(w *Web) []endpoint {
	d := door{w}
	return []endpoint{
		{route: "POST /api/conversations", serve: answering(w.open), about: "Opens a conversation", out: openReply{}, made: true},
		{route: "GET /api/conversations", serve: answering(d.list), about: "Lists or searches the visitor's conversations", out: listReply{}, query: "q"},
		{route: "DELETE" + one, serve: answering(eraser{d}.delete), about: "Deletes the messages", out: deletedReply{}},
		{route: "POST" + one + "/restore", serve: answering(eraser{d}.restore), about: "Undoes a deletion", out: okReply{}},
		{route: "GET" + one + "/readers", serve: answering(d.readers), about: "Lists the readers, for the owner", out: readersReply{}},
		{route: "PUT" + one + "/readers/{reader...}", serve: answering(d.grant), about: "Grants access, for the owner", out: okReply{}},
		{route: "DELETE" + one + "/readers/{reader...}", serve: answering(d.revoke), about: "Revokes access, for the owner", out: okReply{}},
		{route: "GET" + one + "/messages", serve: w.history, about: "Returns the newest messages", out: exported{}},
		{route: "GET" + one + "/messages/{message}/files/{n}", serve: w.file, about: "Returns a file of an answer", kind: anyFile},
		{route: "POST" + one + "/messages/stream", serve: w.send, about: "Sends a message and streams the answer", in: question{}, out: frame{}, kind: eventStream},
		{route: "POST" + one + "/choices/stream", serve: w.choose, about: "Makes a choice and streams the result", in: choice{}, out: frame{}, kind: eventStream},
		{route: "GET" + one + "/stream", serve: clients{w}.resume, about: "Continues the stream of the running answer", out: frame{}, kind: eventStream, query: "after reasoning"},
		{route: "POST" + one + "/stop", serve: answering(w.stop), about: "Stops the answers", out: okReply{}},
	}
}

func (a manageAPI) endpoints() []endpoint {
	return []endpoint{
		{route: "PATCH" + one, serve: answering(a.rename), about: "Sets the title", in: renameRequest{}, out: okReply{}},
		{route: "GET" + one + "/export", serve: a.export, about: "Exports the conversation as Markdown or JSON", kind: "text/markdown", query: "format"},
		{route: "POST" + one + "/messages/{message}/again/stream", serve: a.again, about: "Answers the last message again", in: againRequest{}, out: frame{}, kind: eventStream},
		{route: "PUT" + one + "/messages/{message}/feedback", serve: answering(a.rate), about: "Rates an answer", in: rating{}, out: okReply{}},
		{route: "POST" + one + "/shares", serve: answering(a.share), about: "Makes a link to a copy", in: shareRequest{}, out: sharedReply{}, made: true},
		{route: "GET" + one + "/shares", serve: answering(a.shares), about: "Lists the links", out: sharesReply{}},
		{route: "DELETE" + one + "/shares/{share}", serve: answering(a.unshare), about: "Removes a link", out: okReply{}},
		{route: "GET " + sharedPath + "{token}", serve: a.shared, about: "Returns a shared copy, as text or JSON", kind: "text/plain"},
	}
}

func (a fileAPI) endpoints() []endpoint {
	return []endpoint{
		{route: "POST" + one + "/files", serve: a.receiveFile, about: "Stores a file for a message to name", out: fileReply{}, query: "clientFileId name", made: true},
		{route: "GET" + one + "/files/{file}", serve: a.uploaded, about: "Returns a visitor's file", kind: anyFile},
		{route: "GET" + one + "/files/{file}/thumbnail", serve: a.thumbnail, about: "Returns the thumbnail of an image", kind: "image/jpeg"},
		{route: "DELETE" + one + "/files/{file}", serve: answering(a.dropFile), about: "Removes a file that no message names", out: okReply{}},
	}
}

// probes are routes outside of the API, whose replies are text.
func probes(w *Web) []endpoint {
	alive := func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("ok\n")) }
	return []endpoint{
		{route: "GET /healthz", serve: alive, about: "Reports that the process is alive", kind: "text/plain"},
		{route: "GET /readyz", serve: w.readyz, about: "Reports whether the gateway accepts messages", kind: "text/plain"},
	}
}

func programEndpoints(w *Web) []endpoint {
	return []endpoint{
		{route: "POST " + hooksPath + "{name}", serve: w.hook, about: "Calls a hook with any JSON", out: hookStatus{}},
		{route: "POST " + agentsPath + "{name}/messages", serve: agentAPI{w}.message, about: "An agent writes to a chat", in: agentPost{}, out: hookStatus{}},
		{route: "GET " + AgentFilesPath + "{id}", serve: agentAPI{w}.file, about: "Returns a file to an agent, once", kind: anyFile},
	}
}
