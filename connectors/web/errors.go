package web

import (
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
)

const (
	maxSkipped  = 64 << 20         // bytes of a refused body that are read for the sender's sake
	skipTimeout = 10 * time.Second // and how long
)

// refuseBody replies to a request whose body is not read to its end. Most clients send all of a body before they read a reply,
// and would see a broken connection instead: so the rest is read, within limits, and kept nowhere.
func refuseBody(rw http.ResponseWriter, body io.Reader, no *refusal) {
	ctl := http.NewResponseController(rw)
	_ = ctl.EnableFullDuplex() // where that can't be, the reply alone has to do
	rw.Header().Set("Connection", "close")
	no.reply(rw)
	if no.status == http.StatusRequestTimeout {
		return // the connection does not outlive a read that took too long
	}
	if ctl.Flush() != nil || ctl.SetReadDeadline(time.Now().Add(skipTimeout)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, body, maxSkipped) // the reply is out already
}

// checkJSON refuses a body that is announced as too large, or as something else than JSON.
func checkJSON(r *http.Request, most int64) *refusal {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err != nil || kind != "application/json":
		return &refusal{http.StatusUnsupportedMediaType, "The Content-Type must be application/json."}
	case r.ContentLength > most:
		return &refusal{http.StatusRequestEntityTooLarge, "This message is too long."}
	}
	return nil
}

// elsewhere answers what no route takes: another method than those of the address, or no address at all.
func elsewhere(api *http.ServeMux) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		var allowed []string
		for _, method := range []string{http.MethodDelete, http.MethodGet, http.MethodPost} {
			other := r.Clone(r.Context())
			other.Method = method
			if _, pattern := api.Handler(other); strings.HasPrefix(pattern, method+" ") {
				allowed = append(allowed, method)
			}
		}
		if len(allowed) == 0 {
			fail(rw, http.StatusNotFound, "Not found.")
			return
		}
		rw.Header().Set("Allow", strings.Join(allowed, ", "))
		fail(rw, http.StatusMethodNotAllowed, "This address does not accept "+r.Method+".")
	}
}

// jsonErrors turns replies of the library that are errors into those of the API.
func jsonErrors(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&errorWriter{ResponseWriter: rw}, r)
	})
}

type errorWriter struct {
	http.ResponseWriter
	replaced bool
}

// WriteHeader implements http.ResponseWriter.
func (e *errorWriter) WriteHeader(status int) {
	if status < http.StatusBadRequest || strings.HasPrefix(e.Header().Get("Content-Type"), "application/json") {
		e.ResponseWriter.WriteHeader(status)
		return
	}
	e.replaced = true
	e.Header().Del("Content-Length")
	e.Header().Del("Content-Disposition")
	sentence := http.StatusText(status) + "."
	if status == http.StatusRequestedRangeNotSatisfiable {
		sentence = "The requested range is not in the file."
	}
	fail(e.ResponseWriter, status, sentence)
}

// Write implements io.Writer.
func (e *errorWriter) Write(p []byte) (int, error) {
	if e.replaced {
		return len(p), nil
	}
	return e.ResponseWriter.Write(p)
}

// Unwrap lets an http.ResponseController find the connection.
func (e *errorWriter) Unwrap() http.ResponseWriter { return e.ResponseWriter }
