package core

import "fmt"

// stage shows how far a call has come.
func (x *execution) stage(c ToolCall, t Tool) {
	t.Name = c.Name
	x.answer.Apply(Change{Kind: ToolStage, Call: c.ID, Tool: &t})
}

// callID makes sure that no two calls of a run have one id, whatever the model says (LM-05).
func (x *execution) callID(id string) string {
	for n := len(x.calls); id == "" || x.calls[id]; n++ {
		id = fmt.Sprintf("call-%d", n)
	}
	x.calls[id] = true
	return id
}

// drop ends calls that will never be made.
func (x *execution) drop(calls []ToolCall, err error) {
	why := tooLate
	if status(err) == Failed {
		why = failureKind(err).Sentence()
	}
	for _, c := range calls {
		x.stage(c, Tool{Stage: StageEnd, Error: why})
	}
}

// tooLate is what people read of a call that was asked for and not made.
const tooLate = "The turn was over before it began."
