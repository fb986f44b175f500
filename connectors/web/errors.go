package web

import (
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"parley/internal/lang"
)

const (
	maxSkipped  = 64 << 20         // bytes of a refused body that are discarded
	skipTimeout = 10 * time.Second // time limit for that
)

// refusal is the error response of a request, in no particular form: each API writes it in its own. The sentence is shown to
// users.
type refusal struct {
	status   int
	sentence string             // one of package lang, or a text for developers
	pairs    []any              // the placeholders of the sentence
	code     string             // for programs; it must not change
	fields   *map[string]string // why the values of a form do not fit, in the form of the web API; nil otherwise
	wait     time.Duration      // until the client may try again; 0 is not said
	body     io.Reader          // of the request, if it has not been read: see [refuseBody]; nil for none
}

// unread returns r for a request whose body has not been read.
func (r *refusal) unread(body io.Reader) *refusal {
	r.body = body
	return r
}

// created is the body of a reply with the status 201.
type created struct{ body any }

// answering serves a route whose reply is JSON: what answer returns, or the refusal.
func answering(answer func(http.ResponseWriter, *http.Request) (any, *refusal)) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		body, no := answer(rw, r)
		switch made, ok := body.(created); {
		case no != nil:
			no.reply(rw)
		case ok:
			reply(rw, http.StatusCreated, made.body)
		default:
			reply(rw, http.StatusOK, body)
		}
	}
}

// refused returns a refusal with the usual code of the status. All replies that ask for another attempt say when.
func refused(status int, sentence string, pairs ...any) *refusal {
	no := &refusal{status: status, sentence: sentence, pairs: pairs, code: codes[status]}
	if status == http.StatusServiceUnavailable {
		no.wait = largeWait
	}
	return no
}

// codes are the codes of errors that have none of their own. Clients compare them, so they must not change.
var codes = map[int]string{
	http.StatusBadRequest:                   "BAD_REQUEST",
	http.StatusUnauthorized:                 "UNAUTHORIZED",
	http.StatusForbidden:                    "FORBIDDEN",
	http.StatusNotFound:                     "NOT_FOUND",
	http.StatusMethodNotAllowed:             "METHOD_NOT_ALLOWED",
	http.StatusRequestTimeout:               "TOO_SLOW",
	http.StatusConflict:                     "CONFLICT",
	http.StatusLengthRequired:               "LENGTH_REQUIRED",
	http.StatusRequestEntityTooLarge:        "TOO_LARGE",
	http.StatusUnsupportedMediaType:         "UNSUPPORTED_MEDIA_TYPE",
	http.StatusRequestedRangeNotSatisfiable: "RANGE_NOT_SATISFIABLE",
	http.StatusUnprocessableEntity:          "UNPROCESSABLE",
	http.StatusUpgradeRequired:              "UPGRADE_REQUIRED",
	http.StatusTooManyRequests:              "RATE_LIMITED",
	http.StatusServiceUnavailable:           "UNAVAILABLE",
}

// Error implements error, so that a refusal can end the reading of a body.
func (r *refusal) Error() string { return lang.Voice{}.Say(r.sentence, r.pairs...) }

// reply writes the refusal, in the form of the client's API.
func (r *refusal) reply(rw http.ResponseWriter) {
	if body := r.body; body != nil {
		r.body = nil
		refuseBody(rw, body, r)
		return
	}
	if r.wait > 0 {
		retryLater(rw, r.wait)
	}
	form, voice := ownForm, lang.Voice{}
	if e, ok := rw.(*errorWriter); ok {
		form, voice, rw = e.form, e.voice, e.ResponseWriter
	}
	kind, body := form(r.status, voice.Say(r.sentence, r.pairs...), r.code)
	if r.fields != nil {
		body, _ = json.Marshal(failure{r.sentence, r.code, *r.fields}) // strings always marshal
	}
	rw.Header().Del("Content-Length")
	rw.Header().Set("Content-Type", kind)
	rw.WriteHeader(r.status)
	_, _ = rw.Write(body) // the client has disconnected
}

// errorForm returns an error response in the form that a client expects.
type errorForm func(status int, sentence, code string) (kind string, body []byte)

// ownForm is the form of the web API.
func ownForm(_ int, sentence, code string) (kind string, body []byte) {
	body, _ = json.Marshal(failure{sentence, code, nil}) // strings always marshal
	return "application/json; charset=utf-8", append(body, '\n')
}

