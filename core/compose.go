package core

import (
	"context"
	"fmt"
)

// compose makes the prompt of a run: what was said in its room up to its own turn, oldest first.
func (x *execution) compose(ctx context.Context) (Request, error) {
	scene, err := x.recall(ctx)
	if err != nil {
		return Request{}, fmt.Errorf("recall %s: %w", x.run.Room, err)
	}
	x.scene = scene
	if err := x.refuse(ctx, scene.Recent, scene.Message); err != nil {
		return Request{}, err
	}
	if x.run.Duty == Again {
		if scene, err = x.askedAgain(ctx, scene); err != nil {
			return Request{}, err
		}
		x.scene = scene
	}
	switch {
	case x.run.Duty == Excuse:
		x.answer.Apply(Change{Kind: Text, Text: excuseLine})
		return Request{}, errTold
	case x.cfg.Models.Transcriber == nil && scene.Message.unheard():
		x.answer.Apply(Change{Kind: Text, Text: deafLine})
		return Request{}, errTold
	}
	if err := x.direct(ctx); err != nil {
		return Request{}, err
	}
	req := Request{System: x.cfg.Agent.System, Tools: x.tools()}
	for _, m := range scene.Recent {
		if t, ok := x.turnOf(m); ok {
			req.Turns = append(req.Turns, t)
		}
	}
	return req, nil
}

// excuseLine is what people read when more was said than is answered (IN-07). What was said stands in the next prompts.
const excuseLine = "More came in than I can answer one by one. I have read all of it; please ask again what is still open."

// turnOf is what a model is told of m. What only tells of a failure is no part of the conversation (LM-08).
func (x *execution) turnOf(m Memory) (Turn, bool) {
	switch {
	case m.Failure != "" && !m.Interrupted:
		return Turn{}, false
	case m.Author == x.cfg.Agent.entity():
		return Turn{Role: Assistant, Text: m.Text}, true
	case x.run.Kind.Private() || m.Name == "":
		return Turn{Role: User, Text: m.words()}, true
	}
	return Turn{Role: User, Text: m.Name + ": " + m.words()}, true
}
