package core

import (
	"context"
	"fmt"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/prompt"
)

// prepare finds out what the prompts of a run are made of. [errTold] means that no prompt is needed.
func (x *execution) prepare(ctx context.Context) (*prompt.Builder, error) {
	scene, err := x.recall(ctx)
	if err != nil {
		return nil, fmt.Errorf("recall %s: %w", x.run.Room, err)
	}
	x.scene = scene
	if err := x.refuse(ctx, scene.Recent, scene.Message); err != nil {
		return nil, err
	}
	if x.run.Kind == chat.RunRetry {
		if scene, err = x.askedAgain(ctx, scene); err != nil {
			return nil, err
		}
	}
	if x.run.Kind == chat.RunOverflow {
		x.answer.Apply(answer.Change{Kind: answer.Text, Text: excuseLine})
		return nil, errTold
	}
	if err := x.countAttempt(ctx); err != nil {
		return nil, err
	}
	if err := x.readCounted(ctx, &scene); err != nil {
		return nil, err
	}
	x.scene.Actions = x.tools()
	x.trimHistory(ctx)
	st := x.rt.composer.Turn(x.scene)
	x.state = st
	st.Images = x.pictures
	return st, nil
}

// readCounted counts the message and then reads what it is about: reading costs money. A turn that an action claims is not
// counted, unless files must be read to find that out, or the action itself asks a model.
func (x *execution) readCounted(ctx context.Context, s *action.TurnContext) error {
	files := len(x.unread(x.about(*s), anyFile)) > 0
	x.scene = *s
	if !files {
		if err := x.alone(ctx); err != nil {
			return err
		}
	}
	if err := x.rt.cfg.Meter.CountMessage(ctx); err != nil {
		return err
	}
	x.pictures = x.viewImages(ctx, s)
	x.read(ctx, s, x.worded(*s))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	x.scene = *s
	if !files {
		return nil
	}
	return x.alone(ctx)
}

// alone answers without a model where that is possible: [errTold] if it has.
func (x *execution) alone(ctx context.Context) error {
	if x.rt.cfg.Models.Transcriber == nil && x.scene.Message.Unheard() {
		x.answer.Apply(answer.Change{Kind: answer.Text, Text: deafLine})
		return errTold
	}
	return x.direct(ctx)
}

// excuseLine is what people read when more was said than is answered (IN-07). What was said stands in the next prompts.
const excuseLine = "I can't answer each message separately. I've read them all; please repeat anything still open."
