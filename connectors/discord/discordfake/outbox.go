package discordfake

import "sync"

// outbox is a connection's unbounded queue of frames with one reader. After
// closing, it takes nothing more.
type outbox struct {
	mu     sync.Mutex
	frames [][]byte
	code   int
	closed bool
	wake   chan struct{}
}

func newOutbox() *outbox { return &outbox{wake: make(chan struct{}, 1)} }

func (o *outbox) put(frame []byte) {
	o.mu.Lock()
	if !o.closed {
		o.frames = append(o.frames, frame)
	}
	o.mu.Unlock()
	o.signal()
}

// close ends the queue behind what is in it, with a close code (0: none). Only
// the first call counts.
func (o *outbox) close(code int) {
	o.mu.Lock()
	if !o.closed {
		o.closed, o.code = true, code
	}
	o.mu.Unlock()
	o.signal()
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default: // the reader has been woken already
	}
}

// take waits for frames. At the end there are none, and more is false.
func (o *outbox) take() (frames [][]byte, code int, more bool) {
	for {
		o.mu.Lock()
		frames, o.frames = o.frames, nil
		closed, code := o.closed, o.code
		o.mu.Unlock()
		switch {
		case len(frames) > 0:
			return frames, 0, true
		case closed:
			return nil, code, false
		}
		<-o.wake
	}
}

// ended tells with which code the queue was closed, if it was.
func (o *outbox) ended() (code int, closed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.code, o.closed
}
