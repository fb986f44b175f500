package essentials

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/text"
)

// details are the facts that can be stored about a person, in display order. The list is fixed because they are shown
// in every room of the person.
var details = [...]struct{ key, means string }{
	{"name", "wants to be called"}, {"pronouns", "pronouns"}, {"language", "language"}, {"time_zone", "time zone"},
}

// updateEntity stores the details that a user gives about themselves. It grants no rights, because decisions about
// rights never use names or details.
func updateEntity(store Store) namedAction {
	return namedAction{
		spec: action.Spec{
			Name: "UPDATE_ENTITY", Similes: []string{"UPDATE_CONTACT", "UPDATE_PERSON", "REMEMBER_PERSON"},
			Description: "Remember a lasting fact about a person, for all your conversations with them. Only what they tell you about themselves, or what your owner tells you about them.",
			Parameters: object(`"about":{"type":"string","enum":["name","pronouns","language","time_zone"],"description":"what kind of fact; name is what they want to be called"},`+
				`"value":{"type":"string","maxLength":80,"description":"the fact, in a few words; empty to forget it"},`+
				`"person":{"type":"string","description":"the name of the person in this conversation; the user who asks if omitted"}`, "about", "value"),
			Effect: action.Writes,
		},
		available: func(s action.TurnContext) bool { return named(s) && s.Room.Kind != chat.Feed },
		act: reading(func(ctx context.Context, c *action.Call, p struct{ About, Value, Person string }) (action.Result, error) {
			who, err := authorNamed(c.Turn, p.Person)
			if err != nil {
				return action.Result{}, err
			}
			e, err := store.Entity(ctx, who.Author)
			if errors.Is(err, chat.ErrNotFound) {
				e, err = chat.Entity{ID: who.Author, Connector: c.Turn.Room.Connector}, nil
			}
			if err == nil {
				// Meet merges: an empty value removes this detail, and details that are not named stay.
				e.Details = map[string]string{p.About: text.Label(p.Value)}
				_, err = store.SaveEntity(ctx, e)
			}
			if err != nil {
				return action.Result{}, fmt.Errorf("save the fact: %w", err)
			}
			return action.Result{Text: fmt.Sprintf("Saved for %s.", text.Label(who.Name)), Short: "noted"}, nil
		}),
	}
}

// authorNamed returns a message of the person that the asker names: themselves, or for an owner anyone who wrote here. If
// a turn answers several users, the asker is unclear, so they have to ask separately.
func authorNamed(s action.TurnContext, name string) (chat.Memory, error) {
	name = text.Label(name)
	if name == "" || strings.EqualFold(name, text.Label(s.Message.Name)) {
		if s.Several() {
			return chat.Memory{}, errors.New("several users asked at once; the person has to ask in a message of their own")
		}
		return s.Message, nil
	}
	if !s.Owner {
		return chat.Memory{}, errors.New("users can only set facts about themselves")
	}
	var found chat.Memory
	for _, m := range s.Recent {
		if m.Author == chat.EntityID(s.Agent.ID) || !strings.EqualFold(text.Label(m.Name), name) {
			continue
		}
		if found.ID != "" && found.Author != m.Author {
			return chat.Memory{}, fmt.Errorf("several users here are named %q", name)
		}
		found = m
	}
	if found.ID == "" {
		return chat.Memory{}, fmt.Errorf("no user named %q has written here", name)
	}
	return found, nil
}

// detailsOf returns the stored details of a person in one line, those of the first account that has them; empty if there are none.
func detailsOf(ctx context.Context, store Store, accounts ...chat.EntityID) (string, error) {
	found := map[string]string{}
	for _, id := range slices.Backward(accounts) {
		e, err := store.Entity(ctx, id)
		if err != nil && !errors.Is(err, chat.ErrNotFound) {
			return "", fmt.Errorf("read the saved facts: %w", err)
		}
		maps.Copy(found, e.Details)
	}
	var all []string
	for _, d := range details {
		if text := found[d.key]; text != "" {
			all = append(all, fmt.Sprintf("%s %q", d.means, text))
		}
	}
	return strings.Join(all, ", "), nil
}
