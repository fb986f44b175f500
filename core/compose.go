package core

import (
	"context"
	"fmt"
)

// prepare finds out what the prompts of a run are made of. [errTold] means that no prompt is needed.
func (x *execution) prepare(ctx context.Context) (*state, error) {
	scene, err := x.recall(ctx)
	if err != nil {
		return nil, fmt.Errorf("recall %s: %w", x.run.Room, err)
	}
	x.scene = scene
	if err := x.refuse(ctx, scene.Recent, scene.Message); err != nil {
		return nil, err
	}
	if x.run.Duty == Again {
		if scene, err = x.askedAgain(ctx, scene); err != nil {
			return nil, err
		}
	}
	if x.run.Duty == Excuse {
		x.answer.Apply(Change{Kind: Text, Text: excuseLine})
		return nil, errTold
	}
	x.read(ctx, &scene, anyFile)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	x.scene = scene
	if x.cfg.Models.Transcriber == nil && scene.Message.unheard() {
		x.answer.Apply(Change{Kind: Text, Text: deafLine})
		return nil, errTold
	}
	if err := x.direct(ctx); err != nil {
		return nil, err
	}
	if err := x.cfg.Meter.message(ctx); err != nil {
		return nil, err
	}
	x.scene.Actions = x.tools()
	x.remind(ctx)
	st := x.stateOf(x.scene)
	x.state = st
	st.pictures = x.pictures(ctx)
	return st, nil
}

// excuseLine is what people read when more was said than is answered (IN-07). What was said stands in the next prompts.
const excuseLine = "More came in than I can answer one by one. I have read all of it; please ask again what is still open."
