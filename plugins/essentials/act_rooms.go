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
	"parley/internal/lang"
)

// roomActions returns the actions that set the agent's attention in a room.
func roomActions(store Store) []namedAction {
	return []namedAction{
		listening(store, chat.Ambient, action.Spec{
			Name: "FOLLOW_ROOM", Similes: []string{"FOLLOW_CHANNEL", "FOLLOW_CHAT", "FOLLOW_CONVERSATION"},
			Description: "Join a room: also consider messages not addressed to you. Only when asked to.",
		}, "room.follow"),
		listening(store, chat.Quiet, action.Spec{
			Name: "UNFOLLOW_ROOM", Similes: []string{"UNFOLLOW_CHANNEL", "UNFOLLOW_CHAT", "UNFOLLOW_CONVERSATION"},
			Description: "Leave a room: ignore it until you are addressed there. Only when asked to.",
		}, "room.unfollow"),
		listening(store, chat.Muted, action.Spec{
			Name: "MUTE_ROOM", Similes: []string{"MUTE_CHANNEL", "MUTE_CHAT", "MUTE_CONVERSATION"},
			Description: "Mute a room: say nothing there, even when addressed, until you are asked in another room to unmute it. Only when asked to.",
		}, "room.mute"),
		listening(store, chat.Normal, action.Spec{
			Name: "UNMUTE_ROOM", Similes: []string{"UNMUTE_CHANNEL", "UNMUTE_CHAT", "UNMUTE_CONVERSATION"},
			Description: "Unmute a room: answer there again. Only when asked to.",
		}, "room.unmute"),
	}
}

// listening returns an action that sets the attention for a room, and reports done with the room's name.
func listening(store Store, a chat.Attention, spec action.Spec, done string) namedAction {
	spec.Effect = action.Writes
	spec.Parameters = object(`"room":{"type":"string","description":"the name or id of the room; this room if omitted"}`)
	return namedAction{spec: spec,
		available: func(s action.TurnContext) bool { return (isGroup(s) || named(s)) && !s.Message.Author.Automatic() },
		act: reading(func(ctx context.Context, c *action.Call, p struct{ Room string }) (action.Result, error) {
			room, err := find(ctx, store, c.Turn, p.Room)
			switch {
			case err != nil:
				return action.Result{}, err
			case room.Kind.Private():
				return action.Result{}, errors.New("that is a private conversation, where every message is for you; name the room")
			}
			if err := store.SetAttention(ctx, room.ID, a); err != nil {
				return action.Result{}, fmt.Errorf("change how you follow the room: %w", err)
			}
			text := lang.Say(ctx, done, "room", label(room))
			return action.Result{Text: text, Short: text}, nil
		}),
	}
}

// find returns the room that the asker names: the current one, or by name or id one that they are a member of. An owner
// can name any room. Of several with the name, the only one on the same platform is meant; otherwise the error lists
// their ids, which the model can use. A room that exists but that the asker is not a member of is reported like one
// that doesn't exist.
func find(ctx context.Context, store Store, s action.TurnContext, name string) (chat.Room, error) {
	name = strings.TrimSpace(name)
	if name == "" || name == string(s.Room.ID) || strings.EqualFold(plain(name), s.Room.Name) {
		return s.Room, nil
	}
	if !named(s) {
		return chat.Room{}, errors.New("the user is a guest; guests can only use this in the current room")
	}
	author := s.Message.Author
	if s.Owner {
		author = ""
	}
	found, err := store.RoomsNamed(ctx, name, author)
	if err == nil && len(found) == 0 && plain(name) != name {
		found, err = store.RoomsNamed(ctx, plain(name), author)
	}
	if err != nil {
		return chat.Room{}, fmt.Errorf("find the room: %w", err)
	}
	if near := slices.DeleteFunc(slices.Clone(found), func(r chat.Room) bool { return r.Connector != s.Room.Connector }); len(near) == 1 {
		return near[0], nil
	}
	switch len(found) {
	case 0:
		return chat.Room{}, fmt.Errorf("there is no room %q that the user is a member of", name)
	case 1:
		return found[0], nil
	}
	var ids []string
	for _, r := range found {
		ids = append(ids, string(r.ID))
	}
	return chat.Room{}, fmt.Errorf("several rooms are named %q; use an id: %s", name, strings.Join(ids, ", "))
}

// plain returns a room's name without a leading # or @.
func plain(name string) string { return strings.TrimLeft(name, "#@") }

// label returns a room's display name, or its id if it has none.
func label(r chat.Room) string {
	if name := text.Label(r.Name); name != "" {
		return name
	}
	return string(r.ID)
}

// lengths maps the lengths of answers to their descriptions in prompts.
var lengths = map[string]string{"short": "a sentence or two", "normal": "", "detailed": "in detail, with reasons"}

// updateSettings sets how the agent answers in a room. The provider SETTINGS adds it to prompts. Only the owner may: it
// is an instruction that every later prompt contains.
func updateSettings(store Store) namedAction {
	return namedAction{
		spec: action.Spec{
			Name: "UPDATE_SETTINGS", Similes: []string{"SET_SETTING", "CONFIGURE_ROOM"},
			Description: "Change how you answer in a room from now on. Only when your owner asks.",
			Parameters: object(`"setting":{"type":"string","enum":["language","length","tone"],"description":"the setting: the language, length (short, normal or detailed) or tone of your answers"},`+
				`"value":{"type":"string","maxLength":80,"description":"the new value; empty for the default"},`+
				`"room":{"type":"string","description":"the name or id of the room; this room if omitted"}`, "setting", "value"),
			Effect: action.Writes,
		},
		available: func(s action.TurnContext) bool { return s.Owner },
		act: reading(func(ctx context.Context, c *action.Call, p struct{ Room, Setting, Value string }) (action.Result, error) {
			room, err := find(ctx, store, c.Turn, p.Room)
			if err != nil {
				return action.Result{}, err
			}
			value := text.Label(p.Value)
			if p.Setting == "length" && value != "" {
				words, ok := lengths[value]
				if !ok {
					return action.Result{}, errors.New("length must be short, normal or detailed")
				}
				value = words
			}
			// An empty text removes the setting.
			note := chat.RoomNote{Room: room.ID, Kind: chat.SettingNote, Key: p.Setting, Text: value, At: time.Now()}
			if err := store.SaveNote(ctx, note); err != nil {
				return action.Result{}, fmt.Errorf("save the setting: %w", err)
			}
			text := fmt.Sprintf("The %s of answers in %s is set.", p.Setting, label(room))
			return action.Result{Text: text, Short: text}, nil
		}),
	}
}
