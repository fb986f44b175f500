package modelfake

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// stream sends server-sent events as they come.
type stream struct {
	w    http.ResponseWriter
	open bool
}

func (s *stream) data(payload []byte) error { return s.send("data: %s\n\n", payload) }

func (s *stream) comment(text string) error { return s.send(": %s\n\n", []byte(text)) }

func (s *stream) end() error { return nil }

func (s *stream) started() bool { return s.open }

func (s *stream) send(format string, text []byte) error {
	if !s.open {
		s.open = true
		s.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		s.w.Header().Set("Cache-Control", "no-cache")
	}
	if _, err := fmt.Fprintf(s.w, format, text); err != nil {
		return err
	}
	return http.NewResponseController(s.w).Flush()
}

// whole folds the events into one body, sent at the end.
type whole struct {
	w    http.ResponseWriter
	body completion
	odd  []byte // an event that is no chunk takes the place of the body
	err  *apiError
}

func (b *whole) data(payload []byte) error {
	if string(payload) == "[DONE]" {
		return nil
	}
	var event struct {
		chunk
		Error *apiError `json:"error"`
	}
	if err := json.Unmarshal(payload, &event); err != nil {
		b.odd = payload
		return nil
	}
	b.err = event.Error
	b.body.ID, b.body.Created, b.body.Model = event.ID, event.Created, event.Model
	for _, c := range event.Choices {
		if err := b.choose(c); err != nil {
			b.odd = payload
		}
	}
	if event.Usage != nil && json.Unmarshal(event.Usage, &b.body.Usage) != nil {
		b.odd = payload
	}
	return nil
}

// choose adds one delta to the only choice.
func (b *whole) choose(c choice) error {
	var d delta
	if err := json.Unmarshal(c.Delta, &d); err != nil {
		return err
	}
	if len(b.body.Choices) == 0 {
		b.body.Choices = []wholeChoice{{Message: wholeMessage{Role: "assistant"}}}
	}
	only := &b.body.Choices[0]
	only.FinishReason = or(c.FinishReason, only.FinishReason)
	only.Message.Content = join(only.Message.Content, d.Content)
	only.Message.Reasoning = join(only.Message.Reasoning, d.Reasoning)
	for _, call := range d.ToolCalls {
		only.Message.add(call)
	}
	return nil
}

func (m *wholeMessage) add(call wireCall) {
	if call.Index != nil && *call.Index < len(m.ToolCalls) {
		f := &m.ToolCalls[*call.Index].Function
		f.Arguments = join(f.Arguments, call.Function.Arguments)
		return
	}
	call.Index = nil // only streams have it
	m.ToolCalls = append(m.ToolCalls, call)
}

func join(a, b *string) *string {
	if a == nil || b == nil {
		return or(a, b)
	}
	return new(*a + *b)
}

func or(a, b *string) *string {
	if a != nil {
		return a
	}
	return b
}

func (b *whole) comment(string) error { return nil }

func (b *whole) started() bool { return false }

func (b *whole) end() error {
	switch {
	case b.err != nil:
		writeJSON(b.w, http.StatusInternalServerError, errorBody{b.err})
		return nil
	case b.odd != nil:
		b.w.Header().Set("Content-Type", "application/json")
		_, err := b.w.Write(b.odd)
		return err
	}
	b.body.Object = "chat.completion"
	if b.body.Choices == nil {
		b.body.Choices = []wholeChoice{}
	}
	for i := range b.body.Choices {
		if m := &b.body.Choices[i].Message; m.Content != nil && *m.Content == "" && m.ToolCalls != nil {
			m.Content = nil
		}
	}
	writeJSON(b.w, http.StatusOK, b.body)
	return nil
}
