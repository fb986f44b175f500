// Package webhook makes HTTP endpoints of the owner actions of the agent. Requests are signed; the response is JSON, or
// lines of JSON that report progress.
//
// The endpoint can recognize a call that arrives twice by its Idempotency-Key, which is the same whenever the same call
// of the same run is made. A request is sent once, without retries: whether it had an effect is unknown after most
// failures, and the model is told so.
package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/text"
	"parley/internal/redact"
	"parley/internal/signature"
	"parley/internal/version"
)

// Tool is the configuration of one tool.
type Tool struct {
	Name        string
	Label       string // its display name; empty: made from Name
	Hide        bool   // only owners see its calls
	Description string
	Parameters  json.RawMessage // JSON schema of an object
	URL         string
	Method      string // default POST
	Headers     map[string]string
	Secret      string // signs the body; empty: unsigned
	Effect      action.Effect
	Timeout     time.Duration
	// Available reports whether the tool can be used in a turn, by its room and its users; nil: always.
	Available func(action.TurnContext) bool
}

// Dialer opens connections; nil is the system's network.
type Dialer func(ctx context.Context, network, address string) (net.Conn, error)

// New returns the plugin.
func New(tools []Tool, dial Dialer) action.Plugin {
	p := action.Plugin{Name: "webhook"}
	for _, t := range tools {
		p.Actions = append(p.Actions, newHook(t, dial))
	}
	return p
}

const (
	maxBody   = 1 << 20 // bytes of a response
	maxEvents = 10000
	maxHops   = 3
	maxShown  = 2000 // characters of an error
)

// hook is a Tool as an action.
type hook struct {
	t       Tool
	http    *http.Client
	secrets redact.Redactor // of the configuration, which the endpoint can repeat
}

func newHook(t Tool, dial Dialer) *hook {
	secrets := []string{t.Secret}
	if u, err := url.Parse(t.URL); err == nil {
		secrets = append(secrets, redact.Address(u)...)
	}
	return &hook{t, client(t, dial), redact.Settings(slices.Collect(maps.Values(t.Headers)), secrets...)}
}

// client follows redirects on the origin of the tool only: the body and the headers are for no one else.
func client(t Tool, dial Dialer) *http.Client {
	transport := &http.Transport{
		DialContext: dial, MaxResponseHeaderBytes: 64 << 10, TLSHandshakeTimeout: 10 * time.Second, ForceAttemptHTTP2: true,
		DisableCompression: true, // otherwise a small response could grow beyond the limit in memory
		DisableKeepAlives:  true, // a request on a connection that has just died would be sent twice
	}
	if dial == nil {
		transport.Proxy = http.ProxyFromEnvironment
	}
	home, _ := url.Parse(t.URL)
	return &http.Client{Transport: transport, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if home == nil || r.URL.Scheme != home.Scheme || r.URL.Host != home.Host {
			return errElsewhere
		}
		if len(via) > maxHops {
			return errors.New("it redirects too often")
		}
		return nil
	}}
}

var errElsewhere = errors.New("it redirects to another server")

// Spec implements [action.Action].
func (h *hook) Spec() action.Spec {
	return action.Spec{Name: h.t.Name, Label: h.t.Label, Hide: h.t.Hide, Description: h.t.Description, Parameters: h.t.Parameters, Effect: h.t.Effect, Limit: h.t.Timeout}
}

// Available implements [action.Conditional].
func (h *hook) Available(s action.TurnContext) bool { return h.t.Available == nil || h.t.Available(s) }

// Guard implements [action.Guarded]: a hook that can change something needs an approval. The approval of a kind ends
// when anything in the definition changes.
func (h *hook) Guard(*action.Call) *action.Approval {
	if h.t.Effect == action.Reads {
		return nil
	}
	kind := sha256.Sum256(fmt.Appendf(nil, "%q %q %s %q %q %s", h.t.Name, h.t.Description, h.t.Parameters, h.t.URL, h.t.Method, h.t.Effect))
	return &action.Approval{Server: "webhook", Tool: h.t.Name, Kind: hex.EncodeToString(kind[:16])}
}

