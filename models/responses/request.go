package responses

import (
	"encoding/json"
	"slices"
	"strings"

	"parley/core/llm"
	"parley/models/wire"
)

// request writes req as a request of the API, which has neither stop nor seed.
func (m *Model) request(name string, req llm.Request, previous string, n wire.Names) request {
	o := m.options.Parameters
	r := request{
		Model: name, Stream: true, Instructions: req.System, Input: m.history(req.Messages, n), Temperature: o.Temperature, TopP: o.TopP,
	}
	no, chained := false, m.chained(req)
	r.Previous = previous
	if m.Sends("store") {
		r.Store = &chained
	}
	if m.Sends("include") && !chained { // otherwise the provider has the reasoning
		r.Include = []string{"reasoning.encrypted_content"}
	}
	if m.Sends("max_output_tokens") {
		r.MaxOutputTokens = wire.Limit(m.options.MaxTokens, req.MaxTokens)
	}
	summarized := req.Readable && m.Sends("include") && m.Sends("summary")
	if summarized || o.Effort != "" {
		r.Reasoning = &reasoning{Effort: o.Effort}
	}
	if summarized {
		r.Reasoning.Summary = "auto"
	}
	for _, t := range req.Tools {
		f := tool{Type: "function", Name: n.Wire(t.Name), Description: t.Description, Parameters: t.Parameters}
		if m.Sends("strict") {
			f.Strict = &no // strict mode accepts only a part of JSON schema
		}
		r.Tools = append(r.Tools, f)
	}
	return r
}

// history writes the messages of a conversation as items.
func (m *Model) history(messages []llm.Message, n wire.Names) (list []any) {
	for _, t := range messages {
		switch t.Role {
		case llm.RoleTool:
			list = append(list, resultItem{"function_call_output", t.Call, t.Text})
		case llm.RoleAssistant:
			list = append(list, m.assistant(t, n)...)
		default:
			list = append(list, user(t))
		}
	}
	return list
}

// user writes a user message with its images, inline: the provider can't, or must not, fetch a URL.
func user(t llm.Message) message {
	if len(t.Images) == 0 {
		return message{Type: "message", Role: "user", Content: t.Text}
	}
	var parts []inputPart
	if t.Text != "" {
		parts = append(parts, inputPart{Type: "input_text", Text: t.Text})
	}
	for _, i := range t.Images {
		parts = append(parts, inputPart{Type: "input_image", Detail: "auto", ImageURL: i.DataURL()})
	}
	return message{Type: "message", Role: "user", Content: parts}
}

// assistant writes an answer. With the items that the API sent, it restores their order: reasoning must stand before
// what followed from it. Without them, or if they no longer match the answer, reasoning comes first, then text, then
// calls.
func (m *Model) assistant(t llm.Message, n wire.Names) (list []any) {
	var were []item
	_ = json.Unmarshal(t.Opaque.Of(m.String()), &were) // nil
	calls := t.Calls
	if !fits(were, t) {
		were = slices.DeleteFunc(were, func(i item) bool { return i.Kind != "reasoning" })
		were = append(were, item{Kind: "message", Text: t.Text})
		for range calls {
			were = append(were, item{Kind: "function_call"})
		}
	}
	for _, i := range were {
		switch i.Kind {
		case "reasoning":
			list = append(list, reasoningItem{i.Kind, i.ID, i.Summary, i.Encrypted})
		case "message":
			if strings.TrimSpace(i.Text) != "" { // the API refuses an empty one
				list = append(list, message{Type: "message", Role: "assistant", Content: i.Text, Phase: i.Phase})
			}
		default:
			list, calls = append(list, calling(calls[0], n)), calls[1:]
		}
	}
	return list
}

// fits reports whether the items are those of t. The runtime can have left out calls, or continued the text, since they
// came.
func fits(were []item, t llm.Message) bool {
	said, calls := "", 0
	for _, i := range were {
		said += i.Text
		if i.Kind == "function_call" {
			calls++
		}
	}
	return len(were) > 0 && calls == len(t.Calls) && strings.TrimSpace(said) == strings.TrimSpace(t.Text)
}

// calling writes a call. Parameters that are no JSON, as of an answer that broke off, become an empty object: the API
// refuses others, and the call's result describes the error to the model.
func calling(c llm.ToolCall, n wire.Names) callItem {
	arguments := "{}" // half a call is none; its result describes the error
	if json.Valid(c.Parameters) {
		arguments = string(c.Parameters)
	}
	return callItem{"function_call", c.ID, n.Wire(c.Name), arguments}
}
