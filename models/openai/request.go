package openai

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"parley/core/llm"
	"parley/models/wire"
)

// params writes req in the words of chat completions.
func (m *Model) params(name string, tokens int, req llm.Request, n wire.Names) sdk.ChatCompletionNewParams {
	p := sdk.ChatCompletionNewParams{
		Model:         name,
		Messages:      m.messages(req, n),
		StreamOptions: sdk.ChatCompletionStreamOptionsParam{IncludeUsage: sdk.Bool(true)},
	}
	switch {
	case tokens <= 0:
	case m.options.MaxCompletionTokens, strings.HasSuffix(m.Base.Hostname(), ".openai.com"): // its newer models refuse the older name
		p.MaxCompletionTokens = sdk.Int(int64(tokens))
	default: // which is the only one that many others know
		p.MaxTokens = sdk.Int(int64(tokens))
	}
	m.tune(&p)
	for _, tool := range req.Tools {
		p.Tools = append(p.Tools, sdk.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name:        n.Wire(tool.Name),
			Description: param.NewOpt(tool.Description),
			Strict:      sdk.Bool(false), // strict ones take a part of JSON schema only
			Parameters:  schema(tool.Parameters),
		}))
	}
	return p
}

// tune sets the parameters of the options.
func (m *Model) tune(p *sdk.ChatCompletionNewParams) {
	o := m.options.Parameters
	if o.Temperature != nil {
		p.Temperature = sdk.Float(*o.Temperature)
	}
	if o.TopP != nil {
		p.TopP = sdk.Float(*o.TopP)
	}
	if o.Seed != nil {
		p.Seed = sdk.Int(int64(*o.Seed))
	}
	p.Stop.OfStringArray = o.Stop
	p.ReasoningEffort = shared.ReasoningEffort(o.Effort)
	p.SetExtraFields(o.Extra)
}

// schema reads a tool's parameters. What is no object of JSON becomes an object without properties.
func schema(raw json.RawMessage) shared.FunctionParameters {
	var parameters shared.FunctionParameters
	if err := json.Unmarshal(raw, &parameters); err != nil || parameters == nil {
		return shared.FunctionParameters{"type": "object", "properties": map[string]any{}}
	}
	return parameters
}

func (m *Model) messages(req llm.Request, n wire.Names) []sdk.ChatCompletionMessageParamUnion {
	list := make([]sdk.ChatCompletionMessageParamUnion, 0, len(req.Messages)+1)
	if req.System != "" {
		list = append(list, sdk.SystemMessage(req.System))
	}
	for _, t := range req.Messages {
		switch t.Role {
		case llm.RoleTool:
			list = append(list, sdk.ToolMessage(t.Text, m.callID(t.Call)))
		case llm.RoleAssistant:
			if t.Text != "" || len(t.Calls) > 0 { // one that says nothing is refused
				list = append(list, m.assistant(t, n))
			}
		default:
			if last := len(list) - 1; last >= 0 && list[last].OfUser != nil && follows(list[last].OfUser, t) {
				continue
			}
			list = append(list, user(t))
		}
	}
	return list
}

// follows adds t to what a user said just before: the templates of many local models know only turns.
func follows(said *sdk.ChatCompletionUserMessageParam, t llm.Message) bool {
	if !said.Content.OfString.Valid() || len(t.Images) > 0 {
		return false
	}
	said.Content.OfString = param.NewOpt(said.Content.OfString.Value + "\n\n" + t.Text)
	return true
}

// user converts a user message with its pictures. Pictures are sent inline: the model server can't, or must not, fetch
// a URL.
func user(t llm.Message) sdk.ChatCompletionMessageParamUnion {
	if len(t.Images) == 0 {
		return sdk.UserMessage(t.Text)
	}
	var parts []sdk.ChatCompletionContentPartUnionParam
	if t.Text != "" {
		parts = append(parts, sdk.TextContentPart(t.Text))
	}
	for _, i := range t.Images {
		parts = append(parts, sdk.ImageContentPart(sdk.ChatCompletionContentPartImageImageURLParam{
			URL: "data:" + i.Type + ";base64," + base64.StdEncoding.EncodeToString(i.Data),
		}))
	}
	return sdk.UserMessage(parts)
}

func (m *Model) assistant(t llm.Message, n wire.Names) sdk.ChatCompletionMessageParamUnion {
	var message sdk.ChatCompletionAssistantMessageParam
	if t.Text != "" {
		message.Content.OfString = param.NewOpt(t.Text)
	}
	for _, c := range t.Calls {
		arguments := string(c.Parameters)
		if !json.Valid(c.Parameters) {
			arguments = "{}" // servers that fill templates choke on anything else; the call's result tells what was wrong
		}
		message.ToolCalls = append(message.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
				ID:       m.callID(c.ID),
				Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{Name: n.Wire(c.Name), Arguments: arguments},
			},
		})
	}
	if back := m.back(t); back != nil {
		message.SetExtraFields(back)
	}
	return sdk.ChatCompletionMessageParamUnion{OfAssistant: &message}
}
