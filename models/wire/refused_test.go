package wire

import (
	"testing"

	"parley/core/llm"
)

// What a model can't take is known by the messages of servers. Others that mention tools or images are another matter.
func TestRefusedAbilities(t *testing.T) {
	for message, want := range map[string]llm.FailureKind{
		"registry.ollama.ai/library/gemma:2b does not support tools":                                      llm.NoTools,
		"No endpoints found that support tool use. To learn more about provider routing, visit the docs.": llm.NoTools,
		"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set":        llm.NoTools,
		"No endpoints found that support image input":                                                     llm.NoVision,
		"Qwen is not a multimodal model":                                                                  llm.NoVision,
		"Invalid schema for function 'look': the tools are broken":                                        llm.ProviderIssue,
		"The image is too large":                                                                          llm.ProviderIssue,
	} {
		for status, want := range map[int]llm.FailureKind{400: want, 404: want, 500: llm.ProviderIssue} {
			if status == 404 && want == llm.ProviderIssue {
				continue // that is of a model which does not exist
			}
			r := &Refusal{status: status, message: message}
			if kind, retry := r.sort(); kind != want || retry != (status == 500) {
				t.Errorf("%d %s: %s, %t", status, message, kind, retry)
			}
		}
	}
}

// A misspelled model gets the nearest names, or all of them where none is near.
func TestMisspelledModelGetsSuggestions(t *testing.T) {
	names := []string{"gpt-4o", "gpt-4o-mini", "o3", "whisper-1"}
	for wrong, want := range map[string]string{
		"gpt-4o-mni": "gpt-4o-mini, the nearest of its 4 models", "GPT4o": "gpt-4o, the nearest of its 4 models", "claude-opus": "one of gpt-4o, gpt-4o-mini, o3, whisper-1",
	} {
		if got := nearestNames(wrong, names); got != want {
			t.Errorf("%q: %s; want %s", wrong, got, want)
		}
	}
}
