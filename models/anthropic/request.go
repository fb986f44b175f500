package anthropic

import (
	"encoding/json"
	"slices"
	"strings"

	"parley/core/llm"
	"parley/models/wire"
)

// maxTokens is the limit of an answer if none is configured: the API requires one, and all models allow this one.
const maxTokens = 8192

// request writes req as a request of the API. The order of the parts of a prompt is tools, system, messages, and each
// cache breakpoint caches all before it. Up to four are allowed: one is set after tools and system here, two in
// history.
func (m *Model) request(name string, req llm.Request, n wire.Names) request {
	r := request{Model: name, Messages: m.history(req.Messages, n), Stream: true}
	m.think(&r, wire.Limit(m.options.MaxTokens, req.MaxTokens), m.resumes(req.Messages))
	if req.Readable && m.Sends("display") && r.Thinking != nil {
		r.Thinking.Display = "summarized" // newer models leave summaries out otherwise
	}
	m.tune(&r)
	for _, t := range req.Tools {
		r.Tools = append(r.Tools, tool{Name: n.Wire(t.Name), Description: t.Description, InputSchema: schema(t.Parameters)})
	}
	// Each breakpoint caches all that is before it: first tools and instructions, then the history.
	if req.System != "" {
		r.System = []*part{{Type: "text", Text: &req.System}}
	}
	switch last := len(r.Tools) - 1; {
	case !m.Sends("cache_control"):
	case req.System != "":
		r.System[0].CacheControl = &cacheControl{"ephemeral"}
	case last >= 0:
		r.Tools[last].CacheControl = &cacheControl{"ephemeral"}
	}
	return r
}

// tune sets the sampling parameters of the options. The API has no seed.
func (m *Model) tune(r *request) {
	o := m.options.Parameters
	if r.Thinking == nil { // with thinking, the API allows no temperature but 1, and hardly any top_p
		if o.Temperature != nil {
			warmth := min(*o.Temperature, 1)
			r.Temperature = &warmth
		}
		r.TopP = o.TopP
	}
	r.StopSequences = o.Stop
	if o.Effort != "" {
		r.OutputConfig = &output{o.Effort}
	}
}

// resumes reports whether the latest answer has calls that another model made, as after a fallback in the middle of an
// answer. This model then can't think before it continues: the API requires thinking before those calls, and there is
// none with its signature.
func (m *Model) resumes(messages []llm.Message) bool {
	for _, t := range slices.Backward(messages) {
		if t.Role == llm.RoleAssistant {
			return len(t.Calls) > 0 && t.Opaque.Of(m.String()) == nil
		}
	}
	return false
}

// think sets the amount of thinking, and the limit on tokens, which includes thinking. With an effort and no budget, the model decides by
// itself; earlier models can't, and don't think then.
func (m *Model) think(r *request, limit int, resumes bool) {
	given, budget := m.options.ThinkingBudget, 0
	if given != nil {
		budget = *given
	}
	switch {
	case limit == 0:
		limit = maxTokens + budget
	case budget > limit/2: // at least half is left for the answer
		budget = limit / 2
	}
	r.MaxTokens = limit
	switch {
	case given == nil && m.options.Effort != "" && limit >= minBudget && m.Sends("adaptive thinking"):
		r.Thinking = &thinking{Type: "adaptive"}
	case budget >= minBudget && !resumes:
		r.Thinking = &thinking{Type: "enabled", Budget: budget}
	}
}

// schema writes a tool's parameters, which [wire.Schema] has made.
func schema(raw json.RawMessage) map[string]any {
	var s map[string]any
	_ = json.Unmarshal(raw, &s) // nil
	if s == nil {
		s = map[string]any{}
	}
	s["type"] = "object"
	if s["properties"] == nil {
		s["properties"] = map[string]any{}
	}
	return s
}

