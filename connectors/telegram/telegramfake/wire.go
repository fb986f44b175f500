package telegramfake

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const maxBody = 50 << 20

// call is one request being processed.
type call struct {
	name   string // as the method table spells it
	method method
	params map[string]string
	files  map[string]Upload // by parameter
	chat   *chat             // of chat_id, for methods with a budget
	log    *Request
	fault  Fault
}

type response struct {
	status     int
	retryAfter int
	body       []byte
	kind       string // content type
}

// ServeHTTP answers /bot<token>/<method>, and /file/bot<token>/<path> where files are.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.serveFile(w, r) {
		return
	}
	token, name, ok := splitPath(r.URL.Path)
	switch {
	case !ok:
		write(w, refusal(&apiError{code: 404, text: "Not Found"}))
		return
	case !s.accepts(token):
		s.stranger(name)
		write(w, refusal(&apiError{code: 401, text: "Unauthorized"}))
		return
	}
	params, files, err := readParams(r)
	c := s.open(r.Host, name, params)
	c.files = files
	if err != nil {
		write(w, s.close(c, nil, s.reject(c, err)))
		return
	}
	s.serve(r.Context(), w, c)
}

func (s *Server) serve(ctx context.Context, w http.ResponseWriter, c *call) {
	f := c.fault
	if sleep(ctx, f.Delay) != nil || f.spoils() && !f.Apply {
		s.spoil(w, c, f, response{})
		return
	}
	result, err := s.run(ctx, c)
	if f.Duplicate && err == nil {
		result = twice(result)
	}
	resp := s.close(c, result, err)
	if sleep(ctx, f.DelayAnswer) != nil || f.spoils() {
		s.spoil(w, c, f, resp)
		return
	}
	write(w, resp)
}

// splitPath follows the server: a token is digits, a colon, and letters; anything else is not found.
func splitPath(path string) (token, name string, ok bool) {
	m := regexp.MustCompile(`^/bot(\d+:[A-Za-z0-9_-]{20,})/([A-Za-z]+)/?$`).FindStringSubmatch(path)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

// readParams takes parameters from the query, a form, multipart fields or a JSON object. Nested values stay JSON; a file is
// a parameter too, with its name as the value.
func readParams(r *http.Request) (out map[string]string, files map[string]Upload, err error) {
	out = map[string]string{}
	addAll(out, r.URL.Query())
	r.Body = http.MaxBytesReader(nil, r.Body, maxBody)
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch kind {
	case "application/json":
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return out, nil, fmt.Errorf("read body: %w", err)
		}
		return out, nil, addJSON(out, body)
	case "multipart/form-data":
		if err := r.ParseMultipartForm(maxBody); err != nil {
			return out, nil, fmt.Errorf("read multipart body: %w", err)
		}
		addAll(out, r.MultipartForm.Value)
		files, err = uploads(r.MultipartForm, out)
	default:
		if err := r.ParseForm(); err != nil {
			return out, nil, fmt.Errorf("read form: %w", err)
		}
		addAll(out, r.PostForm)
	}
	return out, files, err
}

func addAll(out map[string]string, in url.Values) {
	for k, v := range in {
		out[k] = v[len(v)-1]
	}
}

func addJSON(out map[string]string, body []byte) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return fmt.Errorf("can't parse request JSON: %w", err)
	}
	for k, raw := range fields {
		var text string
		if json.Unmarshal(raw, &text) == nil {
			out[k] = text
			continue
		}
		out[k] = string(raw)
	}
	return nil
}

// envelope is the outer object of every response.
type envelope struct {
	OK          bool        `json:"ok"`
	Result      any         `json:"result,omitempty"`
	ErrorCode   int         `json:"error_code,omitempty"`
	Description string      `json:"description,omitempty"`
	Parameters  *parameters `json:"parameters,omitempty"`
}

type parameters struct {
	MigrateToChatID int64 `json:"migrate_to_chat_id,omitempty"`
	RetryAfter      int   `json:"retry_after,omitempty"`
}

func success(result any) response {
	return encode(200, envelope{OK: true, Result: result})
}

func refusal(err error) response {
	var e *apiError
	if !errors.As(err, &e) {
		e = &apiError{code: 500, text: "Internal Server Error: " + err.Error()}
	}
	env := envelope{ErrorCode: e.code, Description: e.text}
	if e.retryAfter != 0 || e.migrateTo != 0 {
		env.Parameters = &parameters{MigrateToChatID: e.migrateTo, RetryAfter: e.retryAfter}
	}
	resp := encode(e.code, env)
	resp.retryAfter = e.retryAfter
	return resp
}

func encode(status int, env envelope) response {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(env); err != nil {
		return refusal(fmt.Errorf("encode answer: %w", err))
	}
	return response{status: status, body: buf.Bytes(), kind: "application/json"}
}

func write(w http.ResponseWriter, resp response) {
	header(w, resp)
	_, _ = w.Write(resp.body) // ignore a disconnected client
}

func header(w http.ResponseWriter, resp response) {
	w.Header().Set("Content-Type", resp.kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(resp.body)))
	if resp.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(resp.retryAfter))
	}
	w.WriteHeader(resp.status)
}

// sleep waits for d on the clock of the caller's bubble, or until ctx is done.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func trimAt(username string) string { return strings.ToLower(strings.TrimPrefix(username, "@")) }
