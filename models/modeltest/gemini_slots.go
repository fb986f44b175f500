package modeltest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// GeminiPicture is the image that [Gemini] draws.
const GeminiPicture = "\x89PNG\r\n\x1a\n"

// Forbidden is within a prompt that the filter of [Gemini] refuses, and Blank in one for which no image comes.
const (
	Forbidden = "forbidden"
	Blank     = "blank"
)

// geminiWhole answers a request without a stream: with an image where that is asked for, or else with what a recording says.
func geminiWhole(w http.ResponseWriter, raw []byte) {
	var b struct {
		Contents         []struct{ Parts []geminiPart }
		GenerationConfig struct{ ResponseModalities []string }
	}
	if err := json.Unmarshal(raw, &b); err != nil || len(b.Contents) != 1 {
		writeJSON(w, http.StatusBadRequest, geminiError(Refusal{Status: 400, Kind: "INVALID_ARGUMENT", Message: fmt.Sprint("contents: ", err)}))
		return
	}
	prompt, parts := "", []object{{"text": "hm", "thought": true}}
	for _, p := range b.Contents[0].Parts {
		if p.Text != nil {
			prompt += *p.Text
		}
		if p.InlineData != nil {
			sound, err := base64.StdEncoding.DecodeString(p.InlineData.Data)
			parts = append(parts, object{"text": fmt.Sprintf("%s is %s, ", p.InlineData.MimeType, sound)}, object{"text": fmt.Sprint(err == nil, "\n")})
		}
	}
	draws := slices.Contains(b.GenerationConfig.ResponseModalities, "IMAGE")
	switch {
	case strings.Contains(prompt, Forbidden):
		writeJSON(w, http.StatusOK, object{"promptFeedback": object{"blockReason": "PROHIBITED_CONTENT"}})
		return
	case draws && !strings.Contains(prompt, Blank):
		parts = append(parts, object{"text": "Here it is."}, object{"inlineData": object{"mimeType": "image/png", "data": []byte(GeminiPicture)}})
	}
	writeJSON(w, http.StatusOK, object{"candidates": []object{{"index": 0, "finishReason": "STOP", "content": object{"role": "model", "parts": parts}}}})
}
