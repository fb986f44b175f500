package essentials

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/prompt"
)

// maxPost is the maximum length of a post, in characters.
const maxPost = 2000

// createPost publishes a post in a feed. The request for it contains nothing of the conversation but
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

// speak speaks a text. Its cost is counted by the Speaker.
func speak(speaker llm.Speaker) namedAction {
	return namedAction{
		spec: action.Spec{
			Name: "SPEAK", Similes: []string{"READ_ALOUD", "SAY_ALOUD", "VOICE_MESSAGE", "TEXT_TO_SPEECH"},
			Description: "Speak a text in a voice message below your answer. Only when asked to speak or to read aloud.",
			Parameters:  object(`"text":{"type":"string","minLength":1,"maxLength":1500,"description":"the text to speak, without markup"}`, "text"),
			Effect:      action.Reads,
			Limit:       time.Minute,
		},
		act: reading(func(ctx context.Context, c *action.Call, p struct{ Text string }) (action.Result, error) {
			voice, err := speaker.Speak(ctx, p.Text, "")
			if err != nil {
				return action.Result{}, fmt.Errorf("speak: %w", err)
			}
			return action.Result{Text: "The voice message is below your answer.", Short: "a voice message", Files: []llm.File{llm.Spoken(voice, p.Text)}}, nil
		}),
	}
}

// generateImage generates an image. It changes nothing, so it needs no approval; its cost is counted by the
// ImageGenerator.
func generateImage(painter llm.ImageGenerator) namedAction {
	return namedAction{
		spec: action.Spec{
			Name: "GENERATE_IMAGE", Similes: []string{"DRAW", "PAINT", "CREATE_IMAGE", "MAKE_IMAGE", "CREATE_PICTURE"},
			Description: "Generate an image and show it below your answer. Only when asked to.",
			Parameters:  object(`"prompt":{"type":"string","minLength":1,"maxLength":4000,"description":"everything the image should show, and its style"}`, "prompt"),
			Effect:      action.Reads,
			Limit:       3 * time.Minute,
		},
		act: reading(func(ctx context.Context, c *action.Call, p struct{ Prompt string }) (action.Result, error) {
			picture, err := painter.GenerateImage(ctx, p.Prompt)
			if err != nil {
				return action.Result{}, fmt.Errorf("generate the image: %w", err)
			}
			return action.Result{Text: "The image was generated and is shown below your answer.", Short: "an image", Files: []llm.File{picture}}, nil
		}),
	}
}
