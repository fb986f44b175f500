package discord

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

const (
	writeTime    = 10 * time.Second
	mostFrame    = 64 << 20 // bytes
	controlFrame = 1024     // bytes: no longer frame is the gateway's own
)

// How a connection ends, beyond what the network does.
var (
	errReconnect = errors.New("Discord asks for a new connection")
	errUnhelpful = errors.New("Discord sent a frame that is too large")
)

// invalid is op 9: the session is over, or may be resumed.
type invalid struct{ resumable bool }

func (i invalid) Error() string {
	return fmt.Sprintf("Discord ended the session; it can be resumed: %t", i.resumable)
}

// closeCode is why Discord closed the connection.
type closeCode int

func (c closeCode) Error() string {
	return fmt.Sprintf("Discord closed the connection with code %d", int(c))
}

// wire is a connection to the gateway that listens to what the library handles badly or keeps to itself. Close codes
// and heartbeats it only notes. Op 7 and op 9 never reach the library: to the first it may lock itself up, to the
// second it identifies at once and again, which can spend a day's logins in seconds (DR-15, DR-17). They end the
// connection, without a close frame, so that the session can be resumed.
type wire struct {
	net.Conn
	done chan struct{} // closed when the connection is
	once sync.Once
	scan scanner // of the one reader

	mu    sync.Mutex
	why   error // the first word on the end
	ours  bool  // we say goodbye
	over  bool  // nothing more can be read
	every time.Duration
	acked time.Time
}

func newWire(c net.Conn) *wire { return &wire{Conn: c, done: make(chan struct{})} }

// Read implements [net.Conn].
func (w *wire) Read(p []byte) (int, error) {
	if err := w.cut(); err != nil {
		return 0, err
	}
	n, err := w.Conn.Read(p)
	if w.leaving(err) {
		<-w.done // the library sleeps with its locks held while it closes: its reader is not to wait for them
		return 0, net.ErrClosed
	}
	pass, stop := w.scan.read(p[:n], w.frame)
	if !stop {
		return n, err
	}
	_ = w.Conn.Close() // so that nothing more is written; the library closes w later
	if pass > 0 {
		return pass, nil
	}
	return 0, w.cut()
}

// Write implements [net.Conn]. It does not wait for ever: the library holds its locks meanwhile. And it does not let the
// library answer a close frame, which it does with the code that ends a session.
func (w *wire) Write(p []byte) (int, error) {
	if err := w.ended(); err != nil {
		return 0, err
	}
	if err := w.Conn.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return 0, err
	}
	return w.Conn.Write(p)
}

// Close implements [net.Conn].
func (w *wire) Close() error {
	err := w.Conn.Close()
	w.once.Do(func() { close(w.done) })
	return err
}

// cut is why we ended the connection; nil if we did not.
func (w *wire) cut() error {
	why := w.ended()
	if errors.As(why, new(closeCode)) {
		return nil // the library reads that itself
	}
	return why
}

// leave says that the library is about to close w. It is false if the library has seen the end already: it closes w by
// itself then.
func (w *wire) leave() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ours = w.why == nil && !w.over
	return w.ours
}

// leaving takes note of an error of the reader.
func (w *wire) leaving(err error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = w.over || err != nil
	return w.ours
}

// ended is why the connection ended, as far as Discord said.
func (w *wire) ended() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.why
}

// beats says how often there should be a sign of life, and when there was one last.
func (w *wire) beats() (every time.Duration, last time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.every, w.acked
}

// frame reads one frame; it is true if the connection ends before it.
func (w *wire) frame(op byte, size uint64, payload []byte) (stop bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case size > mostFrame:
		return w.end(errUnhelpful)
	case op == 8 && len(payload) >= 2:
		w.end(closeCode(binary.BigEndian.Uint16(payload)))
		return false
	case op != 1 || size > controlFrame:
		return false
	}
	var f struct {
		Op   int             `json:"op"`
		Data json.RawMessage `json:"d"`
	}
	if json.Unmarshal(payload, &f) != nil {
		return false // the library says what it thinks of it
	}
	switch f.Op {
	case 7:
		return w.end(errReconnect)
	case 9:
		return w.end(invalid{resumable: string(f.Data) == "true"})
	case 10:
		var hello struct {
			Every int `json:"heartbeat_interval"` // milliseconds
		}
		_ = json.Unmarshal(f.Data, &hello) // the library refuses a hello without it
		w.every, w.acked = time.Duration(hello.Every)*time.Millisecond, time.Now()
	case 11:
		w.acked = time.Now()
	}
	return false
}

func (w *wire) end(why error) bool {
	if w.why == nil {
		w.why = why
	}
	return true
}
