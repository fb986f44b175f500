package responses

import (
	"encoding/json"
	"strings"

	openai "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	sdk "github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"parley/core/llm"
	"parley/models/wire"
)

// params writes req as a request of the API.
func (m *Model) params(name string, req llm.Request, n wire.Names) sdk.ResponseNewParams {
	p := sdk.ResponseNewParams{
		Model: name,
		Input: sdk.ResponseNewParamsInputUnion{OfInputItemList: m.history(req.Messages, n)},
	}
	if m.Sends("store") {
		p.Store = openai.Bool(false)
	}
	if m.Sends("include") {
		p.Include = []sdk.ResponseIncludable{sdk.ResponseIncludableReasoningEncryptedContent}
	}
	if req.System != "" {
		p.Instructions = openai.String(req.System)
	}
	if tokens := wire.Limit(m.options.MaxTokens, req.MaxTokens); tokens > 0 && m.Sends("max_output_tokens") {
		p.MaxOutputTokens = openai.Int(int64(tokens))
	}
	o := m.options.Parameters // the API has neither stop nor seed
	if o.Temperature != nil {
		p.Temperature = openai.Float(*o.Temperature)
	}
	if o.TopP != nil {
		p.TopP = openai.Float(*o.TopP)
	}
	p.Reasoning.Effort = shared.ReasoningEffort(o.Effort)
	if req.Readable && m.Sends("include") && m.Sends("summary") {
		p.Reasoning.Summary = shared.ReasoningSummaryAuto
	}
	p.SetExtraFields(wire.Extra(o.Extra, param.Omit))
	for _, tool := range req.Tools {
		f := &sdk.FunctionToolParam{Name: n.Wire(tool.Name), Description: openai.String(tool.Description), Parameters: schema(tool.Parameters)}
		if m.Sends("strict") {
			f.Strict = openai.Bool(false) // strict mode accepts only a part of JSON schema
		}
		p.Tools = append(p.Tools, sdk.ToolUnionParam{OfFunction: f})
	}
	return p
}

// schema reads a tool's parameters, which [wire.Schema] has made.
func schema(raw json.RawMessage) (parameters map[string]any) {
	_ = json.Unmarshal(raw, &parameters) // it is valid
	return parameters
}

// history writes the messages of a conversation as items.
func (m *Model) history(messages []llm.Message, n wire.Names) (list sdk.ResponseInputParam) {
	for _, t := range messages {
		switch t.Role {
		case llm.RoleTool:
			result := sdk.ResponseInputItemParamOfFunctionCallOutput(t.Text)
			result.OfFunctionCallOutput.CallID = param.NewOpt(t.Call)
			list = append(list, result)
		case llm.RoleAssistant:
			list = append(list, m.assistant(t, n)...)
		default:
			list = append(list, user(t))
		}
	}
	return list
}

// user writes a user message with its images, inline: the provider can't, or must not, fetch a URL.
func user(t llm.Message) sdk.ResponseInputItemUnionParam {
	if len(t.Images) == 0 {
		return sdk.ResponseInputItemParamOfMessage(t.Text, sdk.EasyInputMessageRoleUser)
	}
	var parts sdk.ResponseInputMessageContentListParam
	if t.Text != "" {
		parts = append(parts, sdk.ResponseInputContentParamOfInputText(t.Text))
	}
	for _, i := range t.Images {
		parts = append(parts, sdk.ResponseInputContentUnionParam{OfInputImage: &sdk.ResponseInputImageParam{
			Detail: sdk.ResponseInputImageDetailAuto, ImageURL: param.NewOpt(i.DataURL()),
		}})
	}
	return sdk.ResponseInputItemParamOfMessage(parts, sdk.EasyInputMessageRoleUser)
}

// assistant writes an answer. With the items that the API sent, it restores their order: reasoning must stand before
// what followed from it. Without them, or if they no longer match the answer, reasoning comes first, then text, then
// calls.
func (m *Model) assistant(t llm.Message, n wire.Names) (list sdk.ResponseInputParam) {
	var were []item
	_ = json.Unmarshal(t.Opaque.Of(m.String()), &were) // nil
	calls := t.Calls
	if !fits(were, t) {
		for _, i := range were {
			if i.Kind == "reasoning" {
				list = append(list, i.reasoning())
			}
		}
		list = append(list, said(t.Text, "")...)
		for _, c := range calls {
			list = append(list, calling(c, n))
		}
		return list
	}
	for _, i := range were {
		switch i.Kind {
		case "reasoning":
			list = append(list, i.reasoning())
		case "message":
			list = append(list, said(i.Text, i.Phase)...)
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

// reasoning writes a reasoning item with its fields as they came.
func (i item) reasoning() sdk.ResponseInputItemUnionParam {
	return param.Override[sdk.ResponseInputItemUnionParam](map[string]any{
		"type": "reasoning", "id": i.ID, "summary": i.Summary, "encrypted_content": i.Encrypted,
	})
}

// said writes a text of the assistant, or nothing if it is empty, which the API refuses. phase is sent back as it came.
func said(text, phase string) sdk.ResponseInputParam {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	message := sdk.ResponseInputItemParamOfMessage(text, sdk.EasyInputMessageRoleAssistant)
	message.OfMessage.Phase = sdk.EasyInputMessagePhase(phase)
	return sdk.ResponseInputParam{message}
}

// calling writes a call. Parameters that are no JSON, as of an answer that broke off, become an empty object: the API
// refuses others, and the call's result describes the error to the model.
func calling(c llm.ToolCall, n wire.Names) sdk.ResponseInputItemUnionParam {
	arguments := "{}" // half a call is none; its result describes the error
	if json.Valid(c.Parameters) {
		arguments = string(c.Parameters)
	}
	return sdk.ResponseInputItemParamOfFunctionCall(arguments, c.ID, n.Wire(c.Name))
}
