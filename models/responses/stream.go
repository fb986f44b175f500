package responses

import (
	"bytes"
	"encoding/json"
	"strings"

	"parley/core/llm"
	"parley/models/wire"
)

// item is an item of an answer, as far as it must be sent back with the results of its calls. Texts and calls are
// remembered by the runtime too; here only their order matters, and the text is there for comparing (see fits). It is
// stored as [llm.Opaque] while an answer waits for a person, so its JSON must stay readable.
type item struct {
	Kind      string          `json:"kind"` // reasoning, message or function_call
	Text      string          `json:"text,omitempty"`
	Phase     string          `json:"phase,omitempty"`
	ID        string          `json:"id,omitempty"`
	Encrypted string          `json:"encrypted,omitempty"`
	Summary   json.RawMessage `json:"summary,omitempty"`
}

// call is a call whose beginning at least has come.
type call struct {
	index  int
	filled bool // with parameters
}

// stream reads one answer. It is complete with the event that contains the whole response; the end of the connection
// alone means that it was cut. It belongs to one goroutine.
type stream struct {
	names wire.Names
	owner string
	yield func(llm.Chunk) bool
	done  bool
	calls map[int64]*call // by the index of their items
	items []item
	usage llm.Usage
	keep  func(id string) json.RawMessage // the state after the response with this id
}

// event yields the chunks of an event, and reports whether yield wants more. Unknown events are ignored, as
// the API adds new ones.
func (s *stream) event(from *wire.EventReader) (more bool, err error) {
	data := bytes.TrimSpace(from.Data)
	if len(data) == 0 || bytes.HasPrefix(data, []byte("[DONE]")) {
		return true, nil // a keep-alive, or the end of other APIs
	}
	e, err := readEvent(data, from.Kind)
	switch {
	case err != nil:
		return false, err
	case e.Type == "error", len(e.Error) > 0 && string(e.Error) != "null":
		return false, wire.ParseRefusal(data)
	case e.Type == "response.output_text.delta", e.Type == "response.refusal.delta":
		return e.Delta == "" || s.yield(llm.Chunk{Text: e.Delta}), nil
	case e.Type == "response.output_item.added" && e.Item.Type == "function_call":
		c := &call{index: len(s.calls)}
		s.calls[e.OutputIndex] = c
		return s.yield(llm.Chunk{Call: &llm.CallDelta{Index: c.index, ID: e.Item.CallID, Name: s.names.Ours(e.Item.Name)}}), nil
	case e.Type == "response.function_call_arguments.delta":
		return s.parameters(e.OutputIndex, e.Delta, false), nil
	case e.Type == "response.function_call_arguments.done":
		return s.parameters(e.OutputIndex, e.Arguments, true), nil
	case e.Type == "response.reasoning_summary_text.delta", e.Type == "response.reasoning_text.delta":
		return s.yield(llm.Chunk{Alive: true, Reasoning: e.Delta}), nil
	case e.Type == "response.reasoning_summary_part.done":
		return s.yield(llm.Chunk{Alive: true, Reasoning: "\n\n"}), nil
	case e.Type == "response.output_item.added" && e.Item.Type == "reasoning", strings.HasPrefix(e.Type, "response.reasoning"):
		return s.yield(llm.Chunk{Alive: true}), nil
	case e.Type == "response.output_item.done":
		s.item(e.Item)
	case e.Type == "response.completed", e.Type == "response.incomplete":
		return s.complete(e.Response), nil
	case e.Type == "response.failed":
		return false, wire.ParseRefusal(e.Response.Error)
	}
	return true, nil
}

// parameters yields a piece of a call's parameters. The event with all of them is used only if no piece came before.
func (s *stream) parameters(output int64, text string, all bool) bool {
	c := s.calls[output]
	if c == nil || text == "" || all && c.filled {
		return true
	}
	c.filled = true
	return s.yield(llm.Chunk{Call: &llm.CallDelta{Index: c.index, Parameters: text}})
}

// item keeps a completed item. Reasoning without encrypted content is left out: the server would look for it in its
// store.
func (s *stream) item(i outputItem) {
	switch i.Type {
	case "reasoning":
		if i.Encrypted != "" {
			s.items = append(s.items, item{Kind: i.Type, ID: i.ID, Encrypted: i.Encrypted, Summary: summaryOf(i)})
		}
	case "message":
		text := ""
		for _, c := range i.Content {
			text += c.Text + c.Refusal
		}
		s.items = append(s.items, item{Kind: i.Type, Text: text, Phase: i.Phase})
	case "function_call":
		s.items = append(s.items, item{Kind: i.Type})
	}
}

// summaryOf returns the summary of reasoning as it came, or an empty one: the API requires one.
func summaryOf(i outputItem) json.RawMessage {
	if len(i.Summary) == 0 || string(i.Summary) == "null" {
		return json.RawMessage("[]")
	}
	return i.Summary
}

// complete takes the usage and yields the reason why the answer ended.
func (s *stream) complete(r response) bool {
	s.done = true
	s.usage = llm.Usage{
		Prompt: r.Usage.Input, Completion: r.Usage.Output, Cached: r.Usage.Details.Cached, CacheWritten: r.Usage.Details.Written,
	}
	finish := llm.FinishStop
	switch {
	case r.Status == "incomplete" && r.IncompleteDetails.Reason == "content_filter":
		finish = llm.FinishFilter
	case r.Status == "incomplete":
		finish = llm.FinishLength
	case len(s.calls) > 0:
		finish = llm.FinishCalls
	}
	return s.yield(llm.Chunk{Finish: finish, State: s.keep(r.ID)})
}

// needed reports whether the items of an answer have to be sent back because of i. If there is neither reasoning nor a phase among
// them, text and calls say it all.
func (i item) needed() bool { return i.Kind == "reasoning" || i.Phase != "" }

// whole returns the events that a whole answer would have been, or nil if it is none: some servers send one although a
// stream was asked for.
func whole(answer []byte) (events []any) {
	type fields = map[string]any
	var response fields
	if json.Unmarshal(answer, &response) != nil || response["object"] != "response" {
		return nil
	}
	output, _ := response["output"].([]any)
	for n, o := range output {
		item, _ := o.(fields)
		add := func(kind string, more fields) {
			more["type"], more["output_index"] = kind, n
			events = append(events, more)
		}
		add("response.output_item.added", fields{"item": item})
		if item["type"] == "function_call" {
			add("response.function_call_arguments.done", fields{"arguments": item["arguments"]})
		}
		for _, key := range []string{"content", "summary"} {
			parts, _ := item[key].([]any)
			for _, p := range parts {
				part, _ := p.(fields)
				switch {
				case item["type"] == "reasoning":
					add("response.reasoning_summary_text.delta", fields{"delta": part["text"]})
				case part["type"] == "refusal":
					add("response.refusal.delta", fields{"delta": part["refusal"]})
				default:
					add("response.output_text.delta", fields{"delta": part["text"]})
				}
			}
		}
		add("response.output_item.done", fields{"item": item})
	}
	end, ok := map[any]string{"incomplete": "response.incomplete", "failed": "response.failed"}[response["status"]]
	if !ok {
		end = "response.completed"
	}
	return append(events, fields{"type": end, "response": response})
}
