package essentials

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/prompt"
	"parley/core/text"
)

const (
	lookedAt = 12  // messages to extract facts from
	newFacts = 5   // facts and removals per reflection
	factSize = 240 // characters
)

// reflection extracts lasting facts from a conversation, and replaces those that are no longer true.
type reflection struct{ Deps }

// Name implements [action.Evaluator].
func (reflection) Name() string { return "REFLECTION" }

// Evaluate implements [action.Evaluator].
func (r reflection) Evaluate(ctx context.Context, s action.TurnContext, _ chat.Memory) error {
	s.Recent, s.Summary = s.Recent[max(0, len(s.Recent)-lookedAt):], ""
	if len(s.Recent) == 0 {
		return nil
	}
	all, err := r.Store.Notes(ctx, s.Room.ID, chat.FactNote, chat.MaxNotes)
	if err != nil {
		return fmt.Errorf("read facts: %w", err)
	}
	known := all[max(0, len(all)-lastFacts):]
	lines, numbered := numberedFacts(s, known)
	answer, err := s.Ask(ctx, prompt.Reflection, map[string]string{"facts": strings.Join(lines, "\n")})
	if err != nil {
		return fmt.Errorf("extract facts: %w", err)
	}
	for _, c := range r.changes(s, answer, all, numbered) {
		if err := r.apply(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// numberedFacts returns the prompt's lines of known facts. Those that the reflection can change have numbers: those about the
// asker, and about the room if a known user asks. A user's statement never changes facts about another.
func numberedFacts(s action.TurnContext, known []chat.RoomNote) (lines []string, numbered map[int]chat.RoomNote) {
	numbered = map[int]chat.RoomNote{}
	for _, n := range known {
		mark := "-"
		if n.About == "" && s.Allowed || n.About != "" && n.About == askerOf(s) {
			mark = strconv.Itoa(len(numbered)+1) + "."
			numbered[len(numbered)+1] = n
		}
		lines = append(lines, mark+" "+text.Quote(n.Text))
	}
	return lines, numbered
}

// factChange is a fact to note, a fact to remove, or both.
type factChange struct{ add, remove *chat.RoomNote }

// apply stores a change. The new fact is stored before the old one is removed: a crash in between leaves both, and none
// is lost.
func (r reflection) apply(ctx context.Context, c factChange) error {
	if c.add != nil {
		err := r.Store.SaveNote(ctx, *c.add)
		if errors.Is(err, chat.ErrNotFound) {
			return nil // its source was just deleted: the earlier fact stays
		} else if err != nil {
			return fmt.Errorf("save a fact: %w", err)
		}
	}
	if c.remove == nil || c.add != nil && c.add.Key == c.remove.Key {
		return nil
	}
	if err := r.Store.SaveNote(ctx, chat.RoomNote{Room: c.remove.Room, Kind: c.remove.Kind, Key: c.remove.Key}); err != nil {
		return fmt.Errorf("remove a fact: %w", err)
	}
	return nil
}

// changes parses the answer. A line is a fact, which starts with the name of a participant or with "room"; "replace" and a number before a
// fact take the place of a known one, and "remove" and a number take it away.
func (r reflection) changes(s action.TurnContext, answer string, all []chat.RoomNote, numbered map[int]chat.RoomNote) (changes []factChange) {
	who := participants(s)
	for _, line := range strings.Split(answer, "\n") {
		if len(changes) == newFacts {
			break
		}
		line, verb, old := ordered(strings.TrimLeft(strings.TrimSpace(line), "-* "), numbered)
		if verb != "" && old == nil {
			continue // there is no such number, or it was used already
		}
		if verb == "remove" {
			changes = append(changes, factChange{remove: old})
			continue
		}
		n, ok := factOf(s, line, who)
		if !ok || old != nil && n.About != old.About || hasFact(all, n.About, n.Text) {
			continue
		}
		n.Expires = r.expiry(0)
		all = append(all, n)
		changes = append(changes, factChange{add: &n, remove: old})
	}
	return changes
}

// ordered separates the order about a known fact ("replace 2:"), which can be used once, from the fact that follows.
// Numbers that the model made up yield a verb without a fact.
func ordered(line string, numbered map[int]chat.RoomNote) (rest, verb string, old *chat.RoomNote) {
	for _, verb := range []string{"replace", "remove"} {
		after, ok := strings.CutPrefix(strings.ToLower(line), verb+" ")
		if !ok {
			continue
		}
		number, _, _ := strings.Cut(after, ":")
		_, rest, _ := strings.Cut(line, ":")
		n, err := strconv.Atoi(strings.Trim(number, " .#"))
		if err != nil {
			return line, "", nil // someone with this name
		}
		if known, ok := numbered[n]; ok {
			delete(numbered, n)
			return rest, verb, &known
		}
		return rest, verb, nil
	}
	return line, "", nil
}

// participants returns the authors, by their names in lower case, and the room. A name that two of them have is
// left out: users choose their names, so a statement of one could otherwise be noted about the other.
func participants(s action.TurnContext) map[string]chat.EntityID {
	who, ambiguous := map[string]chat.EntityID{"room": ""}, map[string]bool{}
	for _, m := range s.Recent {
		if m.Author == chat.EntityID(s.Agent.ID) || m.Author.Automatic() {
			continue
		}
		name := strings.ToLower(text.Label(m.Name))
		if other, taken := who[name]; taken && other != m.Author {
			ambiguous[name] = true
		}
		who[name] = m.Author
	}
	for name := range ambiguous {
		delete(who, name)
	}
	return who
}

// factOf parses a fact. ok is false if the line is about no participant, has no words, or is too long.
func factOf(s action.TurnContext, line string, who map[string]chat.EntityID) (chat.RoomNote, bool) {
	name, fact, ok := strings.Cut(line, ":")
	name, fact = strings.TrimSpace(name), strings.TrimSpace(fact)
	about, known := who[strings.ToLower(name)]
	if !ok || !known || len(words(fact)) == 0 || len([]rune(fact)) > factSize {
		return chat.RoomNote{}, false
	}
	name, fact = text.Label(name), text.OneLine(fact, factSize) // a model can repeat invisible characters
	return chat.RoomNote{
		Room: s.Room.ID, Kind: chat.FactNote, Key: factKey(about, fact), About: about, Text: name + ": " + fact,
		First: s.Recent[0].ID, Last: s.Message.ID, At: time.Now(),
	}, true
}
