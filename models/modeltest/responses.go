package modeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// Responses returns a server of OpenAI's Responses API.
func Responses() Fake { return newServer(responses{}) }

type responses struct{}

func (responses) key(r *http.Request) string {
	return string(bytes.TrimPrefix([]byte(r.Header.Get("Authorization")), []byte("Bearer ")))
}

func (responses) other(w http.ResponseWriter, r *http.Request, _ []byte) bool {
	if r.Method+" "+r.URL.Path != "GET /v1/models" {
		return false
	}
	writeJSON(w, http.StatusOK, object{"object": "list", "data": []object{{"id": "model-a", "object": "model"}, {"id": "model-b", "object": "model"}}})
	return true
}

func (responses) refuse(w http.ResponseWriter, e Refusal) {
	if e.RetryAfter != "" {
		w.Header().Set("Retry-After", e.RetryAfter)
	}
	kind := "invalid_request_error"
	if e.Status >= 500 {
		kind = "server_error"
	}
	writeJSON(w, e.Status, object{"error": object{"message": e.Message, "type": kind, "param": nil, "code": e.Kind}})
}

type responsesItem struct {
	Type, Role, ID string
	Content        json.RawMessage
	CallID         string `json:"call_id"`
	Name           string
	Arguments      string
	Output         string
	Encrypted      string          `json:"encrypted_content"`
	Summary        json.RawMessage `json:"summary"`
}

type responsesRequest struct {
	Model     string
	MaxTokens int `json:"max_output_tokens"`
	Stream    bool
	Store     *bool
	Include   []string
	Reasoning struct{ Summary string }
	Input     []responsesItem
}

func (a responses) read(r *http.Request, raw []byte) (s Seen) {
	var b responsesRequest
	if err := json.Unmarshal(raw, &b); err != nil {
		return Seen{Rejected: err.Error()}
	}
	s.Model, s.Limit = b.Model, b.MaxTokens
	s.Rejected, s.Readable = a.judge(r, b), b.Reasoning.Summary == "auto"
	for _, i := range b.Input {
		var parts []struct {
			Type  string
			Image string `json:"image_url"`
		}
		_ = json.Unmarshal(i.Content, &parts) // text is none
		for _, p := range parts {
			if p.Image != "" {
				s.Images = append(s.Images, p.Image)
			}
		}
		switch i.Type {
		case "function_call_output":
			s.Results = append(s.Results, i.Output)
		case "reasoning":
			sealed := sign(b.Model, "")
			if len(i.Encrypted) < len(sealed) || i.Encrypted[:len(sealed)] != sealed {
				s.Rejected = "The encrypted content could not be verified."
				break
			}
			s.Thoughts = append(s.Thoughts, i.Encrypted[len(sealed):])
		}
	}
	var parts struct {
		Instructions, Tools, Input json.RawMessage
	}
	_ = json.Unmarshal(raw, &parts) // it was decoded before
	s.Prompt = bytes.Join([][]byte{parts.Instructions, parts.Tools, bytes.TrimSuffix(parts.Input, []byte("]"))}, nil)
	return s
}

// judge refuses what the real server refuses.
func (responses) judge(r *http.Request, b responsesRequest) string {
	switch {
	case r.Method+" "+r.URL.Path != "POST /v1/responses":
		return "unknown path " + r.URL.Path
	case !b.Stream || b.Model == "" || len(b.Input) == 0:
		return "stream, model and input are required"
	case b.Store == nil || *b.Store || len(b.Include) > 1:
		return "the answer would be stored"
	}
	owed := map[string]bool{}
	for n, i := range b.Input {
		switch i.Type {
		case "function_call":
			if owed[i.CallID] = true; !json.Valid([]byte(i.Arguments)) || i.CallID == "" {
				return "Invalid function_call"
			}
		case "function_call_output":
			if !owed[i.CallID] {
				return "No tool call found for function call output with call_id " + i.CallID
			}
			delete(owed, i.CallID)
		case "reasoning":
			if n == len(b.Input)-1 || i.ID == "" || string(i.Summary) == "" {
				return "Item '" + i.ID + "' of type 'reasoning' was provided without its required following item."
			}
		}
	}
	for id := range owed {
		return "No tool output found for function call " + id
	}
	return ""
}

func (a responses) stream(ctx context.Context, e *events, model string, an Answer, u Usage) bool {
	if an.Block {
		a.refuse(e.w, Refusal{Status: 400, Kind: "invalid_prompt", Message: "Invalid prompt: your prompt was flagged."})
		return true
	}
	n := 0
	send := func(kind string, fields object) {
		fields["type"], fields["sequence_number"] = kind, n
		n++
		e.send(kind, fields)
	}
	response := object{"id": "resp_1", "object": "response", "model": model, "status": "in_progress", "output": []any{}}
	send("response.created", object{"response": response})
	output := 0
	item := func(added, done object, between func()) {
		send("response.output_item.added", object{"output_index": output, "item": added})
		between()
		send("response.output_item.done", object{"output_index": output, "item": done})
		output++
	}
	if an.Think != "" {
		item(object{"type": "reasoning", "id": "rs_1", "summary": []any{}}, object{
			"type": "reasoning", "id": "rs_1", "summary": []any{object{"type": "summary_text", "text": "a summary"}}, "encrypted_content": sign(model, an.Think),
		}, func() {
			if an.readable {
				send("response.reasoning_summary_text.delta", object{"output_index": output, "item_id": "rs_1", "delta": "a summary"})
			}
		})
	}
	if len(an.Text) > 0 {
		whole := ""
		message := func(content ...any) object {
			return object{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
		}
		send("response.output_item.added", object{"output_index": output, "item": message()})
		for _, t := range an.Text {
			whole += t
			send("response.output_text.delta", object{"output_index": output, "item_id": "msg_1", "content_index": 0, "delta": t})
		}
		if wait(ctx, an); an.Cut || an.Hang {
			return false
		}
		send("response.output_item.done", object{"output_index": output, "item": message(object{"type": "output_text", "text": whole, "annotations": []any{}})})
		output++
	}
	if an.Late != nil {
		response["status"], response["error"] = "failed", object{"code": an.Late.Kind, "message": an.Late.Message}
		send("response.failed", object{"response": response})
		return true
	}
	for i, c := range an.Calls {
		id := fmt.Sprintf("fc_%d", i)
		whole := func(arguments string) object {
			return object{"type": "function_call", "id": id, "call_id": c.ID, "name": c.Name, "arguments": arguments, "status": "completed"}
		}
		item(whole(""), whole(c.Arguments), func() {
			for _, half := range halves(c.Arguments) {
				send("response.function_call_arguments.delta", object{"output_index": output, "item_id": id, "delta": half})
			}
			send("response.function_call_arguments.done", object{"output_index": output, "item_id": id, "name": c.Name, "arguments": c.Arguments})
		})
	}
	end := "response.completed"
	response["status"] = "completed"
	if an.Finish != "" && an.Finish != "completed" {
		end, response["status"], response["incomplete_details"] = "response.incomplete", "incomplete", object{"reason": an.Finish}
	}
	response["usage"] = object{
		"input_tokens": u.Prompt, "input_tokens_details": object{"cached_tokens": u.Cached}, "output_tokens": u.Completion,
		"output_tokens_details": object{"reasoning_tokens": 1}, "total_tokens": u.Prompt + u.Completion,
	}
	send(end, object{"response": response})
	return true
}
