package responses

import (
	"cmp"
	"encoding/json"
	"fmt"
)

// The types of the API, as far as requests and answers have them here.
type (
	request struct {
		Model           string     `json:"model"`
		Instructions    string     `json:"instructions,omitempty"`
		Tools           []tool     `json:"tools,omitempty"`
		Input           []any      `json:"input"` // message, callItem, resultItem and reasoningItem
		Stream          bool       `json:"stream"`
		Store           *bool      `json:"store,omitempty"`
		Previous        string     `json:"previous_response_id,omitempty"`
		Include         []string   `json:"include,omitempty"`
		MaxOutputTokens int        `json:"max_output_tokens,omitempty"`
		Temperature     *float64   `json:"temperature,omitempty"`
		TopP            *float64   `json:"top_p,omitempty"`
		Reasoning       *reasoning `json:"reasoning,omitempty"`
	}
	reasoning struct {
		Effort  string `json:"effort,omitempty"`
		Summary string `json:"summary,omitempty"`
	}
	tool struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      *bool           `json:"strict,omitempty"`
	}
	message struct {
		Role    string `json:"role"`
		Content any    `json:"content"` // text, or a list of inputPart
		Phase   string `json:"phase,omitempty"`
		Type    string `json:"type"`
	}
	inputPart struct {
		Type     string `json:"type"`
		Text     string `json:"text,omitempty"`
		Detail   string `json:"detail,omitempty"`
		ImageURL string `json:"image_url,omitempty"`
	}
	callItem struct {
		Type      string `json:"type"`
		CallID    string `json:"call_id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	resultItem struct {
		Type   string `json:"type"`
		CallID string `json:"call_id"`
		Output string `json:"output"`
	}
	reasoningItem struct {
		Type      string          `json:"type"`
		ID        string          `json:"id"`
		Summary   json.RawMessage `json:"summary"`
		Encrypted string          `json:"encrypted_content"`
	}
	event struct {
		Type        string          `json:"type"`
		OutputIndex int64           `json:"output_index"`
		Delta       string          `json:"delta"`
		Arguments   string          `json:"arguments"`
		Item        outputItem      `json:"item"`
		Response    response        `json:"response"`
		Error       json.RawMessage `json:"error"` // of a server that has no events for errors
	}
	outputItem struct {
		Type      string          `json:"type"`
		ID        string          `json:"id"`
		CallID    string          `json:"call_id"`
		Name      string          `json:"name"`
		Phase     string          `json:"phase"`
		Encrypted string          `json:"encrypted_content"`
		Summary   json.RawMessage `json:"summary"`
		Content   []outputPart    `json:"content"`
	}
	outputPart struct {
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	}
	response struct {
		ID                string          `json:"id"`
		Status            string          `json:"status"`
		Error             json.RawMessage `json:"error"`
		IncompleteDetails struct {
			Reason string `json:"reason"`
		} `json:"incomplete_details"`
		Usage struct {
			Input   int `json:"input_tokens"`
			Output  int `json:"output_tokens"`
			Details struct {
				Cached  int `json:"cached_tokens"`
				Written int `json:"cache_write_tokens"`
			} `json:"input_tokens_details"`
		} `json:"usage"`
	}
)

// maxEvent is the maximum size of an event, in bytes. The last one contains the whole answer.
const maxEvent = 32 << 20

// readEvent reads an event of a stream. Its type is in its data, or else its name.
func readEvent(data []byte, name string) (e event, err error) {
	// A field of another type than expected leaves the others readable, so that alone doesn't end an answer.
	if err = json.Unmarshal(data, &e); err != nil && !json.Valid(data) {
		return e, fmt.Errorf("an event of the stream can't be read: %w", err)
	}
	e.Type = cmp.Or(e.Type, name)
	return e, nil
}
