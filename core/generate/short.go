package generate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"parley/core/generate/xmlform"
	"parley/core/llm"
	"parley/internal/contain"
)

// mostShort is the maximum length of a short answer, in bytes. A model that does not stop would otherwise cost money
// until its limit.
const mostShort = 64 << 10

// Short returns model's answer to an internal question, without its reasoning. It makes one attempt, because every
// caller works without the answer too. The request is made without tools. It fails with the error of the model, and if
// model is nil.
func Short(ctx context.Context, model llm.Model, req llm.Request) (answer string, err error) {
	defer contain.Recover(&err, "the small model")
	if model == nil {
		return "", errors.New("no small model is configured")
	}
	req.Tools = nil
	var b strings.Builder
	thoughts := xmlform.New(xmlform.Options{})
	for c, err := range model.Generate(ctx, req) {
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return "", cause
			}
			return "", fmt.Errorf("ask the small model: %w", err)
		}
		b.WriteString(thoughts.Write(c.Text))
		if b.Len() > mostShort {
			break
		}
	}
	rest, _ := thoughts.Close(false)
	b.WriteString(rest)
	return strings.TrimSpace(b.String()), context.Cause(ctx)
}
