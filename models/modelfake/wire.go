package modelfake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
)

// The shapes of https://platform.openai.com/docs/api-reference/chat.
type (
	chunk struct {
		ID      string          `json:"id"`
		Object  string          `json:"object"`
		Created int64           `json:"created"`
		Model   string          `json:"model"`
		Choices []choice        `json:"choices"`
		Usage   json.RawMessage `json:"usage,omitempty"` // null before the last chunk, where usage is asked for
	}
	choice struct {
		Index        int             `json:"index"`
		Delta        json.RawMessage `json:"delta"`
		FinishReason *string         `json:"finish_reason"`
	}
	delta struct {
		Role      string     `json:"role,omitempty"`
		Content   *string    `json:"content,omitempty"`
		Reasoning *string    `json:"reasoning_content,omitempty"`
		ToolCalls []wireCall `json:"tool_calls,omitempty"`
	}
	wireCall struct {
		Index    *int         `json:"index,omitempty"`
		ID       string       `json:"id,omitempty"`
		Type     string       `json:"type,omitempty"`
		Function wireFunction `json:"function"`
	}
	wireFunction struct {
		Name      *string `json:"name,omitempty"`
		Arguments *string `json:"arguments"`
	}
	completion struct {
		ID      string        `json:"id"`
		Object  string        `json:"object"`
		Created int64         `json:"created"`
		Model   string        `json:"model"`
		Choices []wholeChoice `json:"choices"`
		Usage   wireUsage     `json:"usage"`
	}
	wholeChoice struct {
		Index        int          `json:"index"`
		Message      wholeMessage `json:"message"`
		FinishReason *string      `json:"finish_reason"`
	}
	wholeMessage struct {
		Role      string     `json:"role"`
		Content   *string    `json:"content"`
		Reasoning *string    `json:"reasoning_content,omitempty"`
		ToolCalls []wireCall `json:"tool_calls,omitempty"`
	}
	wireUsage struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Total      int `json:"total_tokens"`
		Details    *struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details,omitempty"`
	}
	modelList struct {
		Object string  `json:"object"`
		Data   []model `json:"data"`
	}
	model struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int64  `json:"created"`
		OwnedBy string `json:"owned_by"`
	}
	errorBody struct {
		Error *apiError `json:"error"`
	}
	apiError struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`

		status int
	}
)

func (c wireCall) call() Call {
	call := Call{ID: c.ID}
	if c.Function.Name != nil {
		call.Name = *c.Function.Name
	}
	if c.Function.Arguments != nil {
		call.Arguments = *c.Function.Arguments
	}
	return call
}

func (u Usage) wire() wireUsage {
	w := wireUsage{Prompt: u.Prompt, Completion: u.Completion, Total: u.Prompt + u.Completion}
	if u.Cached > 0 {
		w.Details = &struct {
			Cached int `json:"cached_tokens"`
		}{u.Cached}
	}
	return w
}

// refuse makes an error in the provider's shape; no code is null.
func refuse(status int, code, format string, args ...any) *apiError {
	e := &apiError{status: status, Message: fmt.Sprintf(format, args...), Type: errorType(status, code)}
	if code != "" {
		e.Code = &code
	}
	return e
}

func errorType(status int, code string) string {
	switch {
	case code == "insufficient_quota":
		return code
	case status == http.StatusTooManyRequests:
		return "requests"
	case status >= 500:
		return "server_error"
	default:
		return "invalid_request_error"
	}
}

func (e *apiError) write(w http.ResponseWriter) { writeJSON(w, e.status, errorBody{e}) }

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encode(body)) // a client that has left needs no answer
}

// encode leaves <, > and & as they are, as the real server does. The shapes here can always be encoded.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("modelfake: encode %T: %v", v, err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
