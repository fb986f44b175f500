package web

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"parley/core/chat"
)

// hooksPath begins the paths of hooks.
const hooksPath = "/api/hooks/"

const (
	maxHook    = 64 << 10 // bytes of the body of a hook
	maxHookKey = 128      // of its idempotency key
	hookWait   = time.Minute
)

// Hooks are the hooks of the configuration, which other programs call. Implementations are safe for concurrent use.
type Hooks interface {
	// Authorized reports whether token is the secret of a hook. It takes the same time for every wrong token, and does
	// not tell an unknown hook from a wrong secret.
	Authorized(name, token string) bool
	// Receive accepts a call, once for each key; an empty key is another one each time. Accepted names no run if the
	// call is left out. It fails with [chat.ErrTooMany] if there are too many calls, and with [chat.ErrNotFound] or
	// [chat.ErrUnreached] if the hook's room is not known. It returns when the call is stored, and does not wait for
	// the answer.
	Receive(ctx context.Context, name, key string, body []byte) (chat.Accepted, error)
}

// hook is POST /api/hooks/{name}. Attempts are limited before the secret is compared, so that it can't be guessed.
func (w *Web) hook(rw http.ResponseWriter, r *http.Request) {
	body, ok := door{w}.called(rw, r, maxHook, "There is no such hook with this secret.", func(name, token string) bool {
		return w.opts.Hooks != nil && w.opts.Hooks.Authorized(name, token)
	})
	if !ok {
		return
	}
	key := r.Header.Get("Idempotency-Key")
	if !validKey(key) {
		fail(rw, http.StatusBadRequest, badKey)
		return
	}
	acc, err := w.opts.Hooks.Receive(r.Context(), r.PathValue("name"), key, body)
	w.hookReply(rw, acc, err)
}

// called returns the body of a program's request with its own secret, of up to most bytes, or answers the request: with unknown if
// the secret is not that of the name in the path.
func (d door) called(rw http.ResponseWriter, r *http.Request, most int64, unknown string, authorized func(name, token string) bool) (body []byte, ok bool) {
	if !d.web.allow(rw, r, d.web.attempts) {
		return nil, false
	}
	token, bearer := bearerOf(r)
	var no *refusal
	if !bearer || !authorized(r.PathValue("name"), token) {
		rw.Header().Set("WWW-Authenticate", "Bearer")
		no = refused(http.StatusUnauthorized, unknown)
	} else {
		body, no = hookBody(r, most)
	}
	if no != nil {
		refuseBody(rw, r.Body, no)
	}
	return body, no == nil
}

const badKey = "The Idempotency-Key must be at most 128 visible ASCII characters, without spaces and slashes."

// validKey reports whether key can be an idempotency key, or is empty.
func validKey(key string) bool {
	return len(key) <= maxHookKey && !strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c > '~' || c == '/' })
}

// hookBody reads the body, which is JSON or nothing.
func hookBody(r *http.Request, most int64) ([]byte, *refusal) {
	if r.ContentLength == 0 {
		return nil, nil
	}
	if no := checkJSON(r, most); no != nil {
		return nil, no
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, most+1))
	switch {
	case err != nil:
		return nil, refused(http.StatusRequestTimeout, "The body did not arrive.")
	case int64(len(body)) > most:
		return nil, refused(http.StatusRequestEntityTooLarge, "The body is too long.")
	case len(body) > 0 && !json.Valid(body):
		return nil, refused(http.StatusBadRequest, "The body is not JSON.")
	}
	return body, nil
}

// hookStatus is the outcome of a call.
type hookStatus struct {
	Status string `json:"status"` // accepted, duplicate or left_out
}

// hookReply answers a hook with the outcome. A repeated call is a success too, because the sender only asks whether it
// arrived.
func (w *Web) hookReply(rw http.ResponseWriter, acc chat.Accepted, err error) {
	switch {
	case errors.Is(err, chat.ErrTooMany):
		retryLater(rw, hookWait)
		fail(rw, http.StatusTooManyRequests, "refused.slow_down")
	case errors.Is(err, chat.ErrNotFound), errors.Is(err, chat.ErrUnreached):
		fail(rw, http.StatusConflict, "The agent does not know the room of this hook. Write to it there first.")
	case err != nil:
		w.broken(rw, "accept a hook", err)
	case acc.Altered:
		fail(rw, http.StatusConflict, "This Idempotency-Key was used for something else.")
	case acc.Duplicate:
		reply(rw, http.StatusAccepted, hookStatus{"duplicate"})
	case acc.Run == "":
		reply(rw, http.StatusAccepted, hookStatus{"left_out"})
	default:
		reply(rw, http.StatusAccepted, hookStatus{"accepted"})
	}
}
