package sim

import (
	"bytes"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// window is the buffer size of each direction of a connection, in bytes.
const window = 64 << 10

// stream is one direction of a connection: a bounded buffer between a writer and a reader. They wait on a condition
// without holding the mutex, because waiting for a mutex would stop a bubble's clock.
type stream struct {
	mu      sync.Mutex
	changed sync.Cond
	buffer  bytes.Buffer
	busy    bool // a Write is in progress: others wait, so that their bytes are not interleaved

	writerClosed, readerClosed, broken bool
	reading, writing                   *deadline
}

// deadline is that of the reads or the writes. A new one replaces it, so that a late timer only marks its own.
type deadline struct {
	timer  *time.Timer
	passed bool
}

func newStream() *stream {
	s := &stream{reading: &deadline{}, writing: &deadline{}}
	s.changed.L = &s.mu
	return s
}

func (s *stream) read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.readerClosed:
			return 0, net.ErrClosed
		case s.reading.passed:
			return 0, os.ErrDeadlineExceeded
		case len(p) == 0:
			return 0, nil
		case s.buffer.Len() > 0:
			s.changed.Broadcast()
			return s.buffer.Read(p)
		case s.broken:
			return 0, syscall.ECONNRESET
		case s.writerClosed:
			return 0, io.EOF
		}
		s.changed.Wait()
	}
}

func (s *stream) write(p []byte) (written int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.busy && s.writable() == nil {
		s.changed.Wait()
	}
	if err := s.writable(); err != nil {
		return 0, err
	}
	s.busy = true
	defer func() {
		s.busy = false
		s.changed.Broadcast()
	}()
	for {
		if err := s.writable(); err != nil {
			return written, err
		}
		n := min(len(p)-written, window-s.buffer.Len())
		s.buffer.Write(p[written : written+n])
		if written += n; n > 0 {
			s.changed.Broadcast()
		}
		if written == len(p) {
			return written, nil
		}
		s.changed.Wait()
	}
}

func (s *stream) writable() error {
	switch {
	case s.writerClosed:
		return net.ErrClosed
	case s.writing.passed:
		return os.ErrDeadlineExceeded
	case s.broken:
		return syscall.ECONNRESET
	case s.readerClosed:
		return syscall.EPIPE
	}
	return nil
}

// setDeadline replaces what d points to, &s.reading or &s.writing. The zero time is no deadline.
func (s *stream) setDeadline(d **deadline, t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := (*d).timer; old != nil {
		old.Stop()
	}
	next := &deadline{}
	*d = next
	switch wait := time.Until(t); {
	case t.IsZero():
	case wait <= 0:
		next.passed = true
	default:
		next.timer = time.AfterFunc(wait, func() { s.change(func() { next.passed = true }) })
	}
	s.changed.Broadcast()
}

func (s *stream) closeReader() {
	s.setDeadline(&s.reading, time.Time{})
	s.change(func() { s.readerClosed = true })
}

func (s *stream) closeWriter() {
	s.setDeadline(&s.writing, time.Time{})
	s.change(func() { s.writerClosed = true })
}

func (s *stream) change(what func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what()
	s.changed.Broadcast()
}
