package essentials

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/prompt"
	"parley/core/text"
)

const (
	lookedAt = 12  // messages to extract facts from
	newFacts = 5   // facts per reflection
	factSize = 240 // characters
)

// reflection extracts lasting facts from a conversation.
type reflection struct{ store Store }

// Name implements [action.Evaluator].
func (reflection) Name() string { return "REFLECTION" }

// Evaluate implements [action.Evaluator].
func (r reflection) Evaluate(ctx context.Context, s action.TurnContext, _ chat.Memory) error {
	s.Recent, s.Summary = s.Recent[max(0, len(s.Recent)-lookedAt):], ""
	if len(s.Recent) == 0 {
		return nil
	}
	known, err := r.store.Notes(ctx, s.Room.ID, chat.FactNote, lastFacts)
	if err != nil {
		return fmt.Errorf("read facts: %w", err)
	}
	var texts []string
	for _, n := range known {
		texts = append(texts, n.Text)
	}
	answer, err := s.Ask(ctx, prompt.Reflection, map[string]string{"facts": dashes(texts)})
	if err != nil {
		return fmt.Errorf("extract facts: %w", err)
	}
	for _, n := range noted(s, answer) {
		if err := r.store.SaveNote(ctx, n); err != nil && !errors.Is(err, chat.ErrNotFound) { // not found: just deleted
			return fmt.Errorf("save a fact: %w", err)
		}
	}
	return nil
}

// noted parses the facts in an answer: one per line, starting with the name of a participant, or with "room".
func noted(s action.TurnContext, answer string) (facts []chat.RoomNote) {
	who := map[string]chat.EntityID{"room": ""}
	for _, m := range s.Recent {
		if m.Author != chat.EntityID(s.Agent.ID) && !m.Author.Automatic() {
			who[strings.ToLower(text.Label(m.Name))] = m.Author
		}
	}
	for _, line := range strings.Split(answer, "\n") {
		name, fact, ok := strings.Cut(strings.TrimLeft(strings.TrimSpace(line), "-* "), ":")
		about, known := who[strings.ToLower(strings.TrimSpace(name))]
		fact = strings.TrimSpace(fact)
		if !ok || !known || fact == "" || len([]rune(fact)) > factSize || len(facts) == newFacts {
			continue
		}
		text := strings.TrimSpace(name) + ": " + fact
		facts = append(facts, chat.RoomNote{
			Room: s.Room.ID, Kind: chat.FactNote, Key: strings.Join(words(text), " "), About: about, Text: text,
			First: s.Recent[0].ID, Last: s.Message.ID, At: time.Now(),
		})
	}
	return facts
}
