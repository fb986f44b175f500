package web

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"
)

const (
	// patience is how long one write may take: a reader who does not read is let go (WB-02, WB-15).
	patience = 10 * time.Second
	// maxWrite is how many bytes one write has, so that its time does not depend on the length of a reply.
	maxWrite = 32 << 10
	// readsPerMessage is how many GET requests an address has for each message that it may send: a reload asks for the
	// conversation, and for each of its pictures.
	readsPerMessage = 20
	// attemptsPerMessage is how many requests with a message an address has for each one that it may send: whoever comes back to an
	// answer sends its message again.
	attemptsPerMessage = 10
)

// bounded limits how many requests of an address are open at once.
func (w *Web) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		who := w.guard.client(r)
		if !w.places.take(who, 1) {
			retryLater(rw, time.Duration(1+rand.IntN(5))*time.Second)
			fail(rw, http.StatusServiceUnavailable, "Too many open requests from your network. Please try again in a moment.")
			return
		}
		defer w.places.give(who, 1)
		next.ServeHTTP(rw, r)
	})
}

// counted limits how many GET requests an address makes in a minute.
func (w *Web) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if (r.Method != http.MethodGet && r.Method != http.MethodHead) || w.allow(rw, r, w.reads) {
			next.ServeHTTP(rw, r)
		}
	})
}

// patient gives each write of a reply a deadline.
func patient(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(newDeadlines(rw), r)
	})
}

// deadlines writes in pieces that have a deadline each.
type deadlines struct {
	http.ResponseWriter
	ctl *http.ResponseController
}

func newDeadlines(rw http.ResponseWriter) *deadlines {
	return &deadlines{rw, http.NewResponseController(rw)}
}

// Write implements io.Writer.
func (d *deadlines) Write(p []byte) (written int, err error) {
	for {
		if err := d.extend(); err != nil {
			return written, err
		}
		n, err := d.ResponseWriter.Write(p[:min(len(p), maxWrite)])
		written += n
		if p = p[n:]; err != nil || len(p) == 0 {
			return written, err
		}
	}
}

// WriteHeader implements http.ResponseWriter. A reply without a body has its deadline from here.
func (d *deadlines) WriteHeader(status int) {
	_ = d.extend() // the server writes the head later; then it finds out itself that the connection is gone
	d.ResponseWriter.WriteHeader(status)
}

// extend gives the next write its time.
func (d *deadlines) extend() error {
	err := d.ctl.SetWriteDeadline(time.Now().Add(patience))
	if err != nil && !errors.Is(err, http.ErrNotSupported) { // a recorder of a test has no connection
		return fmt.Errorf("set a write deadline: %w", err)
	}
	return nil
}

// Unwrap lets an http.ResponseController find the connection.
func (d *deadlines) Unwrap() http.ResponseWriter { return d.ResponseWriter }
