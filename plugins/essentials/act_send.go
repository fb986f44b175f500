package essentials

import (
	"context"
	"errors"
	"fmt"

	"parley/core"
)

// sendMessage writes where the asker may write. It is the agent who speaks there, once.
func sendMessage(rooms Rooms) action {
	return action{
		spec: core.ActionSpec{
			Name: "SEND_MESSAGE", Similes: []string{"SEND_DM", "MESSAGE_ROOM", "POST_MESSAGE", "WRITE_TO"},
			Description: "Says something in another room. Only when asked to. What is said in this room you simply write.",
			Parameters: object(`"room":{"type":"string","minLength":1,"description":"the name or id of the room"},`+
				`"text":{"type":"string","minLength":1,"description":"what to say there, as it shall be read"}`, "room", "text"),
			Effect: core.Writes,
		},
		offered: named,
		act: func(ctx context.Context, c *core.Call) (core.Result, error) {
			var p struct{ Text string }
			room, err := roomMeant(ctx, rooms, c, &p)
			switch {
			case err != nil:
				return core.Result{}, err
			case room.ID == c.Scene.Room.ID:
				return core.Result{}, errors.New("that is this room; write it as your answer")
			}
			err = c.Say(ctx, room.ID, p.Text)
			switch {
			case errors.Is(err, core.ErrUnreached):
				return core.Result{}, fmt.Errorf("nobody has written in %s yet, so it can't be reached", label(room))
			case err != nil:
				return core.Result{}, fmt.Errorf("say it in %s: %w", label(room), err)
			}
			return core.Result{Text: fmt.Sprintf("It will be said in %s, after what is being said there.", label(room)), Short: "→ " + label(room)}, nil
		},
	}
}
