package web

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"time"
)

const (
	smallBody  = 256 << 10        // bytes: any text, and no picture
	uploadStep = 256 << 10        // bytes that a larger body takes from the share at once
	maxUploads = 4 * maxBody      // bytes of larger bodies that are held at once
	maxArrival = time.Minute      // for a whole body
	rateEvery  = 10 * time.Second // in each of these a body brings
	rateBytes  = 64 << 10         // so many bytes, or its end
	largeWait  = 5 * time.Second  // until a refused upload may come again
)

// Reasons why a body is not read to its end.
var (
	errUploads = errors.New("too many bytes of other uploads are held")
	errSlow    = errors.New("the body arrives too slowly")
)

// upload is the body of a request on its way in. It holds a part of the shared bytes for what has arrived, not for what is
// announced: a slow sender keeps nobody out.
type upload struct {
	io.ReadCloser
	ctl   *http.ResponseController
	share *share
	who   netip.Prefix

	got   int64 // bytes that have arrived
	held  int64 // bytes taken from share
	over  bool  // the body has ended
	ends  time.Time
	since int64     // bytes that have arrived in the time that ends then
	last  time.Time // when all has to be here
}

// receive makes the body of r one with a minimum rate and a share of the memory. end gives the share back.
func (w *Web) receive(rw http.ResponseWriter, r *http.Request) (end func()) {
	now := time.Now()
	u := &upload{ReadCloser: r.Body, ctl: http.NewResponseController(rw), share: &w.uploads, who: w.guard.client(r),
		ends: now.Add(rateEvery), last: now.Add(maxArrival)}
	r.Body = u
	return func() { u.share.give(u.who, u.held) }
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
	u.over = err == io.EOF
	for u.held < u.got-smallBody {
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

// pace gives the next read the time that the minimum rate leaves. A connection does not outlive a read that took too long, so
// the time ends only where the rate can't be met any more.
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
	if err := u.ctl.SetReadDeadline(until); err != nil && !errors.Is(err, http.ErrNotSupported) { // a recorder of a test has no connection
		return fmt.Errorf("set a read deadline: %w", err)
	}
	return nil
}
