package player

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/core/action/actiontest"
	"parley/internal/require"
	"parley/internal/subtest"
	"parley/sim"
)

// server gives one answer after the other, and repeats the last one.
type server struct {
	net   *sim.Net
	begun time.Time
	tries []time.Duration // when it was asked
}

func serve(t *testing.T, answers ...http.HandlerFunc) *server {
	t.Helper()
	s := &server{net: sim.NewNet(), begun: time.Now()}
	l := require.Value(s.net.Listen("tcp", "music.test:80"))(t)
	h := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.tries = append(s.tries, time.Since(s.begun))
		answers[min(len(s.tries), len(answers))-1](w, r)
	})}
	go func() { _ = h.Serve(l) }()
	t.Cleanup(func() { h.Close() })
	return s
}

// player plays what is there.
func (s *server) player(t *testing.T) *player {
	t.Helper()
	p := require.Value(New(Options{Dial: s.net.Dial, URLs: []string{"http://music.test/so_what.mp3?key=hush"}}))(t)
	return p.Actions[0].(*player)
}

func after(d time.Duration) http.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(d):
		case <-r.Context().Done():
		}
	}
}

func status(code int, retryAfter string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(code)
	}
}

// breakOff ends the connection after some of an answer.
func breakOff(part string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_, _ = conn.Write([]byte(part))
			conn.Close()
		}
	}
}

// A server that does not answer is asked once more, and people are told so, but not where it is (SE-07).
func TestTryOnceMore(t *testing.T) {
	const (
		setting = "✨ Setting up so what…"
		again   = "🔁 The server of “so what” is not responding; trying again…"
		playing = "🎵 Now playing: **so what**"
		failed  = "⚠️ “so what” can't be played right now."
		s       = time.Second
	)
	there, never := after(0), after(time.Hour)
	for name, c := range map[string]struct {
		answers []http.HandlerFunc
		tries   []time.Duration
		want    []string
	}{
		"it is there":                {[]http.HandlerFunc{there}, []time.Duration{0}, []string{playing}},
		"it takes a while":           {[]http.HandlerFunc{after(7 * s)}, []time.Duration{0}, []string{setting, playing}},
		"the first try is lost":      {[]http.HandlerFunc{never, there}, []time.Duration{0, 10 * s}, []string{setting, again, playing}},
		"the second takes long":      {[]http.HandlerFunc{never, after(9 * s)}, []time.Duration{0, 10 * s}, []string{setting, again, playing}},
		"both are lost":              {[]http.HandlerFunc{never}, []time.Duration{0, 10 * s}, []string{setting, again, failed}},
		"it breaks off":              {[]http.HandlerFunc{breakOff(""), there}, []time.Duration{0, 2 * s}, []string{again, playing}},
		"it breaks off in an answer": {[]http.HandlerFunc{breakOff("HTTP/1.1 200 OK\r\n"), there}, []time.Duration{0, 2 * s}, []string{again, playing}},
		"it is starting":             {[]http.HandlerFunc{status(503, ""), there}, []time.Duration{0, 2 * s}, []string{again, playing}},
		"it says when":               {[]http.HandlerFunc{status(503, "5"), there}, []time.Duration{0, 5 * s}, []string{again, playing}},
		"it is broken":               {[]http.HandlerFunc{status(500, "")}, []time.Duration{0, 2 * s}, []string{again, failed}},
		"twice is enough":            {[]http.HandlerFunc{status(502, ""), status(502, ""), there}, []time.Duration{0, 2 * s}, []string{again, failed}},
		"it was gone meanwhile":      {[]http.HandlerFunc{status(502, ""), status(404, "")}, []time.Duration{0, 2 * s}, []string{again, failed}},
		"too many ask":               {[]http.HandlerFunc{status(429, "1"), there}, []time.Duration{0, 1 * s}, []string{again, playing}},
		"too many for long":          {[]http.HandlerFunc{status(429, "6")}, []time.Duration{0}, []string{failed}},
		"too many, who knows":        {[]http.HandlerFunc{status(429, "")}, []time.Duration{0}, []string{failed}},
		"away for long":              {[]http.HandlerFunc{status(503, "3600")}, []time.Duration{0}, []string{failed}},
		"unavailable":                {[]http.HandlerFunc{status(503, "99999999999999999999")}, []time.Duration{0}, []string{failed}},
		"away till some day":         {[]http.HandlerFunc{status(503, "Wed, 21 Oct 2026 07:28:00 GMT")}, []time.Duration{0}, []string{failed}},
		"none such":                  {[]http.HandlerFunc{status(404, "")}, []time.Duration{0}, []string{failed}},
		"not for you":                {[]http.HandlerFunc{status(403, "1")}, []time.Duration{0}, []string{failed}},
		"permanently gone":           {[]http.HandlerFunc{status(410, "")}, []time.Duration{0}, []string{failed}},
	} {
		t.Run(name, subtest.Of(synctest.Test, func(t *testing.T) {
			server := serve(t, c.answers...)
			made := actiontest.Make(t, server.player(t), actiontest.Call{Parameters: `{"title":"so what"}`})
			took := time.Since(server.begun)
			synctest.Wait() // its handlers are done
			if diff := cmp.Diff(c.want, made.Shown); diff != "" {
				t.Errorf("%v\n%s", made.Err, diff)
			}
			if !slices.Equal(server.tries, c.tries) || took > setUp {
				t.Errorf("it was asked at %v, and it took %v", server.tries, took)
			}
			if (made.Err != nil) != slices.Contains(made.Shown, failed) || made.Err != nil && secret(made.Err) {
				t.Errorf("the error is %v", made.Err)
			}
		}))
	}
}

