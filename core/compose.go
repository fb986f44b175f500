package core

import (
	"context"
	"fmt"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/attachment"
	"parley/core/chat"
	"parley/core/prompt"
	"parley/core/schedule"
)

// prepare finds out what the prompts of a run are made of. [errTold] means that the answer is complete without a model.
//
// The order keeps costs down: access and notices need no model; the message is counted against the limits before files are read and
// the first model is asked, and with it the attempt, so that a run which crashes processes is counted.
func (pn *preparation) prepare(ctx context.Context) (*prompt.Builder, error) {
	turn, err := pn.recall(ctx)
	if err != nil {
		return nil, fmt.Errorf("recall %s: %w", pn.x.run.Room, err)
	}
	pn.x.turn = turn
	pn.x.rt.desk.Wrote(ctx, pn.x.waits, turn.Recent, pn.x.run.Inputs)
	if err := pn.refuse(ctx, turn.Recent, turn.Message); err != nil {
		return nil, err
	}
	if pn.x.run.Kind == chat.RunRetry {
		if turn, err = pn.askedAgain(ctx, turn); err != nil {
			return nil, err
		}
	}
	if pn.x.run.Kind == chat.RunOverflow {
		pn.x.answer.Apply(answer.Change{Kind: answer.Text, Text: schedule.Excuse})
		return nil, errTold
	}
	model, err := pn.chooseModel(ctx, turn)
	if err != nil {
		return nil, fmt.Errorf("choose the model of %s: %w", pn.x.run.Room, err)
	}
	if err := pn.readCounted(ctx, &turn); err != nil {
		return nil, err
	}
	pn.x.turn.Actions = pn.x.toolCalls.Tools()
	pn.trimHistory(ctx, model.Prompt)
	st := pn.x.rt.composer.Turn(pn.x.turn)
	pn.x.state = st
	st.Images, st.Limit = pn.pictures, model.Prompt
	return st, nil
}

// readCounted counts the message and then reads its attachments and links, which costs money. A turn that an action claims is not counted,
// unless files must be read to find that out, or the action itself asks a model. A resumed turn was counted before it was parked.
func (pn *preparation) readCounted(ctx context.Context, s *action.TurnContext) error {
	endLinks := pn.addLinks(ctx, s)
	defer endLinks()
	files := pn.reading.HasUnread(*s, attachment.Any)
	pn.x.turn = *s
	resumed := pn.x.gen.State != nil
	if !files && !resumed {
		if err := pn.alone(ctx); err != nil {
			return err
		}
	}
	if err := pn.x.countMessage(ctx); err != nil {
		return err
	}
	err := pn.x.risk.During("media", pn.reading.HasFiles(*s), func() {
		pn.pictures = pn.reading.View(ctx, s)
		pn.reading.Read(ctx, s, pn.reading.Worded(*s))
	})
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	pn.x.turn = *s
	if !files || resumed {
		return nil
	}
	return pn.alone(ctx)
}

// alone answers without a model where that is possible, and returns [errTold] if it has.
func (pn *preparation) alone(ctx context.Context) error {
	if pn.x.rt.cfg.Models.Transcriber == nil && pn.x.turn.Message.Unheard() {
		pn.x.answer.Apply(answer.Change{Kind: answer.Text, Text: deafLine})
		return errTold
	}
	return pn.direct(ctx)
}

// deafLine is the answer to a voice message where no model for transcription is configured.
const deafLine = "I can't listen to voice messages here. Please send me text instead."
