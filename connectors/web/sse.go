package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
)

// errGone means that the reader has disconnected.
var errGone = errors.New("the reader disconnected")

// sse writes one event stream. It belongs to one goroutine.
type sse struct {
	w   http.ResponseWriter
	ctl *http.ResponseController
	buf bytes.Buffer
}

// newSSE writes a stream to w, which sets a deadline for each write: see [deadlines].
func newSSE(w http.ResponseWriter) *sse { return &sse{w: w, ctl: http.NewResponseController(w)} }

// start sends the header and a first byte at once, because some proxies hold the header back until there is a body.
func (s *sse) start() error {
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	s.w.WriteHeader(http.StatusOK)
	return s.comment("open")
}

// mostBuffered is how many bytes of events are buffered per write, and kept for the next ones.
const mostBuffered = 1 << 20

// frames writes each frame as one event, and small ones in one write.
func (s *sse) frames(fs []frame) error {
	for _, f := range fs {
		b, err := json.Marshal(f)
		if err != nil {
			return fmt.Errorf("encode a frame: %w", err)
		}
		fmt.Fprintf(&s.buf, "data: %s\n\n", b)
		if s.buf.Len() < mostBuffered {
			continue
		}
		if err := s.flush(); err != nil {
			return err
		}
	}
	return s.flush()
}

func (s *sse) comment(text string) error {
	fmt.Fprintf(&s.buf, ": %s\n\n", text)
	return s.flush()
}

// reconnect ends the stream with a request to reconnect, after a random delay that spreads the clients.
func (s *sse) reconnect() error {
	after := 500 + rand.IntN(1500)
	fmt.Fprintf(&s.buf, "retry: %d\nevent: reconnect\ndata: {\"type\":\"reconnect\",\"after\":%d}\n\n", after, after)
	return s.flush()
}

func (s *sse) flush() error {
	if s.buf.Len() == 0 {
		return nil
	}
	defer func() {
		if s.buf.Reset(); s.buf.Cap() > 2*mostBuffered {
			s.buf = bytes.Buffer{} // a file was sent: the next event needs less memory
		}
	}()
	if _, err := s.w.Write(s.buf.Bytes()); err != nil {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	if err := s.ctl.Flush(); err != nil {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	return nil
}
