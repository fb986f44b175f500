package core

import (
	"context"
	"fmt"
)

// compose makes the prompt of a run: what was said in its room up to its own turn, oldest first.
func (x *execution) compose(ctx context.Context) (Request, error) {
	recent, question, err := x.recall(ctx)
	if err != nil {
		return Request{}, fmt.Errorf("recall %s: %w", x.run.Room, err)
	}
	if err := x.refuse(recent, question); err != nil {
		return Request{}, err
	}
	switch {
	case x.run.Duty == Excuse:
		x.answer.Apply(Change{Kind: Text, Text: excuseLine})
		return Request{}, errTold
	case x.cfg.Models.Transcriber == nil && question.unheard():
		x.answer.Apply(Change{Kind: Text, Text: deafLine})
		return Request{}, errTold
	}
	req := Request{System: x.cfg.Agent.System, Tools: x.tools()}
	for _, m := range recent {
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

// recall reads what a prompt is made of, and the message that asks for an answer.
func (x *execution) recall(ctx context.Context) (recent []Memory, question Memory, err error) {
	err = x.persist(ctx, func() (err error) {
		recent, err = x.cfg.Store.Recent(ctx, x.run.Room, Said, x.run.Response, window)
		if err != nil || len(x.run.Inputs) == 0 {
			return err
		}
		question, err = x.cfg.Store.Memory(ctx, x.run.Inputs[len(x.run.Inputs)-1])
		return err
	})
	return recent, question, err
}

// refuse answers strangers instead of the model: once a private room, then with silence. Who has filled a prompt was told, or
// does not listen.
func (x *execution) refuse(recent []Memory, question Memory) error {
	if question.ID == "" || x.cfg.Access.invited(x.run.Address.Connector, x.run.Kind, question.Author) {
		return nil
	}
	told := len(recent) == window || !x.run.Kind.Private() || x.cfg.Access.off(x.run.Kind)
	for _, m := range recent {
		told = told || m.Author == x.cfg.Agent.entity()
	}
	if told {
		return errNothingToSay
	}
	x.answer.Apply(Change{Kind: Text, Text: strangerLine})
	return errTold
}