// formOf returns the form of the errors of a path.
func formOf(path string) errorForm {
	switch {
	case strings.HasPrefix(path, "/v1/"):
		return openaiErrors
	case path == "/api/chat", strings.HasPrefix(path, "/api/chat/"), path == "/healthz", path == "/readyz":
		return textErrors
	}
	return ownForm
}

// failure is the body of every error.
type failure struct {
	Error string `json:"error"` // a sentence for users
	Code  string `json:"code"`  // for programs
	// Fields has the reason for each value of a form that does not fit, by the name of its field.
	Fields map[string]string `json:"fields,omitempty"`
}

// fail answers a request with an error: a sentence that the page shows to users as it is.
func fail(rw http.ResponseWriter, status int, sentence string) { refused(status, sentence).reply(rw) }

// refuseBody replies to a request without processing its body. Most clients send the whole body before they read the
// reply, and would see a broken connection instead of the reason. So the rest is read and discarded, within limits.
func refuseBody(rw http.ResponseWriter, body io.Reader, no *refusal) {
	if no.status == http.StatusRequestTimeout {
		// After a read timeout, nothing more can be read from the connection.
		body = nil
	}
	replyEarly(rw, body, func() { no.reply(rw) })
}

// replyEarly replies before the body has been read, and discards the rest of it; nil is no rest. The connection is
// closed afterwards, because it is not certain that all of the body was read.
func replyEarly(rw http.ResponseWriter, body io.Reader, send func()) {
	ctl := http.NewResponseController(rw)
	// Without full duplex, the server would read the body before it writes. If it is unsupported, only the reply is
	// sent.
	_ = ctl.EnableFullDuplex()
	rw.Header().Set("Connection", "close")
	send()
	if body == nil {
		return
	}
	if ctl.Flush() != nil || ctl.SetReadDeadline(time.Now().Add(skipTimeout)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, body, maxSkipped) // the reply has already been sent
}

// checkJSON refuses a body whose headers announce that it is too large or not JSON.
func checkJSON(r *http.Request, most int64) *refusal {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err != nil || kind != "application/json":
		return refused(http.StatusUnsupportedMediaType, "The Content-Type must be application/json.")
	case r.ContentLength > most:
		return refused(http.StatusRequestEntityTooLarge, "refused.message_too_long")
	}
	return nil
}

// apiPaths are the paths of the API: patterns, as of http.ServeMux.
func apiPaths() []string {
	return []string{"/api/", "/v1/", "/agui", "/agui/", "/copilotkit/", "/deepchat", "/deepchat/"}
}

// formed gives the errors of the API the form that its clients expect.
func formed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		if !slices.ContainsFunc(apiPaths(), func(p string) bool { return path == p || strings.HasSuffix(p, "/") && strings.HasPrefix(path, p) }) {
			next.ServeHTTP(rw, r)
			return
		}
		inForm(next, formOf(path)).ServeHTTP(rw, r)
	})
}

// inForm gives the errors of next a form.
func inForm(next http.Handler, form errorForm) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&errorWriter{ResponseWriter: rw, form: form, voice: lang.In(r.Header.Get("Accept-Language")), method: r.Method}, r)
	})
}

// errorWriter knows the form of refusals, see reply, and replaces the error responses of others: those of the router and of
// [http.ServeContent].
type errorWriter struct {
	http.ResponseWriter
	form     errorForm
	voice    lang.Voice // of the browser
	method   string     // of the request
	replaced bool
}

// WriteHeader implements http.ResponseWriter.
func (e *errorWriter) WriteHeader(status int) {
	if status == http.StatusTemporaryRedirect || status == http.StatusMovedPermanently { // the router's, for empty parts of a path
		e.Header().Del("Location")
		status = http.StatusNotFound
	}
	if status < http.StatusBadRequest {
		e.ResponseWriter.WriteHeader(status)
		return
	}
	e.replaced = true
	e.Header().Del("Content-Disposition")
	sentence := http.StatusText(status) + "."
	switch status {
	case http.StatusNotFound:
		sentence = "refused.not_found"
	case http.StatusMethodNotAllowed:
		sentence = "This address does not accept " + e.method + "."
	case http.StatusRequestedRangeNotSatisfiable:
		sentence = "The requested range is not in the file."
	}
	fail(e, status, sentence)
}

// Write implements io.Writer.
func (e *errorWriter) Write(p []byte) (int, error) {
	if e.replaced {
		return len(p), nil
	}
	return e.ResponseWriter.Write(p)
}

// Unwrap returns the writer for an http.ResponseController.
func (e *errorWriter) Unwrap() http.ResponseWriter { return e.ResponseWriter }
