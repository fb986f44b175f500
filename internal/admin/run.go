package admin

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"parley/core/chat"
	"parley/core/quota"
	"parley/core/text"
)

// run shows what an answer saw and did.
func (a *Admin) run(v *visit) view {
	r := check(a.Store.Run(v.Context(), chat.RunID(v.URL.Query().Get("id"))))(v)
	said := check(a.Store.Memory(v.Context(), r.Said()))(v)
	facts := table{Title: "Run", Columns: []string{"What", "Value"}}
	facts.add("Room", a.roomName(v, r.Room))
	facts.add("Opened", a.clock(r.Opened))
	facts.add("Outcome", outcome(r))
	for _, id := range r.Inputs {
		m := check(a.Store.Memory(v.Context(), id))(v)
		facts.add("Question of "+cmp.Or(m.Name, shortID(string(m.Author))), text.Visible(m.PromptText()))
	}
	facts.add("Answer", text.Visible(cmp.Or(said.Text, r.Text)))
	day := r.Opened.In(a.Zone)
	for _, t := range check(a.Store.Used(v.Context(), day.Format(time.DateOnly), day.AddDate(0, 0, 1).Format(time.DateOnly), quota.AnswerBuckets+string(r.ID)))(v) {
		facts.add("Usage", t.String())
	}
	facts.add("Attempts, crashes", fmt.Sprintf("%d, %d", r.Attempts, r.Deaths))
	for _, s := range r.Shown {
		facts.add(fmt.Sprintf("Part %d", s.Part+1), "posted "+a.clock(s.At))
	}
	if len(said.Providers) > 0 {
		facts.add("Context of plugins", strings.Join(said.Providers, ", "))
	}
	calls := table{Title: "Tool calls", Empty: "It called no tool.", Columns: []string{"Tool", "Arguments", "Result"}}
	for _, c := range said.Calls {
		calls.add(c.Name, text.Visible(c.Parameters), text.Visible(cmp.Or(c.Error, c.Result, c.ShortResult)))
	}
	approvals := table{Title: "Approvals", Empty: "It needed no approval.", Columns: []string{"Tool", "Decision", "By", "Time"}}
	for _, p := range check(a.Store.RecentApprovals(v.Context(), r.Room, mostFound))(v) {
		if p.Run == r.ID {
			approvals.add(fmt.Sprintf("%s (%s)", p.Tool, p.Effect), string(p.Decision), string(p.By), a.clock(p.Decided))
		}
	}
	return view{Title: "Answer", Lead: "What this answer saw and did.", Tables: []table{facts, calls, approvals}}
}