// request is the body for the endpoint.
type request struct {
	Type      string          `json:"type"` // call or ping
	Tool      string          `json:"tool,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Call      string          `json:"call,omitempty"` // the same if the same call arrives again
	Room      string          `json:"room,omitempty"`
	User      string          `json:"user,omitempty"`
}

// event is a line of the response, or all of it.
type event struct {
	Progress string          `json:"progress"` // shown in the answer, in place of the progress before
	Result   json.RawMessage `json:"result"`   // for the model
	Error    string          `json:"error"`    // for the model and for users
}

// Act implements [action.Action].
func (h *hook) Act(ctx context.Context, c *action.Call) (action.Result, error) {
	// The same call of the same run has the same key, also after a restart.
	key := hash(string(c.Turn.Run), c.ID)
	res, err := h.send(ctx, request{
		Type: "call", Tool: h.t.Name, Arguments: c.Parameters, Call: key, Room: public(c.Turn.Room, string(c.Turn.Room.ID)), User: public(c.Turn.Room, string(c.Turn.Message.Author)),
	}, key)
	if err != nil {
		return action.Result{}, h.failure(err)
	}
	defer res.Body.Close()
	body := &limited{r: res.Body, left: maxBody}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return action.Result{}, h.failure(fmt.Errorf("it answered %d", res.StatusCode))
	}
	switch kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";"); strings.ToLower(strings.TrimSpace(kind)) {
	case "application/x-ndjson", "application/jsonl", "application/ndjson":
		return h.follow(c, body)
	case "application/json":
		data, err := io.ReadAll(body)
		if err != nil {
			return action.Result{}, h.failure(err)
		}
		return h.whole(data)
	case "text/plain":
		data, err := io.ReadAll(body)
		if err != nil {
			return action.Result{}, h.failure(err)
		}
		return action.Result{Text: string(data)}, nil
	}
	return action.Result{}, h.failure(fmt.Errorf("it answered with %s instead of JSON", cmp.Or(text.Label(res.Header.Get("Content-Type")), "no content type")))
}

// public returns id as endpoints receive it. In the web chat the id of a room, which is also that of its visitor, gives access to
// the conversation, so it is replaced by a hash. It has 128 random bits, so the hash can't be reversed, and stays the same.
func public(r chat.Room, id string) string {
	if r.Kind != chat.API || !strings.HasPrefix(id, string(r.ID)) {
		return id
	}
	return r.Connector + "/~" + hash("public", id)
}

// follow reads a response line by line, until one has a result or an error. The last progress stays in the answer.
func (h *hook) follow(c *action.Call, body io.Reader) (action.Result, error) {
	lines, last := json.NewDecoder(body), ""
	defer func() {
		if last != "" {
			c.Update(last)
		}
	}()
	for range maxEvents {
		var e event
		if err := lines.Decode(&e); errors.Is(err, io.EOF) {
			return action.Result{}, h.failure(errors.New("its response ended without a result"))
		} else if err != nil {
			return action.Result{}, h.failure(fmt.Errorf("its response is not valid: %w", err))
		}
		if e.Error != "" || e.Result != nil {
			return h.result(e)
		}
		if e.Progress != "" {
			last = text.Excerpt(text.Clean(h.secrets.Clean(e.Progress)), maxShown)
			c.Update("⏳ " + last)
		}
	}
	return action.Result{}, h.failure(errors.New("it sent too many lines"))
}

// whole reads a response of one value: {"result": …}, {"error": …}, or any other JSON, which is the result.
func (h *hook) whole(data []byte) (action.Result, error) {
	var e event
	if json.Unmarshal(data, &e) == nil && (e.Error != "" || e.Result != nil) {
		return h.result(e)
	}
	if !json.Valid(data) {
		return action.Result{}, h.failure(errors.New("its response is not valid JSON"))
	}
	return action.Result{Text: string(data)}, nil
}

// result returns the result: a string as it is, anything else as JSON.
func (h *hook) result(e event) (action.Result, error) {
	if e.Error != "" {
		return action.Result{}, &action.PublicError{Text: text.Excerpt(text.Clean(h.secrets.Clean(e.Error)), maxShown)}
	}
	var words string
	if json.Unmarshal(e.Result, &words) != nil {
		words = string(e.Result)
	}
	return action.Result{Text: words}, nil
}

// failure returns the text for the model. It contains no address, which may contain a secret, and mentions that the
// call may have had an effect.
func (h *hook) failure(err error) error {
	for outer := (*url.Error)(nil); errors.As(err, &outer); {
		err = outer.Err
	}
	var network net.Error
	reason := err.Error()
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		reason = "it took too long"
	case errors.As(err, new(*net.OpError)):
		reason = "it can't be reached"
	}
	unknown := ""
	if h.t.Effect != action.Reads {
		unknown = " It is unknown whether it did something; do not repeat it without asking the user."
	}
	return fmt.Errorf("the endpoint of %s failed: %s.%s", h.t.Name, strings.TrimSuffix(h.secrets.Clean(reason), "."), unknown)
}

// send sends a signed request. The signature covers the time, so that an endpoint can refuse a recorded request later.
func (h *hook) send(ctx context.Context, r request, key string) (*http.Response, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, cmp.Or(h.t.Method, http.MethodPost), h.t.URL, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("its address can't be read")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, application/x-ndjson")
	req.Header.Set("User-Agent", version.UserAgent)
	req.Header.Set("Idempotency-Key", key)
	for name, value := range h.t.Headers {
		req.Header.Set(name, value)
	}
	signature.Add(req.Header, h.t.Secret, body)
	return h.http.Do(req)
}

// hash identifies texts, with their lengths, so that no other division of the same characters has the same hash.
func hash(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		fmt.Fprintf(h, "%d:%s", len(t), t)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// limited fails when more is read than allowed.
type limited struct {
	r    io.Reader
	left int
}

// Read implements [io.Reader].
func (l *limited) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.left -= n; l.left < 0 {
		return 0, fmt.Errorf("its response is larger than %d KiB", maxBody>>10)
	}
	return n, err
}

// Check sends a signed ping, which must have no side effects. 404 and 405 mean that the endpoint can be reached. Other
// codes outside of 2xx are errors.
func Check(ctx context.Context, t Tool, dial Dialer) (string, error) {
	t.Effect = action.Reads // a ping changes nothing, and its failure leaves nothing in doubt
	h := newHook(t, dial)
	res, err := h.send(ctx, request{Type: "ping"}, "ping")
	if err != nil {
		return "", h.failure(err)
	}
	defer res.Body.Close()
	switch code := res.StatusCode; {
	case code >= 200 && code <= 299:
		return "it answers", nil
	case code == http.StatusNotFound, code == http.StatusMethodNotAllowed:
		return fmt.Sprintf("it can be reached (it answered the ping with %d)", code), nil
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return "", fmt.Errorf("it answered the ping with %d; check the secret and the headers", code)
	default:
		return "", fmt.Errorf("it answered the ping with %d", code)
	}
}
