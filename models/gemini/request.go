package gemini

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"parley/core/llm"
	"parley/models/wire"
)

// unsigned returns the value that the API accepts as the signature of a call which another model made
// (https://ai.google.dev/gemini-api/docs/thought-signatures). Signatures are encoded in base64 as requests are written, so it is
// decoded here.
func unsigned() []byte {
	signature, _ := base64.URLEncoding.DecodeString("skip_thought_signature_validator") // a constant, and valid
	return signature
}

// request writes req as a request of the API.
func (m *Model) request(name string, req llm.Request, n wire.Names) request {
	r := request{Contents: m.history(req.Messages, name, n), GenerationConfig: m.tuned()}
	p := &r.GenerationConfig
	if m.Sends("maxOutputTokens") {
		p.MaxOutputTokens = wire.Limit(m.options.MaxTokens, req.MaxTokens)
	}
	if req.System != "" {
		r.SystemInstruction = &content{Parts: []*contentPart{{Text: req.System}}}
	}
	budget := m.options.ThinkingBudget
	asks := thinks(name) && m.Sends("thoughts")
	if asks || thinks(name) && budget != nil || m.options.Effort != "" {
		p.ThinkingConfig = &thinking{IncludeThoughts: m.Sends("thoughts")} // thoughts show that the stream is not stalled
		p.ThinkingConfig.ThinkingLevel = strings.ToUpper(m.options.Effort)
		if budget != nil && m.options.Effort == "" { // the API accepts only one of the two
			p.ThinkingConfig.ThinkingBudget = budget
		}
	}
	var tools []function
	for _, tool := range req.Tools {
		tools = append(tools, function{n.Wire(tool.Name), tool.Description, schema(tool.Parameters)})
	}
	if tools != nil {
		r.Tools = []toolSet{{tools}}
	}
	return r
}

// tuned returns the sampling parameters of the options, except the effort.
func (m *Model) tuned() generation {
	o := m.options.Parameters
	return generation{Temperature: o.Temperature, TopP: o.TopP, Seed: o.Seed, StopSequences: o.Stop}
}

// thinks reports whether a model reasons. Earlier ones refuse a configuration for it.
func thinks(name string) bool {
	name = strings.TrimPrefix(name, "models/")
	return strings.HasPrefix(name, "gemini-") && !strings.HasPrefix(name, "gemini-1") && !strings.HasPrefix(name, "gemini-2.0")
}

// wantsSignatures reports whether a model refuses calls without a signature.
func wantsSignatures(name string) bool { return thinks(name) && !strings.Contains(name, "gemini-2") }

// schema reads a tool's parameters, which [wire.Schema] has made, or nil if there are none: the API has refused objects
// without properties.
func schema(raw json.RawMessage) any {
	var parameters map[string]any
	_ = json.Unmarshal(raw, &parameters) // it is valid
	if properties, _ := parameters["properties"].(map[string]any); len(properties) == 0 {
		return nil
	}
	return acceptedSchema(parameters)
}

// acceptedSchema returns a schema without the parts that the API refuses: empty lists of properties below the top, and empty
// texts among those that are allowed.
func acceptedSchema(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = acceptedSchema(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = acceptedSchema(v[key])
		}
		if properties, ok := v["properties"].(map[string]any); ok && len(properties) == 0 && v["type"] == "object" {
			delete(v, "properties")
		}
		if allowed, ok := v["enum"].([]any); ok && v["type"] == "string" {
			if v["enum"] = slices.DeleteFunc(allowed, func(a any) bool { return a == "" }); len(v["enum"].([]any)) == 0 {
				delete(v, "enum")
			}
		}
	}
	return v
}

// history writes the messages. Those of one side that follow each other become one, and results of calls are matched by
// the name of the function.
func (m *Model) history(messages []llm.Message, name string, n wire.Names) (list []*content) {
	called := map[string]string{} // names of calls by their ids, for their results
	for _, t := range messages {
		role, parts := roleUser, []*contentPart(nil)
		switch t.Role {
		case llm.RoleTool:
			parts = append(parts, &contentPart{FunctionResponse: &functionResponse{called[t.Call], map[string]any{"result": t.Text}}})
		case llm.RoleAssistant:
			for _, c := range t.Calls {
				called[c.ID] = n.Wire(c.Name)
			}
			role, parts = roleModel, m.assistant(t, name, n)
		default:
			for _, i := range t.Images {
				parts = append(parts, &contentPart{InlineData: &blob{i.Type, i.Data}})
			}
			parts = append(parts, text(t.Text, nil)...)
		}
		if last := len(list) - 1; last >= 0 && list[last].Role == role {
			list[last].Parts = append(list[last].Parts, parts...)
		} else if len(parts) > 0 {
			list = append(list, &content{Role: role, Parts: parts})
		}
	}
	return list
}

// text returns a part with s, or none if there is neither text nor a signature: the API refuses empty ones.
func text(s string, signature []byte) []*contentPart {
	if strings.TrimSpace(s) == "" && signature == nil {
		return nil
	}
	return []*contentPart{{Text: s, ThoughtSignature: signature}}
}

// assistant writes an answer. With the parts that the API sent, it restores their order and signatures. Without them,
// or if they no longer match the answer, text comes first, then the calls; the first of them needs a signature.
func (m *Model) assistant(t llm.Message, name string, n wire.Names) (parts []*contentPart) {
	var were []part
	_ = json.Unmarshal(t.Opaque.Of(m.String()), &were) // nil
	calls := t.Calls
	if fits(were, t) {
		for _, w := range were {
			if !w.Call {
				parts = append(parts, text(w.Text, w.Signature)...)
				continue
			}
			parts, calls = append(parts, calling(calls[0], n, w.Signature)), calls[1:]
		}
		return parts
	}
	parts = text(t.Text, nil)
	for i, c := range calls {
		var signature []byte
		if i == 0 {
			signature = firstOf(were)
			if signature == nil && wantsSignatures(name) {
				signature = unsigned()
			}
		}
		parts = append(parts, calling(c, n, signature))
	}
	return parts
}

// firstOf returns the signature of the first call, or nil.
func firstOf(were []part) []byte {
	for _, w := range were {
		if w.Call {
			return w.Signature
		}
	}
	return nil
}

// fits reports whether the parts are those of t. The runtime can have left out calls, or continued the text, since they
// came.
func fits(were []part, t llm.Message) bool {
	said, calls := "", 0
	for _, w := range were {
		said += w.Text
		if w.Call {
			calls++
		}
	}
	return len(were) > 0 && calls == len(t.Calls) && strings.TrimSpace(said) == strings.TrimSpace(t.Text)
}

// calling writes a call. Parameters that are no object, as of an answer that broke off, become an empty one.
func calling(c llm.ToolCall, n wire.Names, signature []byte) *contentPart {
	arguments := map[string]any{}
	_ = json.Unmarshal(c.Parameters, &arguments) // its result describes the error to the model
	return &contentPart{FunctionCall: &functionCall{Name: n.Wire(c.Name), Args: arguments}, ThoughtSignature: signature}
}
