package web

import (
	"encoding/json"
	"net/http"
)

// errorForm returns an error response in the form that a client expects.
type errorForm func(status int, sentence, code string) (kind string, body []byte)

// shaped converts the error responses of next.
func shaped(next http.Handler, form errorForm) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&shapedErrors{ResponseWriter: rw, form: form}, r)
	})
}

// shapedErrors writes error responses in another form. They are written at once, see reply.
type shapedErrors struct {
	http.ResponseWriter
	form   errorForm
	status int // of an error
	done   bool
}

// WriteHeader implements http.ResponseWriter.
func (e *shapedErrors) WriteHeader(status int) {
	if e.status = status; status < http.StatusBadRequest {
		e.ResponseWriter.WriteHeader(status)
	}
}

// Write implements io.Writer.
func (e *shapedErrors) Write(p []byte) (int, error) {
	if e.status < http.StatusBadRequest {
		return e.ResponseWriter.Write(p)
	}
	if e.done {
		return len(p), nil
	}
	e.done = true
	var body struct{ Error, Code string }
	_ = json.Unmarshal(p, &body) // the errors of this package are in this form
	kind, shape := e.form(e.status, body.Error, body.Code)
	e.Header().Del("Content-Length")
	e.Header().Set("Content-Type", kind)
	e.ResponseWriter.WriteHeader(e.status)
	_, err := e.ResponseWriter.Write(shape)
	return len(p), err
}

// Unwrap returns the writer for an http.ResponseController.
func (e *shapedErrors) Unwrap() http.ResponseWriter { return e.ResponseWriter }
