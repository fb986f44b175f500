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

// params writes req in the words of the API.
func (m *Model) params(name string, req llm.Request, n wire.Names) sdk.ResponseNewParams {
	p := sdk.ResponseNewParams{
		Model: name, Store: openai.Bool(false),
		Input: sdk.ResponseNewParamsInputUnion{OfInputItemList: m.history(req.Messages, n)},
	}
	if !m.plain.Load() {
		p.Include = []sdk.ResponseIncludable{sdk.ResponseIncludableReasoningEncryptedContent}
	}
	if req.System != "" {
		p.Instructions = openai.String(req.System)
	}
	if tokens := wire.Limit(m.options.MaxTokens, req.MaxTokens); tokens > 0 {
		p.MaxOutputTokens = openai.Int(int64(tokens))
	}
	o := m.options.Parameters // the API knows neither stop nor seed
	if o.Temperature != nil {
		p.Temperature = openai.Float(*o.Temperature)
	}
	if o.TopP != nil {
		p.TopP = openai.Float(*o.TopP)
	}
	p.Reasoning.Effort = shared.ReasoningEffort(o.Effort)
	if req.Readable && !m.plain.Load() && !m.sealed.Load() {
		p.Reasoning.Summary = shared.ReasoningSummaryAuto
	}
	p.SetExtraFields(o.Extra)
	for _, tool := range req.Tools {
		p.Tools = append(p.Tools, sdk.ToolUnionParam{OfFunction: &sdk.FunctionToolParam{
			Name: n.Wire(tool.Name), Description: openai.String(tool.Description), Parameters: schema(tool.Parameters),
			Strict: openai.Bool(false), // strict ones take a part of JSON schema only
		}})
	}
	return p
}

// schema reads a tool's parameters. What is no object of JSON becomes an object without properties.
func schema(raw json.RawMessage) map[string]any {
	var parameters map[string]any
	if err := json.Unmarshal(raw, &parameters); err != nil || parameters == nil {
		return map[string]any{"type": "object", "properties": map[string]any{}}
	}
	return parameters
}

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

// assistant writes an answer: its reasoning goes where it was, between text and calls.
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

// fits reports whether the items are those of t: the runtime leaves out calls, and goes on with text.
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

func (i item) reasoning() sdk.ResponseInputItemUnionParam {
	return param.Override[sdk.ResponseInputItemUnionParam](map[string]any{
		"type": "reasoning", "id": i.ID, "summary": i.Summary, "encrypted_content": i.Encrypted,
	})
}

func said(text, phase string) sdk.ResponseInputParam {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	message := sdk.ResponseInputItemParamOfMessage(text, sdk.EasyInputMessageRoleAssistant)
	message.OfMessage.Phase = sdk.EasyInputMessagePhase(phase)
	return sdk.ResponseInputParam{message}
}

func calling(c llm.ToolCall, n wire.Names) sdk.ResponseInputItemUnionParam {
	arguments := "{}" // half a call is none; its result tells what was wrong
	if json.Valid(c.Parameters) {
		arguments = string(c.Parameters)
	}
	return sdk.ResponseInputItemParamOfFunctionCall(arguments, c.ID, n.Wire(c.Name))
}
