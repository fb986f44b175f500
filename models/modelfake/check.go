package modelfake

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// parameters are the keys of a body that the API knows, by its reference of November 2026.
const parameters = ` audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens
 messages metadata modalities model moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key
 prompt_cache_options prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier stop store
 stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity web_search_options `

var (
	functionName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	userName     = regexp.MustCompile(`^[^\s<|\\/>]{1,64}$`)
)

// partTypes are the parts of content that a role may have.
func partTypes(role string) []string {
	switch role {
	case "user":
		return []string{"text", "image_url", "input_audio", "file"}
	case "assistant":
		return []string{"text", "refusal"}
	default:
		return []string{"text"}
	}
}

func bad(format string, args ...any) *apiError {
	return refuse(http.StatusBadRequest, "", format, args...)
}

// check refuses what the real server refuses; nil is a good request.
func check(raw json.RawMessage, b Body) *apiError {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(raw, &keys); err != nil {
		return bad("The body is not a JSON object: %v", err)
	}
	for key := range keys {
		if !slices.Contains(strings.Fields(parameters), key) {
			return bad("Unrecognized request argument supplied: %s", key)
		}
	}
	if b.Model == "" {
		return bad("you must provide a model parameter")
	}
	for _, check := range []func(Body) *apiError{checkNumbers, checkTools, checkMessages} {
		if e := check(b); e != nil {
			return e
		}
	}
	return nil
}

func checkNumbers(b Body) *apiError {
	switch {
	case b.StreamOptions != nil && !b.Stream:
		return bad("The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	case b.N != nil && *b.N != 1:
		return bad("Invalid 'n': this server gives exactly one choice.")
	case b.MaxTokens != nil && b.MaxCompletionTokens != nil:
		return bad("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
	case b.MaxTokens != nil && *b.MaxTokens < 1, b.MaxCompletionTokens != nil && *b.MaxCompletionTokens < 1:
		return bad("Invalid maximum of tokens: expected a value >= 1.")
	case b.Temperature != nil && (*b.Temperature < 0 || *b.Temperature > 2):
		return bad("Invalid 'temperature': expected a value from 0 to 2.")
	case b.TopP != nil && (*b.TopP < 0 || *b.TopP > 1):
		return bad("Invalid 'top_p': expected a value from 0 to 1.")
	}
	return nil
}

func checkTools(b Body) *apiError {
	for i, t := range b.Tools {
		schema := ""
		if t.Function.Parameters != nil {
			schema = CheckSchema(t.Function.Parameters, false)
		}
		switch {
		case t.Type != "function":
			return bad("Invalid value for 'tools[%d].type': %q.", i, t.Type)
		case !functionName.MatchString(t.Function.Name):
			return bad("Invalid 'tools[%d].function.name': %q does not match %s.", i, t.Function.Name, functionName)
		case schema != "":
			return bad("Invalid schema for function '%s': %s.", t.Function.Name, schema)
		}
	}
	switch {
	case len(b.Tools) == 0 && present(b.ToolChoice) != nil && string(b.ToolChoice) != `"none"`:
		return bad("'tool_choice' is only allowed when 'tools' are specified.")
	case len(b.Tools) == 0 && b.ParallelToolCalls != nil:
		return bad("'parallel_tool_calls' is only allowed when 'tools' are specified.")
	}
	return nil
}

func checkMessages(b Body) *apiError {
	if len(b.Messages) == 0 {
		return bad("Invalid 'messages': empty array. Expected an array with minimum length 1.")
	}
	var open []string // ids of tool calls that have no result yet
	for i, m := range b.Messages {
		if m.Role == "tool" {
			at := slices.Index(open, m.ToolCallID)
			if at < 0 {
				return bad("Invalid 'messages[%d]': role 'tool' must be a response to a preceding message with 'tool_calls' (tool_call_id %q).", i, m.ToolCallID)
			}
			open = slices.Delete(open, at, at+1)
		} else if len(open) > 0 {
			return unanswered(open)
		}
		if e := checkMessage(i, m); e != nil {
			return e
		}
		for _, c := range m.ToolCalls {
			if slices.Contains(open, c.ID) {
				return bad("Duplicate tool call id %q in 'messages[%d]'.", c.ID, i)
			}
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		return unanswered(open)
	}
	return nil
}

func unanswered(ids []string) *apiError {
	return bad("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. Without response: %s", strings.Join(ids, ", "))
}

func checkMessage(i int, m Message) *apiError {
	switch {
	case !slices.Contains([]string{"developer", "system", "user", "assistant", "tool"}, m.Role):
		return bad("Invalid value: %q. Supported roles of 'messages[%d]' are 'system', 'developer', 'user', 'assistant' and 'tool'.", m.Role, i)
	case m.content == nil && (m.Role != "assistant" || m.calls == nil):
		return bad("Invalid value for 'content' of 'messages[%d]': expected a string, got null.", i)
	case m.content != nil && m.content[0] == '[' && len(m.Parts) == 0:
		return bad("Invalid 'messages[%d].content': empty array.", i)
	case m.Name != "" && !userName.MatchString(m.Name):
		return bad("Invalid 'messages[%d].name': %q does not match %s.", i, m.Name, userName)
	case m.calls != nil && m.Role != "assistant":
		return bad("'messages[%d]' of role %q has 'tool_calls'.", i, m.Role)
	case m.calls != nil && len(m.ToolCalls) == 0:
		return bad("Invalid 'messages[%d].tool_calls': empty array.", i)
	case m.ToolCallID != "" && m.Role != "tool":
		return bad("'messages[%d]' of role %q has a 'tool_call_id'.", i, m.Role)
	}
	for _, p := range m.Parts {
		if !slices.Contains(partTypes(m.Role), p.Type) {
			return bad("Invalid type %q of a part of 'messages[%d]' with role %q.", p.Type, i, m.Role)
		}
		if p.Type == "image_url" && p.ImageURL.URL == "" {
			return bad("Missing 'image_url.url' in 'messages[%d]'.", i)
		}
		if p.Type == "image_url" {
			if e := checkImage(i, p.ImageURL.URL); e != nil {
				return e
			}
		}
	}
	return checkCalls(i, m.calls)
}

func checkCalls(i int, raw json.RawMessage) *apiError {
	if raw == nil {
		return nil
	}
	var calls []wireCall
	if err := json.Unmarshal(raw, &calls); err != nil {
		return bad("Invalid 'messages[%d].tool_calls': %v", i, err)
	}
	for _, c := range calls {
		switch {
		case c.ID == "":
			return bad("Missing 'id' of a tool call in 'messages[%d]'.", i)
		case c.Type != "function":
			return bad("Invalid type %q of a tool call in 'messages[%d]'.", c.Type, i)
		case c.Function.Name == nil || !functionName.MatchString(*c.Function.Name):
			return bad("Invalid function name of a tool call in 'messages[%d]'.", i)
		case c.Function.Arguments == nil:
			return bad("Invalid 'arguments' of a tool call in 'messages[%d]': expected a string, got null.", i)
		}
	}
	return nil
}
