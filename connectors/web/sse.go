package web

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"parley/core/answer"
	"parley/core/chat"
)

// errGone means that the reader has disconnected.
var errGone = errors.New("the reader disconnected")

// sse writes one event stream. It belongs to one goroutine. Its timer and its buffer are reused, because there are
// thousands of streams.
type sse struct {
	w       http.ResponseWriter
	ctl     *http.ResponseController
	buf     []byte
	timer   *time.Timer
	leaving <-chan struct{} // closed when the stream has to end
}

// newSSE writes a stream to w, which sets a deadline for each write: see [deadlines].
func newSSE(w http.ResponseWriter, leaving <-chan struct{}) *sse {
	timer := time.NewTimer(beat)
	timer.Stop()
	return &sse{w: w, ctl: http.NewResponseController(w), timer: timer, leaving: leaving}
}

// start sends the header and a first byte at once, because some proxies hold the header back until there is a body. The
// headers ask proxies not to buffer or compress, which would delay events.
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

// frames writes each frame as one event, and small ones in one write. JSON contains no line breaks, so each event is
// one line.
func (s *sse) frames(fs []frame) error {
	for i := range fs {
		var err error
		if fs[i].cursor != "" {
			s.buf = append(append(append(s.buf, "id: "...), fs[i].cursor...), '\n')
		}
		s.buf = append(s.buf, "data: "...)
		if s.buf, err = fs[i].append(s.buf); err != nil {
			return fmt.Errorf("encode a frame: %w", err)
		}
		s.buf = append(s.buf, "\n\n"...)
		if len(s.buf) < mostBuffered {
			continue
		}
		if err := s.flush(); err != nil {
			return err
		}
	}
	return s.flush()
}

// comment writes a line that clients ignore.
func (s *sse) comment(text string) error {
	s.buf = fmt.Appendf(s.buf, ": %s\n\n", text)
	return s.flush()
}

// wait returns when a has changed after at, and reports whether it had to wait; meanwhile it sends keep-alives, so that
// proxies don't close an idle connection, and so that a disconnected reader is noticed. Its error is io.EOF if the
// answer has ended, [answer.ErrLost] if another process continues it, [chat.ErrShutdown] if the gateway stops, and
// errGone if the reader has disconnected.
func (s *sse) wait(ctx context.Context, a *answer.Answer, at answer.Cursor) (waited bool, err error) {
	for ; ; waited = true {
		changed, err := a.Changed(at)
		if err != nil || changed == nil {
			return waited, err
		}
		if err := s.sleep(ctx, beat, changed); err != nil {
			return true, err
		}
		select {
		case <-changed:
		default:
			if err := s.comment("alive"); err != nil {
				return true, err
			}
		}
	}
}

// pause returns at a time, or when cut is closed.
func (s *sse) pause(ctx context.Context, until time.Time, cut <-chan struct{}) error {
	if d := time.Until(until); d > 0 {
		return s.sleep(ctx, d, cut)
	}
	return nil
}

// sleep returns after d, or when cut is closed. It fails when the stream has to end, unless cut is closed too.
func (s *sse) sleep(ctx context.Context, d time.Duration, cut <-chan struct{}) error {
	s.timer.Reset(d)
	defer s.timer.Stop()
	select {
	case <-cut:
	case <-s.timer.C:
	case <-s.leaving:
		select { // the last that there was to wait for is still written
		case <-cut:
		default:
			return chat.ErrShutdown
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// reconnect ends the stream with a request to reconnect, after a random delay that spreads the clients. code is why the reader
// may not read any more, or empty.
func (s *sse) reconnect(code string) error {
	f := frame{Type: "reconnect", After: 500 + rand.IntN(1500), Code: code}
	if code == "" {
		s.buf = fmt.Appendf(s.buf, "retry: %d\n", f.After)
	}
	s.buf = append(s.buf, "event: reconnect\n"...)
	return s.frames([]frame{f})
}

// flush writes the buffer.
func (s *sse) flush() error {
	if len(s.buf) == 0 {
		return nil
	}
	defer func() {
		if s.buf = s.buf[:0]; cap(s.buf) > 2*mostBuffered {
			s.buf = nil // a file was sent: the next event needs less memory
		}
	}()
	if _, err := s.w.Write(s.buf); err != nil {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	if err := s.ctl.Flush(); err != nil {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	return nil
}
