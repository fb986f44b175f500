package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"parley/core/llm"
	"parley/models/wire"
)

// maxTokens is the limit of an answer if none is configured: the API requires one, and all models allow this one.
const maxTokens = 8192

// params writes req as a request of the API. The order of the parts of a prompt is tools, system, messages, and each
// cache breakpoint caches all before it. Up to four are allowed: one is set after tools and system here, two in
// history.
func (m *Model) params(name string, req llm.Request, n wire.Names) sdk.MessageNewParams {
	p := sdk.MessageNewParams{Model: sdk.Model(name), Messages: m.history(req.Messages, n)}
	limit := wire.Limit(m.options.MaxTokens, req.MaxTokens)
	m.think(&p, limit, m.resumes(req.Messages))
	if req.Readable && m.Sends("display") {
		readable(&p)
	}
	m.tune(&p)
	for _, tool := range req.Tools {
		p.Tools = append(p.Tools, sdk.ToolUnionParam{OfTool: &sdk.ToolParam{
			Name: n.Wire(tool.Name), Description: sdk.String(tool.Description), InputSchema: schema(tool.Parameters),
		}})
	}
	// Each breakpoint caches all that is before it: first tools and instructions, then the history.
	if req.System != "" {
		p.System = []sdk.TextBlockParam{{Text: req.System}}
	}
	switch last := len(p.Tools) - 1; {
	case !m.Sends("cache_control"):
	case req.System != "":
		p.System[0].CacheControl = sdk.NewCacheControlEphemeralParam()
	case last >= 0:
		p.Tools[last].OfTool.CacheControl = sdk.NewCacheControlEphemeralParam()
	}
	return p
}

