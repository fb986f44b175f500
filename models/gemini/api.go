package gemini

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"parley/models/wire"
)

// The types of the API (https://ai.google.dev/api/generate-content), as far as requests and answers have them here.
type (
	request struct {
		SystemInstruction *content   `json:"systemInstruction,omitempty"`
		Tools             []toolSet  `json:"tools,omitempty"`
		Contents          []*content `json:"contents"`
		GenerationConfig  generation `json:"generationConfig,omitzero"`
	}
	generation struct {
		MaxOutputTokens    int       `json:"maxOutputTokens,omitempty"`
		Temperature        *float64  `json:"temperature,omitempty"`
		TopP               *float64  `json:"topP,omitempty"`
		Seed               *int      `json:"seed,omitempty"`
		StopSequences      []string  `json:"stopSequences,omitempty"`
		ResponseModalities []string  `json:"responseModalities,omitempty"`
		ThinkingConfig     *thinking `json:"thinkingConfig,omitempty"`
		SpeechConfig       *speech   `json:"speechConfig,omitempty"`
	}
	speech struct {
		VoiceConfig struct {
			Prebuilt struct {
				Name string `json:"voiceName"`
			} `json:"prebuiltVoiceConfig"`
		} `json:"voiceConfig"`
	}
	thinking struct {
		IncludeThoughts bool   `json:"includeThoughts,omitempty"`
		ThinkingBudget  *int   `json:"thinkingBudget,omitempty"`
		ThinkingLevel   string `json:"thinkingLevel,omitempty"`
	}
	toolSet struct {
		FunctionDeclarations []function `json:"functionDeclarations"`
	}
	function struct {
		Name                 string `json:"name"`
		Description          string `json:"description,omitempty"`
		ParametersJSONSchema any    `json:"parametersJsonSchema,omitempty"`
	}
	content struct {
		Role  string         `json:"role,omitempty"`
		Parts []*contentPart `json:"parts,omitempty"`
	}
	contentPart struct {
		Text             string            `json:"text,omitempty"`
		Thought          bool              `json:"thought,omitempty"`
		ThoughtSignature []byte            `json:"thoughtSignature,omitempty"`
		InlineData       *blob             `json:"inlineData,omitempty"`
		FunctionCall     *functionCall     `json:"functionCall,omitempty"`
		FunctionResponse *functionResponse `json:"functionResponse,omitempty"`
	}
	blob struct {
		MIMEType string `json:"mimeType,omitempty"`
		Data     []byte `json:"data,omitempty"`
	}
	functionCall struct {
		ID   string         `json:"id,omitempty"`
		Name string         `json:"name,omitempty"`
		Args map[string]any `json:"args,omitempty"`
	}
	functionResponse struct {
		Name     string         `json:"name,omitempty"`
		Response map[string]any `json:"response,omitempty"`
	}
	response struct {
		Candidates     []candidate     `json:"candidates"`
		PromptFeedback *promptFeedback `json:"promptFeedback"`
		UsageMetadata  *usageMetadata  `json:"usageMetadata"`
		Error          json.RawMessage `json:"error"` // in place of all others
	}
	candidate struct {
		Index         int      `json:"index"`
		Content       *content `json:"content"`
		FinishReason  string   `json:"finishReason"`
		FinishMessage string   `json:"finishMessage"`
	}
	promptFeedback struct {
		BlockReason string `json:"blockReason"`
	}
	usageMetadata struct {
		PromptTokenCount        int `json:"promptTokenCount"`
		ToolUsePromptTokenCount int `json:"toolUsePromptTokenCount"`
		CandidatesTokenCount    int `json:"candidatesTokenCount"`
		ThoughtsTokenCount      int `json:"thoughtsTokenCount"`
		CachedContentTokenCount int `json:"cachedContentTokenCount"`
	}
)

const (
	roleUser  = "user"
	roleModel = "model"

	maxEvent = 32 << 20 // bytes of an event, which can contain an image
	maxPages = 20       // of the list of models
)

// method returns the path of a method of a model, which can be named with the kind of its resource, such as
// models/gemini-3-pro.
func method(name, verb string) string {
	return "v1beta/" + resource(name) + ":" + verb
}

// resource returns the name of a model with its kind.
func resource(name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return "models/" + name
}

// generate makes a request without a stream.
func (m *Model) generate(ctx context.Context, name string, r request) (*response, error) {
	res := &response{}
	if err := m.Ask(ctx, wire.Call{Path: method(name, "generateContent"), Body: r}, res); err != nil {
		return nil, err
	}
	return res, nil
}

// events makes a request for a stream, and calls each with its events until that wants no more.
func (m *Model) events(ctx context.Context, name string, body any, each func(*response) (more bool, err error)) error {
	res, err := m.Stream(ctx, wire.Call{Path: method(name, "streamGenerateContent"), Query: url.Values{"alt": {"sse"}}, Body: body}, whole)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	e := wire.NewEventReader(res.Body, maxEvent)
	for e.Next() {
		r := &response{}
		if err := json.Unmarshal(e.Data, r); err != nil {
			return err
		}
		if len(r.Error) > 0 {
			return wire.ParseRefusal(e.Data)
		}
		if more, err := each(r); err != nil || !more {
			return err
		}
	}
	return nil
}

// names lists the models that answer or embed. Others, such as those for video, are left out.
func (m *Model) names(ctx context.Context) (names []string, err error) {
	query := url.Values{"pageSize": {"1000"}}
	for range maxPages {
		var page struct {
			Models []struct {
				Name    string   `json:"name"`
				Methods []string `json:"supportedGenerationMethods"`
			} `json:"models"`
			Next string `json:"nextPageToken"`
		}
		if err := m.Ask(ctx, wire.Call{Method: http.MethodGet, Path: "v1beta/models", Query: query}, &page); err != nil {
			return nil, err
		}
		for _, model := range page.Models {
			if len(model.Methods) == 0 || slices.Contains(model.Methods, "generateContent") || slices.Contains(model.Methods, "embedContent") {
				names = append(names, strings.TrimPrefix(model.Name, "models/"))
			}
		}
		if page.Next == "" {
			break
		}
		query.Set("pageToken", page.Next)
	}
	return names, nil
}

// extended returns r as JSON with the extra keys of the options. Objects in them are merged with those of r, and a null
// removes a parameter.
func extended(r request, extra map[string]any) (any, error) {
	if len(extra) == 0 {
		return r, nil
	}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	fields := map[string]any{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&fields); err != nil {
		return nil, err
	}
	return merged(fields, extra), nil
}

// merged adds the keys of extra to a copy of fields.
func merged(fields, extra map[string]any) map[string]any {
	all := maps.Clone(fields)
	if all == nil {
		all = map[string]any{}
	}
	for key, v := range extra {
		inner, ok := v.(map[string]any)
		switch {
		case v == nil:
			delete(all, key)
		case ok:
			was, _ := all[key].(map[string]any)
			all[key] = merged(was, inner)
		default:
			all[key] = v
		}
	}
	return all
}