func secret(err error) bool {
	return strings.Contains(err.Error(), "music.test") || strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), "10.0.0.")
}

// Why no connection came about decides too.
func TestCauseDecidesAboutRetry(t *testing.T) {
	for name, c := range map[string]struct {
		err   error // nil: the request is canceled
		again bool
	}{
		"refused":          {nil, true},
		"reset":            {syscall.ECONNRESET, true},
		"no such name":     {&net.DNSError{Err: "no such host", Name: "music.test", IsNotFound: true}, false},
		"name not in time": {&net.DNSError{Err: "i/o timeout", Name: "music.test", IsTimeout: true}, true},
	} {
		t.Run(name, subtest.Of(synctest.Test, func(t *testing.T) {
			s := &server{net: sim.NewNet()}
			p := s.player(t)
			dials, told := 0, 0
			p.http.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
				if dials++; c.err != nil {
					return nil, &net.OpError{Op: "dial", Net: network, Err: c.err}
				}
				return s.net.Dial(ctx, network, address)
			}
			err := p.ready(t.Context(), p.fixed[0], func() { told++ })
			if err == nil || secret(err) || dials != 1+told || (told == 1) != c.again {
				t.Errorf("dialled %d times, told %d times: %v", dials, told, err)
			}
		}))
	}
}

// A stopped action does not retry.
func TestStoppedWhileItTries(t *testing.T) {
	stopped := errors.New("stopped")
	for at, again := range map[time.Duration]int{time.Second: 0, 9 * time.Second: 1} { // in the first try, and in the pause
		synctest.Test(t, func(t *testing.T) {
			server := serve(t, after(time.Hour))
			p := server.player(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(at, func() { cancel(stopped) })
			told := 0
			err := p.ready(ctx, p.fixed[0], func() { told++ })
			took := time.Since(server.begun)
			synctest.Wait()
			if err == nil || took != at || len(server.tries) != 1 || told != again {
				t.Errorf("it was asked at %v, told %d times, and took %v: %v", server.tries, told, took, err)
			}
		})
	}
}
