package initiative

import (
	"context"
	"log/slog"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/contain"
)

const (
	toGenerate = "an image to generate" // the name of the file of a draft that describes one
	imageLimit = 3 * time.Minute        // how long generating it may take
	imageCall  = "image"                // the id of the call that shows it
)

// Illustrate generates the image that a draft asks for, and shows it in a. A failure is logged: the text stands alone then.
func Illustrate(ctx context.Context, by llm.ImageGenerator, draft chat.Memory, a *answer.Answer, log *slog.Logger) {
	if by == nil || len(draft.Files) == 0 || draft.Files[0].Name != toGenerate {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, imageLimit)
	defer cancel()
	var image llm.File
	err := contain.Call("the image model", func() (err error) {
		image, err = by.Paint(ctx, draft.Files[0].Description)
		return err
	})
	files := llm.Showable([]llm.File{image})
	if err != nil || len(files) == 0 {
		log.Warn("a post has no image", "memory", draft.ID, "err", err)
		return
	}
	for _, t := range []answer.Tool{{Stage: answer.StageStart}, {Stage: answer.StageEnd, Success: true}} {
		t.Name = "GENERATE_IMAGE"
		c := answer.Change{Kind: answer.ToolStage, Step: 1, Call: imageCall, Tool: &t}
		if t.Success {
			c.Files = files
		}
		a.Apply(c)
	}
}
