package essentials

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/generate/xmlform"
	"parley/core/prompt"
	"parley/core/text"
)

// maxEvaluation is the maximum length of a stored evaluation, in characters.
const maxEvaluation = 2000

// evaluation has the character's own template evaluate a conversation, and keeps the latest result of each room.
type evaluation struct{ store Store }

// Name implements [action.Evaluator].
func (evaluation) Name() string { return "EVALUATION" }

// Template implements [action.Templated].
func (evaluation) Template() string { return prompt.Evaluation }

// Evaluate implements [action.Evaluator].
func (e evaluation) Evaluate(ctx context.Context, s action.TurnContext, said chat.Memory) error {
	s.Recent, s.Summary = append(slices.Clip(s.Recent[max(0, len(s.Recent)-lookedAt):]), said), ""
	answer, err := s.Ask(ctx, prompt.Evaluation, nil)
	if err != nil {
		return fmt.Errorf("evaluate the conversation: %w", err)
	}
	judged := text.Excerpt(untagged(answer), maxEvaluation)
	if judged == "" || strings.EqualFold(strings.Trim(judged, "."), "NONE") {
		return nil
	}
	n := chat.RoomNote{Room: s.Room.ID, Kind: chat.EvaluationNote, Text: judged, First: s.Recent[0].ID, Last: s.Message.ID, At: time.Now()}
	if err := e.store.SaveNote(ctx, n); err != nil && !errors.Is(err, chat.ErrNotFound) { // not found: just deleted
		return fmt.Errorf("save an evaluation: %w", err)
	}
	return nil
}

// untagged returns the text of an answer, which may be in the form that templates of elizaOS ask for.
func untagged(answer string) string {
	s := xmlform.New(xmlform.Options{Tags: true})
	said := s.Write(answer)
	rest, _ := s.Close(false)
	return strings.TrimSpace(text.Clean(said + rest))
}

// evaluated provides the latest evaluation of the room to prompts.
type evaluated struct{ store Store }

// Template implements [action.Templated].
func (evaluated) Template() string { return prompt.Evaluation }

// Spec implements [action.Provider].
func (evaluated) Spec() action.ProviderSpec {
	return action.ProviderSpec{Name: "EVALUATION", Position: 45}
}

// Provide implements [action.Provider].
func (e evaluated) Provide(ctx context.Context, s action.TurnContext) (action.ProviderResult, error) {
	notes, err := e.store.Notes(ctx, s.Room.ID, chat.EvaluationNote, 1)
	if err != nil || len(notes) == 0 {
		return action.ProviderResult{}, err
	}
	return action.ProviderResult{Text: "# What you made of the conversation so far\n" + text.Quote(notes[0].Text)}, nil
}
