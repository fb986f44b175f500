package admin

import (
	"cmp"
	"fmt"

	"parley/core/chat"
	"parley/core/text"
	"parley/core/turn"
)

// run shows what an answer saw and did.
func (a *Admin) run(v *visit) view {
	r := check(turn.ReceiptOf(v.Context(), a.Store, chat.RunID(v.URL.Query().Get("id"))))(v)
	if r.Run.ID == "" {
		return view{Title: "Answer", Lead: "This answer is not stored."}
	}
	facts := table{Title: "Run", Columns: []string{"What", "Value"}}
	facts.add("Room", a.roomName(v, r.Run.Room))
	facts.add("Outcome", r.Run.State())
	for _, id := range r.Run.Inputs {
		m := check(a.Store.Memory(v.Context(), id))(v)
		facts.add("Question of "+cmp.Or(m.Name, account(m.Author)), text.Visible(m.PromptText())).attach(1, m)
	}
	facts.add("Answer", text.Visible(cmp.Or(r.Answer.Text, r.Run.Text))).attach(1, r.Answer)
	for _, f := range r.Facts {
		facts.add(f.Name, f.Value)
	}
	calls := table{Title: "Tool calls", Empty: "It called no tool.", Columns: []string{"Tool", "Arguments", "Result"}}
	for _, c := range r.Answer.Calls {
		calls.add(c.Name, text.Visible(c.Parameters), text.Visible(cmp.Or(c.Error, c.Result, c.ShortResult)))
	}
	approvals := table{Title: "Approvals", Empty: "It needed no approval.", Columns: []string{"Tool", "Decision", "By", "Time"}}
	for _, p := range r.Approvals {
		approvals.add(fmt.Sprintf("%s (%s)", p.Tool, p.Effect), string(p.Decision), string(p.By), a.clock(p.Decided))
	}
	read := table{Title: "Prompt", Folded: true, Empty: "No model was asked.", Columns: []string{"Part", "From", "Text"}}
	for _, p := range r.Prompt {
		read.add(string(p.Kind), text.Visible(p.From), text.Visible(p.Text))
	}
	return view{Title: "Answer", Lead: "What this answer saw and did.", Tables: []table{facts, read, calls, approvals}}
}
