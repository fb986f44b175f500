package web

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// socketReply is the response of a request of a socket. Each event becomes one message, and the end another one, with the
// status and the body. It belongs to one request.
type socketReply struct {
	*socket
	request string
	header  http.Header
	status  int
	events  bool
	buf     []byte // the body, or the beginning of an event
	begun   chan struct{}
	once    sync.Once
}

// Header implements http.ResponseWriter.
func (o *socketReply) Header() http.Header { return o.header }

// WriteHeader implements http.ResponseWriter.
func (o *socketReply) WriteHeader(status int) {
	if o.status == 0 && status >= http.StatusOK {
		o.status, o.events = status, strings.HasPrefix(o.header.Get("Content-Type"), "text/event-stream")
		o.once.Do(func() { close(o.begun) })
	}
}

// Write implements io.Writer. The handlers bound the bodies, and events are passed on.
func (o *socketReply) Write(p []byte) (int, error) {
	o.WriteHeader(http.StatusOK)
	if o.buf = append(o.buf, p...); !o.events {
		return len(p), nil
	}
	from := 0
	for {
		n := bytes.Index(o.buf[from:], []byte("\n\n"))
		if n < 0 {
			break
		}
		if err := o.event(o.buf[from : from+n]); err != nil {
			return 0, err
		}
		from += n + 2
	}
	if o.buf = append(o.buf[:0], o.buf[from:]...); cap(o.buf) > 2*mostBuffered {
		o.buf = bytes.Clone(o.buf)
	}
	return len(p), nil
}

// event sends the data of one event, with its cursor. Comments keep other connections open; this one has pings.
func (o *socketReply) event(lines []byte) error {
	var data, id []byte
	for line := range bytes.SplitSeq(lines, []byte("\n")) {
		if rest, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			data = rest
		} else if rest, ok := bytes.CutPrefix(line, []byte("id: ")); ok {
			id = rest
		}
	}
	if data == nil {
		return nil
	}
	head := appendString([]byte(`{"request":`), o.request)
	if id != nil {
		head = appendString(append(head, `,"cursor":`...), string(id))
	}
	return o.write(append(head, `,"event":`...), data, []byte("}"))
}

// finish sends the end of the request. Without a status, the handler was interrupted.
func (o *socketReply) finish() {
	if o.status == 0 {
		refused(http.StatusServiceUnavailable, "refused.not_answered").reply(o)
	}
	head := appendString([]byte(`{"request":`), o.request)
	head = fmt.Appendf(head, `,"status":%d`, o.status)
	if after, err := strconv.Atoi(o.header.Get("Retry-After")); err == nil {
		head = fmt.Appendf(head, `,"retryAfter":%d`, after)
	}
	body := bytes.TrimSpace(o.buf)
	if o.events || len(body) == 0 {
		body = nil
	} else {
		head = append(head, `,"body":`...)
	}
	_ = o.write(head, body, []byte("}")) // the client has gone otherwise
}

// FlushError implements the flushing of an http.ResponseController: all was sent.
func (*socketReply) FlushError() error { return nil }
