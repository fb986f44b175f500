package essentials

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/prompt"
)

// maxPost is the maximum length of a post, in characters.
const maxPost = 2000

// createPost publishes a post in a feed. The post is written without the conversation in which it was requested, apart from
// the topic, so that nothing private can get into it.
func createPost(store Store) namedAction {
	return namedAction{
		spec: action.Spec{
			Name: "CREATE_POST", Similes: []string{"POST", "PUBLISH", "WRITE_POST"},
			Description: "Publish a post in a feed channel. Its text is written for you. Only when asked to.",
			Parameters: object(`"room":{"type":"string","minLength":1,"description":"the name or id of the channel"},`+
				`"topic":{"type":"string","maxLength":500,"description":"what the post is about; your choice if omitted"}`, "room"),
			Effect: action.Writes,
		},
		available: func(s action.TurnContext) bool { return s.Owner && s.Room.Kind != chat.Feed },
		act: reading(func(ctx context.Context, c *action.Call, p struct{ Room, Topic string }) (action.Result, error) {
			room, err := find(ctx, store, c.Turn, p.Room)
			switch {
			case err != nil:
				return action.Result{}, err
			case room.Kind != chat.Feed:
				return action.Result{}, fmt.Errorf("%s is not a feed; use SEND_MESSAGE there", label(room))
			}
			text, image, err := writePost(ctx, c.Turn, room, p.Topic)
			if err != nil {
				return action.Result{}, err
			}
			if err := say(ctx, c, room, text, image); err != nil {
				return action.Result{}, err
			}
			return action.Result{Text: fmt.Sprintf("It will be posted in %s as soon as the platform accepts it:\n%s", label(room), text), Short: "→ " + label(room)}, nil
		}),
	}
}

// writePost lets the model write a post, without any conversation, and describe an image for it.
func writePost(ctx context.Context, s action.TurnContext, feed chat.Room, topic string) (text, image string, err error) {
	s.Room, s.Private, s.Recent, s.Summary = feed, false, nil, ""
	s.Message = chat.Memory{Text: topic}
	answer, err := s.Ask(ctx, prompt.PostCreation, nil)
	if err != nil {
		return "", "", fmt.Errorf("write the post: %w", err)
	}
	text, image = within(answer, "post"), within(answer, "imagePrompt")
	if text == "" || len([]rune(text)) > maxPost {
		return "", "", errors.New("no post was written; try again, or use SEND_MESSAGE")
	}
	if len([]rune(image)) > maxPost {
		image = ""
	}
	return text, image, nil
}

// within returns the content of an element, or "".
func within(answer, tag string) string {
	_, rest, _ := strings.Cut(answer, "<"+tag+">")
	inner, _, closed := strings.Cut(rest, "</"+tag+">")
	if !closed {
		return ""
	}
	return strings.TrimSpace(inner)
}
