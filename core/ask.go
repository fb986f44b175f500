package core

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"parley/core/action"
	"parley/core/contain"
	"parley/core/llm"
	"parley/core/scan"
)

// maxReply is how much of an answer to a short question is read, in bytes.
const maxReply = 64 << 10

// small has a short question answered by the small model, in one attempt. What the answer asks to be done is not done.
func (rt *Runtime) small(ctx context.Context, req llm.Request) (text string, err error) {
	defer contain.Recover(&err, "the small model")
	model := rt.cfg.Models.SmallOrLarge()
	if model == nil {
		return "", errors.New("no small model is configured")
	}
	req.Tools = nil
	var b strings.Builder
	thoughts := scan.New(scan.Options{})
	for c, err := range model.Generate(ctx, req) {
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return "", cause
			}
			return "", fmt.Errorf("ask the small model: %w", err)
		}
		b.WriteString(thoughts.Write(c.Text))
		if b.Len() > maxReply {
			break
		}
	}
	rest, _ := thoughts.Close(false)
	b.WriteString(rest)
	return strings.TrimSpace(b.String()), context.Cause(ctx)
}

// answering has questions of the turn answered by the small model.
func (rt *Runtime) answering(s action.TurnContext) action.TurnContext {
	s.AskModel = func(ctx context.Context, s action.TurnContext, template string, more map[string]string) (string, error) {
		req, err := rt.composer.Turn(s).Prompt(ctx, template, more)
		if err != nil {
			return "", err
		}
		return rt.small(ctx, req)
	}
	return s
}
