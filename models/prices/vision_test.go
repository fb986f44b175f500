package prices

import (
	"path"
	"testing"
)

func TestSees(t *testing.T) {
	for _, v := range vision {
		if _, err := path.Match(v.pattern, "a"); err != nil {
			t.Errorf("%s: %v", v.pattern, err)
		}
	}
	for model, want := range map[string]bool{
		"gpt-4o": true, "gpt-4o-mini-2024-07-18": true, "GPT-4o": true, "gpt-4.1-nano": true, "gpt-5-mini": true, "o3": true, "o4-mini": true,
		"openai/gpt-4o": true, "claude-sonnet-4-5": true, "claude-3-5-haiku-latest": true, "anthropic/claude-opus-4.1": true,
		"us.anthropic.claude-3-5-sonnet-20241022-v2:0": true, "models/gemini-2.5-flash": true, "gemini-3-pro-preview": true,
		"pixtral-12b": true, "mistral-small-2506": true, "mistral-medium-latest": true, "grok-4-fast": true, "grok-2-vision-1212": true,
		"meta-llama/llama-4-scout-17b-16e-instruct": true, "llama3.2-vision:11b": true, "qwen2.5vl:7b": true, "qwen/qwen3-vl-235b-a22b-instruct": true,
		"llava:13b": true, "gemma3:4b": true, "google/gemma-3-27b-it": true,
		"": false, "gpt-3.5-turbo": false, "gpt-4": false, "gpt-4-0613": false, "gpt-4o-audio-preview": false, "gpt-4o-transcribe": false, "gpt-oss-120b": false,
		"o1-mini": false, "o3-mini": false, "claude-2.1": false, "deepseek-chat": false, "mistral-small-2409": false, "codestral-latest": false,
		"llama-3.3-70b-versatile": false, "qwen3-235b": false, "gemma3:1b": false, "gemini-embedding-001": false, "gemini-2.5-flash-preview-tts": false,
		"grok-3": false, "my-own-model": false,
	} {
		if got := Sees(model); got != want {
			t.Errorf("%s: %v; want %v", model, got, want)
		}
	}
}
