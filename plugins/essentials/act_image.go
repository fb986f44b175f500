package essentials

import (
	"context"
	"fmt"
	"time"

	"parley/core/action"
	"parley/core/llm"
)

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
			picture, err := painter.Paint(ctx, p.Prompt)
			if err != nil {
				return action.Result{}, fmt.Errorf("generate the image: %w", err)
			}
			return action.Result{Text: "The image was generated and is shown below your answer.", Short: "an image", Files: []llm.File{picture}}, nil
		}),
	}
}
