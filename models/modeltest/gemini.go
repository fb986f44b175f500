package modeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
)

// Gemini returns a server of the Gemini API.
func Gemini() Fake { return newServer(gemini{}) }

type gemini struct{}

func (gemini) key(r *http.Request) string { return r.Header.Get("X-Goog-Api-Key") }

func (gemini) other(w http.ResponseWriter, r *http.Request, raw []byte) bool {
	switch {
	case r.Method+" "+r.URL.Path == "GET /v1beta/models":
		writeJSON(w, http.StatusOK, object{"models": []object{
			{"name": "models/model-a", "supportedGenerationMethods": []string{"generateContent"}},
			{"name": "models/model-b", "supportedGenerationMethods": []string{"generateContent"}},
		}})
		return true
	case strings.HasSuffix(r.URL.Path, ":batchEmbedContents"):
		var b struct{ Requests []json.RawMessage }
		if err := json.Unmarshal(raw, &b); err != nil {
			return false
		}
		embeddings := []object{}
		for i := range b.Requests {
			embeddings = append(embeddings, object{"values": []int{i, 1, 2}})
		}
		writeJSON(w, http.StatusOK, object{"embeddings": embeddings})
		return true
	case strings.HasSuffix(r.URL.Path, ":generateContent"):
		geminiWhole(w, raw)
		return true
	}
	return false
}

func (gemini) refuse(w http.ResponseWriter, e Refusal) { writeJSON(w, e.Status, geminiError(e)) }

// geminiError is an error; the time to wait is one of its details.
func geminiError(e Refusal) object {
	told := object{"code": e.Status, "message": e.Message, "status": e.Kind}
	if e.RetryAfter != "" {
		told["details"] = []object{{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": e.RetryAfter + "s"}}
	}
	return object{"error": told}
}

type geminiPart struct {
	Text       *string
	Thought    bool
	Signature  []byte `json:"thoughtSignature"`
	InlineData *struct{ MimeType, Data string }
	Call       *struct {
		Name string
		Args map[string]any
	} `json:"functionCall"`
	Response *struct {
		Name     string
		Response map[string]any
	} `json:"functionResponse"`
}

type geminiRequest struct {
	Contents []struct {
		Role  string
		Parts []geminiPart
	}
	GenerationConfig struct{ MaxOutputTokens int }
}

var geminiPath = regexp.MustCompile(`^/v1beta/models/([^:/]+):streamGenerateContent$`)

func (a gemini) read(r *http.Request, raw []byte) (s Seen) {
	var b geminiRequest
	if err := json.Unmarshal(raw, &b); err != nil {
		return Seen{Rejected: err.Error()}
	}
	path := geminiPath.FindStringSubmatch(r.URL.Path)
	if path == nil || r.URL.Query().Get("alt") != "sse" {
		return Seen{Rejected: "unknown path " + r.URL.Path}
	}
	s.Model, s.Limit = path[1], b.GenerationConfig.MaxOutputTokens
	s.Rejected = a.judge(b)
	for _, c := range b.Contents {
		for _, p := range c.Parts {
			if p.InlineData != nil {
				s.Images = append(s.Images, p.InlineData.Data)
			}
			if p.Response != nil {
				s.Results = append(s.Results, string(encode(p.Response.Response)))
			}
			if thought, ok := strings.CutPrefix(string(p.Signature), sign(s.Model, "")); ok {
				s.Thoughts = append(s.Thoughts, thought)
			} else if p.Signature != nil {
				s.Rejected = "Corrupted thought signature."
			}
		}
	}
	var parts struct{ SystemInstruction, Tools, Contents json.RawMessage }
	_ = json.Unmarshal(raw, &parts) // it was decoded before
	s.Prompt = bytes.Join([][]byte{parts.SystemInstruction, parts.Tools, bytes.TrimSuffix(parts.Contents, []byte("]"))}, nil)
	return s
}

// judge refuses what the real server refuses.
func (gemini) judge(b geminiRequest) string {
	if len(b.Contents) == 0 || b.Contents[0].Role != "user" {
		return "Please ensure that the first turn is of the user."
	}
	var owed []string
	for i, c := range b.Contents {
		if i > 0 && c.Role == b.Contents[i-1].Role || len(c.Parts) == 0 {
			return "Please ensure that turns alternate, and have parts."
		}
		answered := 0
		for _, p := range c.Parts {
			switch {
			case p.Response != nil && (len(owed) <= answered || owed[answered] != p.Response.Name):
				return "Please ensure that function response turn comes immediately after a function call turn."
			case p.Response != nil:
				answered++
			case p.Call == nil && p.InlineData == nil && p.Text == nil && p.Signature == nil:
				return "contents.parts must not be empty."
			}
		}
		if answered != len(owed) {
			return "Please ensure that the number of function response parts is equal to the number of function call parts."
		}
		owed = nil
		for _, p := range c.Parts {
			if p.Call != nil {
				owed = append(owed, p.Call.Name)
			}
		}
	}
	return ""
}

func (a gemini) stream(ctx context.Context, e *events, model string, an Answer, u Usage) bool {
	usage := object{
		"promptTokenCount": u.Prompt, "cachedContentTokenCount": u.Cached, "candidatesTokenCount": u.Completion, "totalTokenCount": u.Prompt + u.Completion,
	}
	if an.Block {
		e.send("", object{"promptFeedback": object{"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": usage})
		return true
	}
	send := func(part object, finish string) {
		candidate := object{"index": 0, "content": object{"role": "model", "parts": []object{part}}}
		if finish != "" {
			candidate["finishReason"] = finish
		}
		e.send("", object{"candidates": []object{candidate}, "usageMetadata": usage, "modelVersion": model})
	}
	if an.Think != "" {
		send(object{"text": "a summary", "thought": true}, "")
	}
	for _, t := range an.Text {
		send(object{"text": t}, "")
	}
	if wait(ctx, an); an.Cut || an.Hang {
		return false
	}
	if an.Late != nil {
		e.send("", geminiError(*an.Late))
		return true
	}
	for i, c := range an.Calls {
		var args map[string]any
		_ = json.Unmarshal([]byte(c.Arguments), &args) // none
		part := object{"functionCall": object{"name": c.Name, "args": args}}
		if i == 0 && an.Think != "" { // the first of several has the signature
			part["thoughtSignature"] = []byte(sign(model, an.Think))
		}
		send(part, "")
	}
	finish := usual(an, "STOP", "STOP")
	send(object{"text": ""}, finish)
	return true
}
