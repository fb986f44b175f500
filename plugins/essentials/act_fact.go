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
	"parley/core/text"
)

// rememberFact stores a fact about the asker or the room; Deps.FactScope limits its use in other rooms.
// Facts about the room are read to everyone in it, so guests can't store them.
func rememberFact(d Deps) namedAction {
	return namedAction{
		spec: action.Spec{
			Name: "REMEMBER_FACT", Similes: []string{"REMEMBER", "SAVE_FACT", "ADD_MEMORY"},
			Description: "Remember a lasting fact for your later conversations in this room. Only when the user asks you to remember it, or corrects a fact that you know.",
			Parameters: object(`"fact":{"type":"string","minLength":1,"maxLength":240,"description":"the fact, in a few words"},`+
				`"about":{"type":"string","enum":["user","room"],"description":"who it is about: the user who asks (if omitted), or the room"},`+
				`"instead_of":{"type":"string","description":"the fact that you know and that is no longer true, as it is written there"},`+
				`"days":{"type":"integer","minimum":1,"maximum":3650,"description":"for how many days it is true, if that is known"}`, "fact"),
			Effect: action.Writes,
		},
		available: asked,
		act: reading(func(ctx context.Context, c *action.Call, p struct {
			Fact, About string
			InsteadOf   string `json:"instead_of"`
			Days        int
		}) (action.Result, error) {
			n := chat.RoomNote{Room: c.Turn.Room.ID, Kind: chat.FactNote, First: c.Turn.Message.ID, Last: c.Turn.Message.ID, At: time.Now(), Expires: d.expiry(p.Days)}
			fact, name := text.OneLine(p.Fact, factSize), text.Label(c.Turn.Message.Name)
			switch {
			case len(words(fact)) == 0:
				return action.Result{}, errors.New("there is no fact to remember")
			case p.About == "room" && !named(c.Turn):
				return action.Result{}, errors.New("the user is a guest; guests can only have facts about themselves remembered")
			case p.About == "room":
				name = "room"
			case c.Turn.Several():
				return action.Result{}, errors.New("several users asked at once; the person has to ask in a message of their own")
			default:
				n.About = c.Turn.Message.Author
			}
			// Models repeat the name that the list of facts shows before each.
			fact = strings.TrimPrefix(fact, name+": ")
			n.Key, n.Text = factKey(n.About, fact), name+": "+fact
			// The old fact is dropped first. If that is not permitted or there is none, nothing is stored: the model
			// has mistaken something.
			if p.InsteadOf != "" {
				if err := d.dropFact(ctx, c.Turn, p.InsteadOf); err != nil {
					return action.Result{}, err
				}
			}
			if err := d.Store.SaveNote(ctx, n); err != nil {
				return action.Result{}, fmt.Errorf("save the fact: %w", err)
			}
			return action.Result{Text: "Remembered: " + n.Text, Short: "noted"}, nil
		}),
	}
}

// forgetFact forgets a fact that is used in this room.
func forgetFact(d Deps) namedAction {
	return namedAction{
		spec: action.Spec{
			Name: "FORGET_FACT", Similes: []string{"FORGET", "DELETE_FACT", "REMOVE_MEMORY"},
			Description: "Forget a fact that you know from earlier conversations in this room. Only when the user asks for it.",
			Parameters:  object(`"fact":{"type":"string","minLength":1,"description":"the fact, as it is written there"}`, "fact"),
			Effect:      action.Writes,
		},
		available: asked,
		act: reading(func(ctx context.Context, c *action.Call, p struct{ Fact string }) (action.Result, error) {
			if err := d.dropFact(ctx, c.Turn, p.Fact); err != nil {
				return action.Result{}, err
			}
			return action.Result{Text: "Forgotten.", Short: "forgotten"}, nil
		}),
	}
}

// dropFact removes a fact that is used in the room, by its text. Users can remove facts about themselves; known users also those about the
// room, and owners all.
func (d Deps) dropFact(ctx context.Context, s action.TurnContext, fact string) error {
	all, elsewhere, err := d.factsFor(ctx, s.Room, askerOf(s))
	if err != nil {
		return fmt.Errorf("read facts: %w", err)
	}
	why := errors.New("no such fact is known here; write it as it stands in the list of facts")
	for _, n := range append(all, elsewhere...) {
		_, bare, _ := strings.Cut(n.Text, ": ")
		if !sameWords(fact, n.Text) && !sameWords(fact, bare) {
			continue
		}
		own := n.About == s.Message.Author && !s.Several()
		if !s.Owner && !own && !(n.About == "" && s.Allowed) {
			why = errors.New("that fact is about someone else; only they and the owner can have it forgotten")
			continue
		}
		if err := d.Store.SaveNote(ctx, chat.RoomNote{Room: n.Room, Kind: n.Kind, Key: n.Key}); err != nil {
			return fmt.Errorf("forget the fact: %w", err)
		}
		return nil
	}
	return why
}

// factKey identifies a fact about a person or (with an empty about) the room: the same words are the same fact, so it
// is stored once.
func factKey(about chat.EntityID, fact string) string {
	return strings.TrimSpace(string(about) + " " + strings.Join(words(fact), " "))
}

// sameWords compares texts without case and punctuation, which models change.
func sameWords(a, b string) bool { return slices.Equal(words(a), words(b)) }
