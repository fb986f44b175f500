package essentials

import (
	"context"
	"fmt"
	"time"

	"parley/core"
)

// generateImage makes a picture.
func generateImage(painter core.Painter) action {
	return action{
		spec: core.ActionSpec{
			Name: "GENERATE_IMAGE", Similes: []string{"DRAW", "PAINT", "CREATE_IMAGE", "MAKE_IMAGE", "CREATE_PICTURE"},
			Description: "Makes a picture and shows it below your answer. Only when asked to.",
			Parameters:  object(`"prompt":{"type":"string","minLength":1,"maxLength":4000,"description":"all that the picture shall show, and in what style"}`, "prompt"),
			Effect:      core.Reads,
			Limit:       3 * time.Minute,
		},
		act: func(ctx context.Context, c *core.Call) (core.Result, error) {
			var p struct{ Prompt string }
			if err := c.Read(&p); err != nil {
				return core.Result{}, err
			}
			picture, err := painter.Paint(ctx, p.Prompt)
			if err != nil {
				return core.Result{}, fmt.Errorf("make the picture: %w", err)
			}
			return core.Result{Text: "The picture is made, and people see it below your answer.", Short: "a picture", Files: []core.Blob{picture}}, nil
		},
	}
}
