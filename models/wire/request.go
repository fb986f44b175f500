package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"

	"parley/internal/version"
)

// Call is a request to the server of an [Endpoint].
type Call struct {
	Method string     // empty for POST
	Path   string     // below the base URL, such as "chat/completions"
	Query  url.Values // nil for none
	Type   string     // the type of Body; empty for JSON
	Body   any        // encoded as JSON; []byte is sent as it is, and nil for none
}

// Ask makes a call and decodes its response, which is JSON, into the value that into points to; a *[]byte gets it as it is. A response without a
// 2xx status, or with a page in place of JSON, is a [*Refusal].
func (m *Endpoint) Ask(ctx context.Context, c Call, into any) error {
	req, err := m.request(ctx, c)
	if err != nil {
		return err
	}
	res, err := Refuse(req, m.Client().Do)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return fmt.Errorf("read the response: %w", err)
	}
	if media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); media == "text/html" || bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) {
		r := ParseRefusal(body[:min(len(body), MaxRefusal)])
		r.page = true
		return r
	}
	if raw, ok := into.(*[]byte); ok {
		*raw = body
		return nil
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("the response can't be read: %w", err)
	}
	return nil
}

// Stream makes a call and returns its response, whose body is a stream of events that the caller closes: see [Events],
// also for whole.
func (m *Endpoint) Stream(ctx context.Context, c Call, whole func(answer []byte) []any) (*http.Response, error) {
	req, err := m.request(ctx, c)
	if err != nil {
		return nil, err
	}
	return Events(whole)(req, m.Client().Do)
}

// request returns the request of a call, with the headers of the endpoint.
func (m *Endpoint) request(ctx context.Context, c Call) (*http.Request, error) {
	body, ok := c.Body.([]byte)
	if c.Body != nil && !ok {
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false) // escapes would only make prompts longer
		if err := e.Encode(c.Body); err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		body = text.Bytes()
	}
	at := m.Base.JoinPath(c.Path)
	at.RawQuery = c.Query.Encode()
	if c.Method == "" {
		c.Method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, c.Method, at.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if c.Type == "" {
		c.Type = "application/json"
	}
	if c.Body != nil {
		req.Header.Set("Content-Type", c.Type)
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("User-Agent", version.UserAgent)
	maps.Copy(req.Header, m.Header)
	return req, nil
}

// Extend returns a request as JSON with extra keys in place of its own. A null removes a key. An error means that a value has no JSON.
func Extend(request any, extra map[string]any) (any, error) {
	if len(extra) == 0 {
		return request, nil
	}
	text, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	for key, v := range extra {
		if key == "stream" {
			continue // only a stream can be read
		}
		if v == nil {
			delete(fields, key)
			continue
		}
		if fields[key], err = json.Marshal(v); err != nil {
			return nil, err
		}
	}
	return fields, nil
}

// IDs lists the server's models, where GET models returns them as OpenAI does.
func (m *Endpoint) IDs(ctx context.Context) (names []string, err error) {
	return m.IDsAt(ctx, Call{Method: http.MethodGet, Path: "models"})
}

// IDsAt is IDs for another request.
func (m *Endpoint) IDsAt(ctx context.Context, call Call) (names []string, err error) {
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := m.Ask(ctx, call, &list); err != nil {
		return nil, err
	}
	for _, model := range list.Data {
		names = append(names, model.ID)
	}
	return names, nil
}
