package web

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

const (
	smallBody  = 256 << 10        // bytes: any text without an image
	uploadStep = 256 << 10        // bytes that a larger body takes from the share at a time
	maxUploads = 4 * maxBody      // bytes of larger bodies held at a time
	maxArrival = time.Minute      // time limit of a message's body
	rateEvery  = 10 * time.Second // the minimum rate: in each such interval
	rateBytes  = 64 << 10         // this many bytes must arrive, or the end of the body
	largeWait  = 5 * time.Second  // retry delay of a refused upload
)

// Reasons to stop reading a body.
var (
	errUploads = errors.New("too many bytes of other uploads are held")
	errSlow    = errors.New("the body arrives too slowly")
)

// upload is a request body being received. It takes from the shared memory only for the bytes that have arrived, not
// for the announced length, so that a slow sender does not block others. Small bodies take nothing: their number is
// bounded by that of requests. It belongs to one request.
type upload struct {
	io.ReadCloser
	ctl   *http.ResponseController
	share *share // nil: the bytes read are not held
	who   caller

	within time.Duration // time limit of the body

	got   int64 // bytes received
	held  int64 // bytes taken from share
	over  bool  // the body has ended
	ends  time.Time
	since int64     // bytes received in the current interval
	last  time.Time // deadline of the whole body
}

// receive wraps the body of r with a minimum rate and a share of the memory. end returns the share, and must be called
// when the body's content is no longer held.
func (w *Web) receive(rw http.ResponseWriter, r *http.Request) (end func()) {
	u := &upload{ReadCloser: r.Body, ctl: http.NewResponseController(rw), share: w.uploads, who: caller{from: w.guard.client(r)}, within: maxArrival}
	u.begin()
	r.Body = u
	return func() { u.share.give(u.who, u.held) }
}

// begin starts the time limits.
func (u *upload) begin() {
	now := time.Now()
	u.ends, u.last = now.Add(rateEvery), now.Add(u.within)
}

// Read implements io.Reader.
func (u *upload) Read(p []byte) (int, error) {
	if u.over {
		return 0, io.EOF
	}
	if err := u.pace(); err != nil {
		return 0, err
	}
	n, err := u.ReadCloser.Read(p)
	u.got += int64(n)
	u.since += int64(n)
	// The end is remembered, because reading further would set a deadline on a connection that may serve the next
	// request.
	u.over = err == io.EOF
	for u.share != nil && u.held < u.got-smallBody {
		if !u.share.take(u.who, uploadStep) {
			return 0, errUploads
		}
		u.held += uploadStep
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("%w: %w", errSlow, err)
	}
	return n, err
}

// pace sets the next read's deadline according to the minimum rate. A read timeout closes the connection, so the
// deadline passes only when the rate can't be met any more: if this interval has its bytes already, the next one counts
// too. Without a minimum rate, a few senders of one byte a second could hold all of the shared memory.
func (u *upload) pace() error {
	now := time.Now()
	if !now.Before(u.ends) {
		if u.since < rateBytes {
			return errSlow
		}
		u.since, u.ends = 0, now.Add(rateEvery)
	}
	until := u.ends
	if u.since >= rateBytes {
		until = until.Add(rateEvery)
	}
	if until.After(u.last) {
		until = u.last
	}
	if err := u.ctl.SetReadDeadline(until); err != nil && !errors.Is(err, http.ErrNotSupported) { // a test's recorder has no connection
		return fmt.Errorf("set a read deadline: %w", err)
	}
	return nil
}
