package openai

import (
	"encoding/json"
	"net/http"
)

// Error is the body of an error response, and an event of a stream.
type Error struct {
	Error ErrorBody `json:"error"`
}

// ErrorBody describes an error. Message is a sentence for users.
type ErrorBody struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    string  `json:"code"`
}

// ErrorOf returns an error response. An empty code is the one of the status.
func ErrorOf(status int, sentence, code string) []byte {
	e := ErrorBody{Message: sentence, Type: "invalid_request_error", Code: code}
	byStatus := map[int]string{
		http.StatusUnauthorized: "invalid_api_key", http.StatusForbidden: "forbidden", http.StatusNotFound: "not_found",
		http.StatusTooManyRequests: "rate_limit_exceeded", http.StatusConflict: "conflict", http.StatusBadRequest: "invalid_request",
	}
	switch {
	case status == http.StatusTooManyRequests:
		e.Type = "rate_limit_error"
	case status == http.StatusUnauthorized:
		e.Type = "authentication_error"
	case status >= http.StatusInternalServerError:
		e.Type = "server_error"
	}
	if e.Code == "" {
		e.Code = byStatus[status]
	}
	if e.Code == "" {
		e.Code = "error"
	}
	data, _ := json.Marshal(Error{e}) // never fails
	return data
}

// Models returns the response of GET /v1/models: the agent is the only model.
func Models(name string) any {
	return map[string]any{"object": "list", "data": []any{Model(name)}}
}

// Model returns the response of GET /v1/models/{model}.
func Model(name string) any {
	return map[string]any{"id": name, "object": "model", "created": 1700000000, "owned_by": "parley"}
}
