package generate

import (
	"time"

	"parley/core/event"
	"parley/core/llm"
)

// used reports what one call of the model cost, also after an error. What the provider does not report is estimated, at
// 4 bytes a token: a cost that is off is better than one that limits don't count.
func (w *Writer) used(req llm.Request, r *round, took time.Duration) {
	e := event.ModelUsed{RunInfo: w.Info, Took: took}
	if r.usage != nil {
		e.Usage = *r.usage
	} else {
		e.Estimated, e.Usage = true, estimate(req, r)
	}
	w.Emit(e)
}

// estimate returns the estimated usage of a call: of everything in the request except images, and of everything that
// was written.
func estimate(req llm.Request, r *round) llm.Usage {
	asked, said := len(req.System), r.text.Len()+len(r.wrote.Thought)
	for _, t := range req.Messages {
		asked += len(t.Text)
		for _, c := range t.Calls {
			asked += len(c.Name) + len(c.Parameters)
		}
	}
	for _, t := range req.Tools {
		asked += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	for _, c := range r.calls {
		said += len(c.Name) + len(c.Parameters)
	}
	return llm.Usage{Prompt: (asked + 3) / 4, Completion: (said + 3) / 4}
}
