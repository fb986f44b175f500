package turn

import (
	"context"
	"log/slog"
	"time"

	"parley/core/access"
	"parley/core/answer"
	"parley/core/attachment"
	"parley/core/chat"
	"parley/core/consent"
	"parley/core/generate"
	"parley/core/llm"
	"parley/internal/contain"
)

const (
	imageLimit = 3 * time.Minute // the maximum time of the generation
	imageCall  = "image"         // the id of its call in the answer
	filesCall  = "files"         // the same for files that came with a draft
)

// illustrate generates the image that a draft describes, and shows it in a. A failure is logged: the text is sent
// without it.
func illustrate(ctx context.Context, by llm.ImageGenerator, draft chat.Memory, a *answer.Answer, log *slog.Logger) {
	if by == nil || len(draft.Files) == 0 || draft.Files[0].Name != chat.ImageToGenerate {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, imageLimit)
	defer cancel()
	var image llm.File
	err := contain.Call("the image model", func() (err error) {
		image, err = by.GenerateImage(ctx, draft.Files[0].Description)
		return err
	})
	files := llm.Showable([]llm.File{image})
	if err != nil || len(files) == 0 {
		log.Warn("a post has no image", "memory", draft.ID, "err", err)
		return
	}
	showFiles(a, imageCall, "GENERATE_IMAGE", files)
}

// showFiles shows files in a, as those of a call of an action.
func showFiles(a *answer.Answer, call, action string, files []llm.File) {
	for _, t := range []answer.Tool{{Stage: answer.StageStart}, {Stage: answer.StageEnd, Success: true}} {
		t.Name = action
		c := answer.Change{Kind: answer.ToolStage, Step: 1, Call: call, Tool: &t}
		if t.Success {
			c.Files = files
		}
		a.Apply(c)
	}
}

// notice is a run that sends a notice.
type notice struct {
	*Replies
	at       *attempt
	journal  *journal
	gen      *generate.Writer
	spending *spending
	asking   *asking
}

// send answers with the draft that is the input of the run, and shows its question if that is still open. It fails with
// [chat.ErrStopped] if the draft was deleted, [chat.ErrNothingToSay] if it is a card that was decided before, and with a limit that is reached.
func (n *notice) send(ctx context.Context) error {
	draft, err := n.journal.input(ctx)
	if err != nil {
		return err
	}
	var q chat.Question
	err = n.journal.persist(ctx, func() (err error) {
		q, err = n.asking.Store.QuestionOf(ctx, n.at.run.ID)
		return chat.Unless(err, chat.ErrNotFound)
	})
	open := q.Open(time.Now())
	switch {
	case err != nil:
		return err
	case q.Handler == consent.Handler && !open && len(n.at.run.Shown) == 0: // decided before the card was posted
		return chat.ErrNothingToSay
	case n.at.unattended(): // the output of a task counts as a message
		if err := n.spending.reportLimit(ctx, n.journal.Meter.CountMessage(ctx)); err != nil {
			return err
		}
	}
	n.at.say(draft.Text)
	illustrate(ctx, n.ImageGenerator, draft, n.at.answer, n.Log)
	if err := n.attach(ctx, draft); err != nil {
		return err
	}
	if q.Handler == access.ApprovalHandler {
		n.gen.Trace.Actions = []string{chat.AccessAction}
	} else if access.PassesOn(draft) {
		n.gen.Trace.Actions = []string{chat.PersonAction}
	}
	if open {
		n.asking.offer(q)
	}
	return nil
}

// attach shows the files of a draft that came with it. One that was deleted meanwhile is left out. It fails with the error of the
// store.
func (n *notice) attach(ctx context.Context, draft chat.Memory) error {
	var files []llm.File
	for _, f := range draft.Files {
		if f.Ref == "" {
			continue
		}
		var file llm.File
		err := n.journal.persist(ctx, func() (err error) {
			file, err = attachment.Stored(ctx, n.Store, f, chat.MaxUploads)
			return chat.Unless(err, chat.ErrNotFound)
		})
		switch {
		case err != nil:
			return err
		case file.Data == nil:
			n.Log.Warn("a file of a message is no longer stored", "memory", draft.ID)
			continue
		}
		files = append(files, file)
	}
	if len(files) == 0 {
		return nil
	}
	n.at.answer.Apply(answer.Change{Kind: answer.ToolStage, Step: 1, Call: filesCall, Files: llm.Showable(files), Tool: &answer.Tool{Name: "file", Hidden: true, Stage: answer.StageEnd, Success: true}})
	return nil
}
