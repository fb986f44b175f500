package player

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"parley/internal/rest"
	"slices"
	"strconv"
	"syscall"
	"time"
)

const (
	setUp       = 20 * time.Second // time limit for a track, including the second try
	firstTry    = 8 * time.Second  // time limit of the first try
	breath      = 2 * time.Second  // pause before the second try, unless the server specifies one
	mostPatient = 5                // seconds: the longest pause that a server can ask for
)

// noAnswer is a failure that a retry may resolve.
type noAnswer struct {
	error
	pause time.Duration // before the retry
}

func (n noAnswer) Unwrap() error { return n.error }

// ready checks that a track exists. A server that does not respond is asked a second time, after a pause; again is
// called before that, to tell the users.
func (p *player) ready(ctx context.Context, t track, again func()) error {
	if t.url == nil {
		info, err := fs.Stat(p.folder, t.path)
		switch {
		case err != nil:
			return err
		case !info.Mode().IsRegular():
			return errors.New("it is not a regular file")
		case info.Size() == 0:
			return errors.New("the file is empty")
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, setUp)
	defer cancel()
	first, stop := context.WithTimeout(ctx, firstTry)
	err := p.ask(first, t.url)
	stop()
	// A definite refusal is not repeated.
	var silent noAnswer
	if !errors.As(err, &silent) || ctx.Err() != nil {
		return err
	}
	again()
	if err := rest.For(ctx, silent.pause); err != nil {
		return err
	}
	return p.ask(ctx, t.url)
}

// ask requests the first byte of a track from its server. It fails with [noAnswer] if a retry may help.
func (p *player) ask(ctx context.Context, at *url.URL) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return errors.New("its address is invalid")
	}
	req.Header.Set("Range", "bytes=0-0") // its existence is enough
	resp, err := p.http.Do(req)
	switch {
	case err != nil && (ctx.Err() != nil || passing(err)):
		return noAnswer{bare(err), breath}
	case err != nil:
		return bare(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusPartialContent {
		return nil
	}
	err = fmt.Errorf("the server answers %s", resp.Status)
	if pause, ok := pauseAfter(resp); ok {
		return noAnswer{err, pause}
	}
	return err
}

// passing reports whether a request failed in a way typical of a server that is starting or overloaded.
func passing(err error) bool {
	var slow net.Error
	return errors.As(err, &slow) && slow.Timeout() ||
		slices.ContainsFunc([]error{syscall.ECONNREFUSED, syscall.ECONNRESET, io.EOF, io.ErrUnexpectedEOF}, func(e error) bool { return errors.Is(err, e) })
}

// pauseAfter returns the time to wait after a refusal; ok is false if a retry would get the same response. Retry-After
// can also be a date (RFC 9110, section 10.2.3), but no server uses one for such a short pause.
func pauseAfter(resp *http.Response) (pause time.Duration, ok bool) {
	asked := resp.Header.Get("Retry-After")
	busy, broken := resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode >= http.StatusInternalServerError
	if asked == "" {
		return breath, broken
	}
	seconds, err := strconv.ParseUint(asked, 10, 16)
	return time.Duration(seconds) * time.Second, (busy || broken) && err == nil && seconds <= mostPatient
}

// bare returns the reason of a failed request without its address, which may contain a secret.
func bare(err error) error {
	var name *net.DNSError
	var op *net.OpError
	var request *url.Error
	switch {
	case errors.As(err, &name):
		return errors.New(name.Err)
	case errors.As(err, &op):
		return op.Err
	case errors.As(err, &request):
		return request.Err
	}
	return err
}
