package openai

import (
	"context"
	"testing"

	"parley/core/llm"
	"parley/models"
	"parley/models/modeltest"
	"parley/models/wire"
)

func TestModel(t *testing.T) {
	modeltest.Run(t, modeltest.Suite{
		New: modeltest.Chat,
		Open: func(base, model string) llm.Model {
			return New(Options{BaseURL: base + "/v1", APIKey: modeltest.Key, Model: model, Quirks: Quirks{Reasoning: ReasoningContent}})
		},
		Check: func(ctx context.Context, m llm.Model, tools, images string) (string, error) {
			return m.(*Model).Check(ctx, wire.Uses{Tools: tools, Images: images})
		},
		Tuned: func(base, model string) llm.Model {
			half, seed := 0.5, 7
			return New(Options{BaseURL: base + "/v1", APIKey: modeltest.Key, Model: model, Parameters: models.Parameters{
				Temperature: &half, TopP: &half, Stop: []string{"END"}, Seed: &seed, Effort: "low", Extra: map[string]any{"verbosity": "low", "stream_options": nil},
			}})
		},
		Sent:    `{"temperature":0.5,"top_p":0.5,"stop":["END"],"seed":7,"reasoning_effort":"low","verbosity":"low","stream":true}`,
		Removed: "stream_options",
		Finishes: map[string]llm.FinishReason{
			"stop": llm.FinishStop, "": llm.FinishCalls, "length": llm.FinishLength, "content_filter": llm.FinishFilter,
		},
		Own:      map[string]int{"stream_options": 422, "strict": 400, "max_tokens": 400},
		Overload: modeltest.Refusal{Status: 503, Kind: "server_error", Message: "Overloaded", RetryAfter: "7"},
		Late:     modeltest.Refusal{Kind: "server_error", Message: "Something broke"},
	})
}
