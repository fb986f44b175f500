package essentials

import (
	"context"
	"errors"
	"fmt"

	"parley/core/action"
	"parley/core/chat"
)

// sendMessage sends a message of the agent to a room where the asker can write.
func sendMessage(store Store) namedAction {
	return namedAction{
		spec: action.Spec{
			Name: "SEND_MESSAGE", Similes: []string{"SEND_DM", "MESSAGE_ROOM", "POST_MESSAGE", "WRITE_TO"},
			Description: "Send a message to another room. Only when asked to. To reply in this room, just write your answer.",
			Parameters: object(`"room":{"type":"string","minLength":1,"description":"the name or id of the room"},`+
				`"text":{"type":"string","minLength":1,"description":"the text of the message"}`, "room", "text"),
			Effect: action.Writes,
		},
		available: named,
		act: reading(func(ctx context.Context, c *action.Call, p struct{ Room, Text string }) (action.Result, error) {
			room, err := find(ctx, store, c.Turn, p.Room)
			switch {
			case err != nil:
				return action.Result{}, err
			case room.ID == c.Turn.Room.ID:
				return action.Result{}, errors.New("that is the current room; just write your answer")
			}
			if err := say(ctx, c, room, p.Text, ""); err != nil {
				return action.Result{}, err
			}
			return action.Result{Text: fmt.Sprintf("The message will be sent to %s after the answer in progress there.", label(room)), Short: "→ " + label(room)}, nil
		}),
	}
}

// say sends a message of the agent to a room, with an image if that is described.
func say(ctx context.Context, c *action.Call, room chat.Room, text, image string) error {
	err := c.Post(ctx, room.ID, text, image)
	switch {
	case errors.Is(err, chat.ErrUnreached):
		return fmt.Errorf("there is no message in %s yet, so it can't be reached", label(room))
	case err != nil:
		return fmt.Errorf("send a message to %s: %w", label(room), err)
	}
	return nil
}
