package modelfake

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// StatusOverloaded is the HTTP status of some overloaded providers.
const StatusOverloaded = 529

var (
	errEnded = errors.New("the answer ends before its script")
	errCut   = errors.New("the connection is to be cut")
)

// Status answers with an HTTP status instead of a stream, and ends the script; headers are names and values in turn.
// An empty body is the provider's JSON error for that status. After any output it can only cut the connection.
func Status(code int, body string, headers ...string) Step {
	if len(headers)%2 == 1 {
		panic("modelfake: header " + headers[len(headers)-1] + " has no value")
	}
	return func(_ context.Context, r *reply) error {
		if r.out.started() {
			return errCut
		}
		r.status = code
		for i := 0; i < len(headers); i += 2 {
			r.w.Header().Set(headers[i], headers[i+1])
		}
		if body == "" {
			statusError(code).write(r.w)
			return errEnded
		}
		if r.w.Header().Get("Content-Type") == "" {
			r.w.Header().Set("Content-Type", contentType(body))
		}
		r.w.WriteHeader(code)
		_, _ = r.w.Write([]byte(body)) // a client that has left needs no answer
		return errEnded
	}
}

func contentType(body string) string {
	switch {
	case strings.HasPrefix(body, "<"):
		return "text/html; charset=utf-8"
	case strings.HasPrefix(body, "{"):
		return "application/json"
	default:
		return "text/plain; charset=utf-8"
	}
}

func statusError(code int) *apiError {
	switch code {
	case http.StatusUnauthorized:
		return refuse(code, "invalid_api_key", "Incorrect API key provided.")
	case http.StatusTooManyRequests:
		return refuse(code, "rate_limit_exceeded", "Rate limit reached for requests.")
	case StatusOverloaded:
		return refuse(code, "overloaded", "The engine is currently overloaded, please try again later.")
	default:
		return refuse(code, "", "%s", http.StatusText(code))
	}
}

// RateLimit answers 429 with "Retry-After: <whole seconds>"; 0 leaves the header out.
func RateLimit(retryAfter time.Duration) Step {
	if retryAfter == 0 {
		return Status(http.StatusTooManyRequests, "")
	}
	return Status(http.StatusTooManyRequests, "", "Retry-After", strconv.Itoa(int(retryAfter/time.Second)))
}

// NoQuota answers 429 insufficient_quota, which is permanent.
func NoQuota() Step {
	const code = http.StatusTooManyRequests
	return func(_ context.Context, r *reply) error {
		if r.out.started() {
			return errCut
		}
		r.status = code
		refuse(code, "insufficient_quota", "You exceeded your current quota, please check your plan and billing details.").write(r.w)
		return errEnded
	}
}

// BadGateway answers 502 with a page of HTML, as proxies do.
func BadGateway() Step {
	return Status(http.StatusBadGateway, "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>\n")
}

// Stall sends nothing until the client disconnects. Before the first output not even the status line has been sent; see
// Open.
func Stall() Step {
	return func(ctx context.Context, _ *reply) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}
}

// Comments sends a comment at once and then again and again, and nothing else, until the client leaves.
func Comments(every time.Duration) Step {
	return func(ctx context.Context, r *reply) error {
		for {
			if err := r.out.comment("keep-alive"); err != nil {
				return err
			}
			if err := wait(ctx, every); err != nil {
				return err
			}
		}
	}
}

// ErrorEvent sends an error in the stream, then [DONE], and ends the script. A whole answer is a 500 with that error.
func ErrorEvent(code, message string) Step {
	return func(ctx context.Context, r *reply) error {
		if err := r.fail(ctx, refuse(http.StatusInternalServerError, code, "%s", message)); err != nil {
			return err
		}
		return errEnded
	}
}

// Cut resets the connection.
func Cut() Step { return func(context.Context, *reply) error { return errCut } }

// After triggers the fault after that many data events (the role is the first), before the next one, [DONE] included.
// It precedes the steps that it disturbs: Script{After(3, Cut()), Text("one two three", ByWord)}. A script with fewer
// events is not disturbed. Request.Events contains their number.
func After(events int, fault Step) Step {
	return func(_ context.Context, r *reply) error {
		r.faults[events] = fault
		return nil
	}
}

// cut breaks the connection under w, where it can with a reset.
func cut(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if c, ok := conn.(interface{ SetLinger(seconds int) error }); ok {
		_ = c.SetLinger(0) // else it is an ordinary close, which also breaks a body in chunks
	}
	_ = conn.Close()
}
