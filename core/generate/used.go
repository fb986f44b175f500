package generate

import (
	"time"

	"parley/core/event"
	"parley/core/llm"
)

// used tells what one call of the model cost. What the provider does not report is estimated: 4 bytes a token.
func (w *Writer) used(req llm.Request, r *round, took time.Duration) {
	e := event.ModelUsed{RunInfo: w.Info, Took: took}
	if r.usage != nil {
		e.Usage = *r.usage
	} else {
		e.Estimated, e.Usage = true, estimate(req, r)
	}
	w.Emit(e)
}

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
