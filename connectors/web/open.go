package web

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// patience is the timeout of one write, or up to a second less: a reader that does not read is disconnected.
	patience = 10 * time.Second
	// maxWrite is the size of one write in bytes, so that the timeout does not depend on the length of a reply.
	maxWrite = 32 << 10
	// readsPerMessage is how many GET requests an address may make per message that it may send: a reload fetches the
	// conversation and each of its images.
	readsPerMessage = 20
	// attemptsPerMessage is how many POST requests an address may make per message that it may send: a client that
	// reconnects to an answer sends its message again.
	attemptsPerMessage = 10
)

// bounded limits the concurrent requests of an address.
func (w *Web) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		release := w.places.hold(caller{from: w.guard.client(r)})
		if release == nil {
			crowded("refused.network_busy").reply(rw)
			return
		}
		defer release()
		next.ServeHTTP(rw, r)
	})
}

// crowded refuses a request for a few seconds, at random, so that the clients don't come back together.
func crowded(sentence string) *refusal {
	no := refused(http.StatusServiceUnavailable, sentence)
	no.wait = time.Duration(1+rand.IntN(5)) * time.Second
	return no
}

// occupy limits the concurrent requests of a visitor, or of an address without tokens. The caller must call release.
func (d door) occupy(r *http.Request, who reader) (release func(), no *refusal) {
	by := caller{from: d.web.guard.client(r), shared: true}
	if who.id != "" && !who.owner {
		by = caller{who: who.id}
	}
	if release = d.web.desks.hold(by); release == nil {
		return nil, crowded("refused.many_chats")
	}
	return release, nil
}

// legible refuses addresses with control characters or invalid UTF-8: no id has them, and a store may fail on them.
func legible(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !utf8.ValidString(r.URL.Path) || strings.ContainsFunc(r.URL.Path, unicode.IsControl) {
			fail(rw, http.StatusNotFound, "refused.not_found")
			return
		}
		next.ServeHTTP(rw, r)
	})
}

// counted limits the GET requests of an address per minute. Others have limits of their own.
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

// deadlines splits writes into pieces with a deadline each. A reader that reads slowly but steadily is never cut off,
// however long the reply is; one that stops reading is, after at most patience.
type deadlines struct {
	http.ResponseWriter
	ctl *http.ResponseController
	set time.Time // when the deadline was set
}

func newDeadlines(rw http.ResponseWriter) *deadlines {
	return &deadlines{ResponseWriter: rw, ctl: http.NewResponseController(rw)}
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

// WriteHeader implements http.ResponseWriter. It sets the deadline of a reply without a body.
func (d *deadlines) WriteHeader(status int) {
	_ = d.extend() // on failure the server's later write of the header fails too
	d.ResponseWriter.WriteHeader(status)
}

// extend sets the next write's deadline, unless that was done within the last second: setting it costs more than
// writing a small frame.
func (d *deadlines) extend() error {
	now := time.Now()
	if now.Sub(d.set) < time.Second {
		return nil
	}
	d.set = now
	err := d.ctl.SetWriteDeadline(now.Add(patience))
	if err != nil && !errors.Is(err, http.ErrNotSupported) { // a test's recorder has no connection
		return fmt.Errorf("set a write deadline: %w", err)
	}
	return nil
}

// Unwrap returns the writer for an http.ResponseController.
func (d *deadlines) Unwrap() http.ResponseWriter { return d.ResponseWriter }