// history writes the messages. Those of one side that follow each other become one, as the API requires that sides
// alternate.
//
// It sets two cache breakpoints. One is the last block before the gateway's context, which changes with every turn: the
// next turn begins with the same blocks. The other is the last block of all, for the further rounds of this turn.
func (m *Model) history(messages []llm.Message, n wire.Names) (list []message) {
	stable := (*part)(nil)
	volatile := false
	for _, t := range messages {
		if t.Context && !volatile {
			volatile, stable = true, lastBlock(list)
		}
		role, blocks := "user", []*part(nil)
		switch t.Role {
		case llm.RoleTool:
			blocks = append(blocks, &part{Type: "tool_result", ToolUseID: t.Call, Content: []*part{{Type: "text", Text: &t.Text}}})
		case llm.RoleAssistant:
			role, blocks = "assistant", m.assistant(t, n)
		default:
			blocks = user(t)
		}
		if last := len(list) - 1; last >= 0 && list[last].Role == role {
			list[last].Content = append(list[last].Content, blocks...)
		} else if len(blocks) > 0 {
			list = append(list, message{Role: role, Content: blocks})
		}
	}
	if m.Sends("cache_control") {
		mark(stable)
		mark(lastBlock(list))
	}
	return list
}

// lastBlock returns the last block of list, or nil.
func lastBlock(list []message) *part {
	if len(list) == 0 {
		return nil
	}
	blocks := list[len(list)-1].Content
	return blocks[len(blocks)-1]
}

// mark makes a block a breakpoint of the cache. Thinking can't be one.
func mark(p *part) {
	if p != nil && p.Thinking == nil && p.Data == nil {
		p.CacheControl = &cacheControl{"ephemeral"}
	}
}

// user writes a user message. Images come first, as the API's guide recommends.
func user(t llm.Message) (blocks []*part) {
	for _, i := range t.Images {
		blocks = append(blocks, &part{Type: "image", Source: &source{"base64", i.Type, i.Data}})
	}
	return append(blocks, text(t.Text)...)
}

// text returns a block with s, or none if there is nothing to read: the API refuses empty ones.
func text(s string) []*part {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	return []*part{{Type: "text", Text: &s}}
}

// assistant writes an answer. With the blocks that the API sent, it restores their order, with thinking in its place.
// Without them, or if they no longer match the answer, thinking comes first, then text, then calls.
func (m *Model) assistant(t llm.Message, n wire.Names) (blocks []*part) {
	var were []block
	_ = json.Unmarshal(t.Opaque.Of(m.String()), &were) // nil
	if !fits(were, t) {
		for _, b := range were {
			blocks = append(blocks, b.thinking()...)
		}
		blocks = append(blocks, text(t.Text)...)
		for _, c := range t.Calls {
			blocks = append(blocks, call(c, n))
		}
		return blocks
	}
	calls := t.Calls
	for _, b := range were {
		switch b.Kind {
		case "text":
			blocks = append(blocks, text(b.Text)...)
		case "tool_use":
			blocks, calls = append(blocks, call(calls[0], n)), calls[1:]
		default:
			blocks = append(blocks, b.thinking()...)
		}
	}
	return blocks
}

// fits reports whether the blocks are those of t. The runtime can have left out calls, or continued the text, since
// they came.
func fits(were []block, t llm.Message) bool {
	said, calls := "", 0
	for _, b := range were {
		switch b.Kind {
		case "text":
			said += b.Text
		case "tool_use":
			calls++
		}
	}
	return len(were) > 0 && calls == len(t.Calls) && strings.TrimSpace(said) == strings.TrimSpace(t.Text)
}

// thinking returns the block to be sent back, if it is one of thinking.
func (b block) thinking() []*part {
	switch b.Kind {
	case "thinking":
		return []*part{{Type: b.Kind, Signature: &b.Signature, Thinking: &b.Text}}
	case "redacted_thinking":
		return []*part{{Type: b.Kind, Data: &b.Text}}
	}
	return nil
}

// call writes a call. Parameters that are no object, as of an answer that broke off, become an empty one: the API
// refuses others.
func call(c llm.ToolCall, n wire.Names) *part {
	input := json.RawMessage("{}") // the call's result describes the error to the model
	var object map[string]json.RawMessage
	if json.Unmarshal(c.Parameters, &object) == nil && object != nil {
		input = c.Parameters
	}
	return &part{Type: "tool_use", ID: c.ID, Name: n.Wire(c.Name), Input: input}
}
