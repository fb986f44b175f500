package event_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"

	"parley/core/event"
	"parley/core/llm"
	"parley/core/quota"
)

// fakeModels is a model of every kind. Its stream fails after its first words.
type fakeModels struct{}

var errFake = errors.New("down")

func (fakeModels) Generate(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		_ = yield(llm.Chunk{Text: "Well, "}, nil) && yield(llm.Chunk{Usage: &llm.Usage{Prompt: 7, Completion: 2}}, nil) && yield(llm.Chunk{}, errFake)
	}
}
func (fakeModels) MaxTokens() int { return 5 }
func (fakeModels) Transcribe(context.Context, string, string, []byte) (string, error) {
	return "said", nil
}
func (fakeModels) GenerateImage(context.Context, string) (llm.File, error) {
	return llm.File{}, errFake
}
func (fakeModels) Embed(context.Context, []string) ([][]float32, error) {
	return [][]float32{{1}}, nil
}

// Every call of every kind of model emits one event, with its purpose and its run, also if it fails or is cut off.
func TestModelUsed(t *testing.T) {
	ctx, f := event.WithRun(t.Context(), event.RunInfo{Run: "r"}), fakeModels{}
	named := func(name string) quota.Tariff {
		return quota.Tariff{Name: name, Price: quota.Price{Rates: quota.Rates{Input: 1e6, Output: 1e6}, Image: quota.Dollar}}
	}
	tariffs := quota.Tariffs{
		Chat: map[string]quota.Tariff{"a": named("p/chat")}, Small: named("p/small"), Vision: named("p/vision"), Transcription: named("p/transcription"), Image: named("p/image"),
		Embedding: named("p/embedding"),
	}
	var got []event.ModelUsed
	m := event.Models(llm.Models{Large: f, Small: f, Vision: f, Transcriber: f, ImageGenerator: f, Embedder: f, Chat: []llm.Named{{Name: "a", Model: f}}},
		tariffs, func(e event.Event) {
			if used, ok := e.(event.ModelUsed); ok {
				got = append(got, used)
			}
		})
	all := func(m llm.Model) func() {
		return func() {
			for range m.Generate(ctx, llm.Request{System: "Be brief."}) { //nolint:revive // it is read to its end
			}
		}
	}
	for _, c := range []struct {
		purpose string
		call    func()
		usage   llm.Usage // reported; none: an estimate
	}{
		{event.ForChat, all(m.Large), llm.Usage{Prompt: 7, Completion: 2}},
		{event.ForChat, all(m.Chat[0].Model), llm.Usage{Prompt: 7, Completion: 2}},
		{event.ForShort, all(m.Small), llm.Usage{Prompt: 7, Completion: 2}},
		{event.ForVision, all(m.Vision), llm.Usage{Prompt: 7, Completion: 2}},
		{event.ForChat, func() {
			for range m.Large.Generate(ctx, llm.Request{System: "Be brief."}) {
				break
			}
		}, llm.Usage{}},
		{event.ForTranscription, func() { _, _ = m.Transcriber.Transcribe(ctx, "a.ogg", "audio/ogg", nil) }, llm.Usage{}},
		{event.ForImages, func() { _, _ = m.ImageGenerator.GenerateImage(ctx, "a fox in the snow") }, llm.Usage{}},
		{event.ForEmbedding, func() { _, _ = m.Embedder.Embed(ctx, []string{"a fox in the snow"}) }, llm.Usage{}},
	} {
		got = nil
		c.call()
		if len(got) != 1 || got[0].Purpose != c.purpose || got[0].Run != "r" {
			t.Errorf("%s: %+v", c.purpose, got)
			continue
		}
		if u := got[0]; u.Estimated != (c.usage == llm.Usage{}) || !u.Estimated && u.Usage != c.usage || u.Estimated && u.Usage.Prompt+u.Usage.Completion == 0 {
			t.Errorf("%s: the usage is %+v", c.purpose, u)
		}
		u := got[0]
		if u.Model != "p/"+c.purpose {
			t.Errorf("%s: the model is %q", c.purpose, u.Model)
		}
		if failed, image := c.purpose == event.ForImages || !u.Estimated, c.purpose == event.ForImages; (u.Failure == llm.ProviderIssue) != failed ||
			u.Cost != quota.Rate(1e6).Of(u.Usage.Prompt)+quota.Rate(1e6).Of(u.Usage.Completion) && !image || image && u.Cost <= quota.Dollar {
			t.Errorf("%s: the failure is %q, and the cost %v", c.purpose, u.Failure, u.Cost)
		}
		if streams := slices.Contains([]string{event.ForChat, event.ForShort, event.ForVision}, c.purpose); streams != (u.First > 0) {
			t.Errorf("%s: the first output came after %v", c.purpose, u.First)
		}
	}
	if b, ok := m.Small.(llm.Bounded); !ok || b.MaxTokens() != 5 {
		t.Error("the observed model has lost its MaxTokens; want 5")
	}
	none := event.Models(llm.Models{Large: f}, quota.Tariffs{}, func(event.Event) {})
	if none.Small != nil || none.Vision != nil || none.Transcriber != nil || none.ImageGenerator != nil || none.Embedder != nil {
		t.Errorf("models that are not there become some: %+v", none)
	}
}