// tune sets the sampling parameters of the options. The API has no seed.
func (m *Model) tune(p *sdk.MessageNewParams) {
	o := m.options.Parameters
	if param.IsOmitted(p.Thinking) { // with thinking, the API allows no temperature but 1, and hardly any top_p
		if o.Temperature != nil {
			p.Temperature = sdk.Float(min(*o.Temperature, 1))
		}
		if o.TopP != nil {
			p.TopP = sdk.Float(*o.TopP)
		}
	}
	p.StopSequences = o.Stop
	p.OutputConfig.Effort = sdk.OutputConfigEffort(o.Effort)
	p.SetExtraFields(wire.Extra(o.Extra, param.Omit))
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

// think sets the amount of thinking, and the limit on tokens, which includes thinking.
func (m *Model) think(p *sdk.MessageNewParams, limit int, resumes bool) {
	adapts := m.config.Thinking == adaptive && m.config.ThinkingBudget == 0
	budget := m.config.ThinkingBudget
	if own := m.options.ThinkingBudget; own != nil { // the setting of a single model takes precedence, also if it is none
		budget, adapts = *own, false
	}
	switch {
	case limit == 0:
		limit = maxTokens + budget
	case budget > limit/2: // at least half is left for the answer
		budget = limit / 2
	}
	p.MaxTokens = int64(limit)
	switch {
	case adapts && limit >= minBudget:
		p.Thinking = sdk.ThinkingConfigParamUnion{OfAdaptive: &sdk.ThinkingConfigAdaptiveParam{}}
	case budget >= minBudget && !resumes:
		p.Thinking = sdk.ThinkingConfigParamOfEnabled(int64(budget))
	}
}

// readable asks for summaries of the thinking, which newer models leave out otherwise.
func readable(p *sdk.MessageNewParams) {
	switch t := p.Thinking; {
	case t.OfAdaptive != nil:
		t.OfAdaptive.Display = sdk.ThinkingConfigAdaptiveDisplaySummarized
	case t.OfEnabled != nil:
		t.OfEnabled.Display = sdk.ThinkingConfigEnabledDisplaySummarized
	}
}

// schema writes a tool's parameters, which [wire.Schema] has made.
func schema(raw json.RawMessage) sdk.ToolInputSchemaParam {
	var fields map[string]any
	_ = json.Unmarshal(raw, &fields) // nil
	s := sdk.ToolInputSchemaParam{Properties: map[string]any{}}
	if fields["properties"] != nil {
		s.Properties = fields["properties"]
	}
	for key, value := range fields {
		if key == "type" || key == "properties" {
			continue
		}
		if s.ExtraFields == nil {
			s.ExtraFields = map[string]any{}
		}
		s.ExtraFields[key] = value
	}
	return s
}

// history writes the messages. Those of one side that follow each other become one, as the API requires that sides
// alternate.
//
// It sets two cache breakpoints. One is the last block before the gateway's context, which changes with every turn: the
// next turn begins with the same blocks. The other is the last block of all, for the further rounds of this turn.
func (m *Model) history(messages []llm.Message, n wire.Names) (list []sdk.MessageParam) {
	stable := (*sdk.ContentBlockParamUnion)(nil)
	volatile := false
	for _, t := range messages {
		if t.Context && !volatile {
			volatile, stable = true, lastBlock(list)
		}
		role, blocks := sdk.MessageParamRoleUser, []sdk.ContentBlockParamUnion(nil)
		switch t.Role {
		case llm.RoleTool:
			blocks = append(blocks, sdk.NewToolResultBlock(t.Call, t.Text, false))
		case llm.RoleAssistant:
			role, blocks = sdk.MessageParamRoleAssistant, m.assistant(t, n)
		default:
			blocks = user(t)
		}
		if last := len(list) - 1; last >= 0 && list[last].Role == role {
			list[last].Content = append(list[last].Content, blocks...)
		} else if len(blocks) > 0 {
			list = append(list, sdk.MessageParam{Role: role, Content: blocks})
		}
	}
	if m.Sends("cache_control") {
		mark(stable)
		mark(lastBlock(list))
	}
	return list
}

// lastBlock returns the last block of list, or nil. It is a copy with the same pointers, so setting its cache control
// changes the list. It leaves out thinking blocks, which can't be breakpoints.
func lastBlock(list []sdk.MessageParam) *sdk.ContentBlockParamUnion {
	if len(list) == 0 {
		return nil
	}
	blocks := list[len(list)-1].Content
	return &sdk.ContentBlockParamUnion{
		OfText: blocks[len(blocks)-1].OfText, OfImage: blocks[len(blocks)-1].OfImage,
		OfToolUse: blocks[len(blocks)-1].OfToolUse, OfToolResult: blocks[len(blocks)-1].OfToolResult,
	}
}

// mark makes a block a breakpoint of the cache, if it can be one.
func mark(b *sdk.ContentBlockParamUnion) {
	if b == nil {
		return
	}
	if to := b.GetCacheControl(); to != nil {
		*to = sdk.NewCacheControlEphemeralParam()
	}
}

// user writes a user message. Images come first, as the API's guide recommends.
func user(t llm.Message) (blocks []sdk.ContentBlockParamUnion) {
	for _, i := range t.Images {
		blocks = append(blocks, sdk.NewImageBlockBase64(i.Type, base64.StdEncoding.EncodeToString(i.Data)))
	}
	return append(blocks, text(t.Text)...)
}

// text returns a block with s, or none if there is nothing to read: the API refuses empty ones.
func text(s string) []sdk.ContentBlockParamUnion {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	return []sdk.ContentBlockParamUnion{sdk.NewTextBlock(s)}
}

// assistant writes an answer. With the blocks that the API sent, it restores their order, with thinking in its place.
// Without them, or if they no longer match the answer, thinking comes first, then text, then calls.
func (m *Model) assistant(t llm.Message, n wire.Names) (blocks []sdk.ContentBlockParamUnion) {
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
func (b block) thinking() []sdk.ContentBlockParamUnion {
	switch b.Kind {
	case "thinking":
		return []sdk.ContentBlockParamUnion{sdk.NewThinkingBlock(b.Signature, b.Text)}
	case "redacted_thinking":
		return []sdk.ContentBlockParamUnion{sdk.NewRedactedThinkingBlock(b.Text)}
	}
	return nil
}

// call writes a call. Parameters that are no object, as of an answer that broke off, become an empty one: the API
// refuses others.
func call(c llm.ToolCall, n wire.Names) sdk.ContentBlockParamUnion {
	input := json.RawMessage("{}") // the call's result describes the error to the model
	var object map[string]json.RawMessage
	if json.Unmarshal(c.Parameters, &object) == nil && object != nil {
		input = c.Parameters
	}
	return sdk.NewToolUseBlock(c.ID, input, n.Wire(c.Name))
}
