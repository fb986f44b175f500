package modeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"parley/models/modelfake"
)

// Chat returns a server of chat completions: that of modelfake, with the answers of the suite.
func Chat() Fake {
	c := &chat{}
	c.server = modelfake.New(modelfake.Options{Key: Key, Models: []string{"model-a", "model-b"}, Choose: c.choose})
	return c
}

type chat struct {
	server *modelfake.Server

	mu    sync.Mutex
	queue []Answer
	left  chan error // of the answer that hangs
}

// Queue implements Fake.
func (c *chat) Queue(all ...Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, all...)
}

// ServeHTTP implements http.Handler.
func (c *chat) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.left != nil {
			c.left <- context.Cause(r.Context())
			c.left = nil
		}
	}()
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if next := c.next(); next.Whole || next.Label != "" {
		w = &odd{w, next.Label}
		if next.Whole {
			raw = bytes.Replace(raw, []byte(`"stream":true,"stream_options":{"include_usage":true}`), []byte(`"stream":false`), 1)
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(raw))
	c.server.ServeHTTP(w, r)
}

// next is the answer to the next request.
func (c *chat) next() (a Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) > 0 {
		a = c.queue[0]
	}
	return a
}

// odd labels a stream as something else.
type odd struct {
	http.ResponseWriter
	label string
}

// Write implements io.Writer.
func (o *odd) Write(p []byte) (int, error) {
	if o.label != "" {
		o.Header().Set("Content-Type", o.label)
	}
	return o.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (o *odd) Unwrap() http.ResponseWriter { return o.ResponseWriter }

func (c *chat) choose(modelfake.Request) modelfake.Script {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) == 0 {
		return modelfake.Script{modelfake.Text("OK")}
	}
	a := c.queue[0]
	c.queue = c.queue[1:]
	if a.Hang {
		c.left = a.Left
	}
	return script(a)
}

// script writes an answer as steps.
func script(a Answer) (steps modelfake.Script) {
	switch {
	case a.Fails != nil:
		body := encode(object{"error": object{"message": a.Fails.Message, "type": "server_error", "code": a.Fails.Kind}})
		return modelfake.Script{modelfake.Status(a.Fails.Status, string(body), "Retry-After", a.Fails.RetryAfter)}
	case a.Block:
		return modelfake.Script{modelfake.Status(http.StatusBadRequest, `{"error":{"code":"content_filter","message":"The prompt was filtered."}}`)}
	}
	if a.Think != "" {
		steps = append(steps, modelfake.Reasoning(a.Think, modelfake.ByWord))
	}
	for _, t := range a.Text {
		steps = append(steps, modelfake.Text(t))
	}
	switch {
	case a.Hang:
		return append(steps, modelfake.Pause(time.Hour))
	case a.Cut:
		return append(steps, modelfake.Cut())
	case a.Late != nil:
		return append(steps, modelfake.ErrorEvent(a.Late.Kind, a.Late.Message))
	}
	var calls []modelfake.Call
	for _, k := range a.Calls {
		calls = append(calls, modelfake.Call{ID: k.ID, Name: k.Name, Arguments: k.Arguments})
	}
	switch {
	case calls != nil && a.Extra != "":
		for i, k := range calls {
			extra := ""
			if i == 0 {
				extra = "," + a.Extra[1:len(a.Extra)-1]
			}
			steps = append(steps, modelfake.Delta(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":%q,"arguments":%q}%s}]}`, i, k.ID, k.Name, k.Arguments, extra)))
		}
		steps = append(steps, modelfake.Finish("tool_calls"))
	case calls != nil:
		steps = append(steps, modelfake.Interleaved(modelfake.ByBytes(3), calls...))
	}
	if a.Finish != "" {
		steps = append(steps, modelfake.Finish(a.Finish))
	}
	return steps
}

// Seen implements Fake.
func (c *chat) Seen() (all []Seen) {
	for _, r := range c.server.Requests() {
		s := Seen{Model: r.Model, Rejected: r.Rejected, Raw: r.Raw}
		if r.MaxTokens != nil {
			s.Limit = *r.MaxTokens
		}
		var raw struct {
			Messages []struct {
				Reasoning *string `json:"reasoning_content"`
			}
		}
		if err := json.Unmarshal(r.Raw, &raw); err != nil {
			s.Rejected = fmt.Sprint(err)
		}
		for i, m := range r.Messages {
			for _, p := range m.Parts {
				if p.ImageURL.URL != "" {
					s.Images = append(s.Images, p.ImageURL.URL)
				}
			}
			if m.Role == "tool" {
				s.Results = append(s.Results, m.Content)
			}
			if i < len(raw.Messages) && raw.Messages[i].Reasoning != nil && *raw.Messages[i].Reasoning != "" {
				s.Thoughts = append(s.Thoughts, *raw.Messages[i].Reasoning)
			}
		}
		all = append(all, s)
	}
	return all
}
