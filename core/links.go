package core

import (
	"context"
	"fmt"

	"parley/core/action"
	"parley/core/answer"
)

// readLinkCall names the lines of an answer that say which page is being read.
const readLinkCall = "READ_LINK"

// addLinks attaches the pages that the question links to, and shows which ones are being read, until end is called. They are read as all
// attachments are.
func (pn *preparation) addLinks(ctx context.Context, s *action.TurnContext) (end func()) {
	if !pn.x.rt.cfg.ReadLinks {
		return func() {}
	}
	hosts, err := pn.reading.AddLinks(ctx, s)
	if err != nil && ctx.Err() == nil {
		pn.x.rt.cfg.Log.Warn("linked pages can't be attached", "run", pn.x.run.ID, "err", err)
	}
	show := func(n int, stage answer.Stage, short string) {
		pn.x.answer.Apply(answer.Change{Kind: answer.ToolStage, Call: fmt.Sprint("link-", n), Tool: &answer.Tool{
			Name: readLinkCall, Stage: stage, Parameters: "{}", ShortResult: short, Success: stage == answer.StageEnd,
		}})
	}
	for n, host := range hosts {
		show(n, answer.StageRunning, "Reading "+host+"…")
	}
	return func() {
		for n, host := range hosts {
			show(n, answer.StageEnd, host)
		}
	}
}
