package essentials

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/text"
)

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
