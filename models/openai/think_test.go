package openai

import (
	"strings"
	"testing"
)

// TestThoughts covers LM-10: wherever a text is cut, the same of it is shown.
func TestThoughts(t *testing.T) {
	tests := map[string]string{
		"":                                   "",
		"plain":                              "plain",
		"<b>bold</b>":                        "<b>bold</b>",
		" \n leading space":                  " \n leading space",
		"<think>hm</think>answer":            "answer",
		"\n<think>\nhm\n</think>\n\nanswer ": "answer ",
		"<think></think>answer":              "answer",
		"<think>a <think> b</think>answer":   "answer",
		"<think>hm</think>a </think> b":      "a </think> b",
		"use <think>x</think> for thoughts":  "use <think>x</think> for thoughts",
		"`<think>` is a tag":                 "`<think>` is a tag",
		"<thi":                               "<thi",
		"<thinking>":                         "<thinking>",
		"<think>never ended":                 "never ended",
		"<think>ends in half a tag</thin":    "ends in half a tag</thin",
		"<think>hm</think>":                  "",
		"<think>hm</think><think>x</think>y": "<think>x</think>y",
		"<think>ü</think>ü👩‍👩‍👧":             "ü👩‍👩‍👧",
	}
	for text, want := range tests {
		for i := range len(text) + 1 {
			for j := i; j <= len(text); j++ {
				var shown strings.Builder
				var aloud thoughts
				for _, piece := range []string{text[:i], text[i:j], text[j:]} {
					shown.WriteString(aloud.split(piece))
				}
				shown.WriteString(aloud.rest())
				if shown.String() != want {
					t.Fatalf("%q cut at %d and %d: %q", text, i, j, shown.String())
				}
			}
		}
	}
}
