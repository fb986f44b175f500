package admin

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"parley/connectors/web/login"
	"parley/core/chat"
	"parley/core/consent"
	"parley/core/quota"
	"parley/core/text"
	"parley/core/turn"
)

const (
	mostFound    = 100 // rows of a list
	mostSearched = 1000
	mostMessages = 50    // of a room
	maxExcerpt   = 120   // characters of a message in a list
	maxChanged   = 48000 // bytes of arguments, or of an answer
	reviewDays   = 7
)

// requests lists the users who ask for access or for a person, and the calls that wait for an approval.
func (a *Admin) requests(v *visit) view {
	access := table{Title: "Access", Empty: "No one asks for access.", Columns: []string{"Name", "Account", "Since", "Until"}}
	for _, k := range check(a.Store.PairingRequests(v.Context()))(v) {
		if k.ID != "" { // the others are for the future owner
			access.add(k.Name, k.ID.Account(), a.clock(k.Since), a.clock(k.Ends)).countDown(3, k.Ends).button("Approve", "approve", string(k.ID), false).button("Reject", "reject", string(k.ID), true)
		}
	}
	calls := table{Title: "Tool calls", Empty: "No tool call waits for an approval.", Columns: []string{"Tool", "Arguments", "Asked by", "Room", "Until"}}
	for _, p := range check(a.Store.PendingApprovals(v.Context(), mostFound))(v) {
		if time.Now().Before(p.Expires) {
			shown, change := a.arguments(v, p)
			yes, no := "Allow once", "Deny"
			if p.Tool == consent.HeldTool {
				yes, no = "Send", "Discard"
			}
			calls.add(fmt.Sprintf("%s (%s)", p.Tool, p.Effect), shown, account(p.Asker), a.roomName(v, p.Room), a.clock(p.Expires)).
				countDown(4, p.Expires).link(3, "/run", string(p.Run)).button(yes, "allow", p.ID, false).button(no, "deny", p.ID, true).Change = change
		}
	}
	return view{Tables: []table{access, calls, listHandovers(a, v)}}
}

// listHandovers lists the conversations whose users wait for a person or talk to one.
func listHandovers(a *Admin, v *visit) table {
	t := table{Title: "People", Empty: "No one waits for a person or talks to one.", Columns: []string{"User", "Room", "Reason", "State", "Since"}}
	for _, h := range check(a.Gateway.Handovers(v.Context()))(v) {
		r := t.add(h.Name, a.roomName(v, h.Room), h.Why, h.state(), a.clock(h.Since)).link(0, "/talk", string(h.Room)).link(1, "/room", string(h.Room))
		if h.By == "" {
			r.button("Take over", "take over", h.ID, false).Buttons[0].Page = r.Cells[0].Link
			r.button("Close", "hand back", h.ID, true)
		} else {
			r.button("Hand back", "hand back", h.ID, false)
		}
	}
	return t
}

// arguments returns the arguments of a call that waits, or the draft of a held answer, with a form if they can be changed. The record of the approval
// has only their hash.
func (a *Admin) arguments(v *visit, p chat.Approval) (shown string, form *changeForm) {
	if edit := check(a.Gateway.EditOf(v.Context(), p.ID))(v); edit != nil {
		shown, form = string(edit.Arguments), &changeForm{Label: "Arguments, as JSON", Button: "Allow with these arguments"}
	} else if continued := check(a.Store.Continuation(v.Context(), p.Run))(v); turn.HeldText(continued) != "" {
		shown, form = turn.HeldText(continued), &changeForm{Label: "Answer", Button: "Send this text"}
	} else if written, err := a.Gateway.Watch(v.Context(), p.Run); err == nil {
		for _, s := range written.View().Segments {
			if s.Call == p.Call {
				shown = s.Tool.Parameters
			}
		}
	}
	if shown = text.Visible(shown); form != nil {
		form.ID, form.Text = p.ID, shown
		if v.PostForm.Get("do") == "change" && v.PostForm.Get("id") == p.ID {
			form.Open, form.Text = true, v.PostForm.Get("text")
		}
	}
	return shown, form
}

// decide approves or rejects a request. The first decision counts, here or in a chat.
func (a *Admin) decide(v *visit) (string, error) {
	id, do := v.PostForm.Get("id"), v.PostForm.Get("do")
	if to := map[string]chat.Decision{"allow": chat.Approved, "deny": chat.Denied, "change": chat.Amended}[do]; to != "" {
		words := strings.TrimSpace(v.PostForm.Get("text"))
		if to == chat.Amended && (words == "" || len(words) > maxChanged) {
			return "", userError(map[bool]string{true: "Write a text first.", false: "The text is too long."}[words == ""])
		}
		says, refused, err := a.Gateway.DecideCall(v.Context(), id, to, words, accountOf(v.session))
		if err == nil && refused {
			err = userError(says)
		}
		return says, err
	}
	if do == "hand back" {
		return a.Gateway.HandBack(v.Context(), id)
	}
	waiting, err := a.Store.PairingRequests(v.Context())
	i := slices.IndexFunc(waiting, func(k chat.PairingRequest) bool { return string(k.ID) == id })
	switch {
	case err != nil:
		return "", err
	case i < 0 || id == "":
		return "", chat.ErrNotFound
	case do == "approve":
		p, err := a.Gateway.Approve(v.Context(), waiting[i].Code)
		return p.Name + " has access now.", err
	case do == "reject":
		return "They get no answer.", a.Store.Reject(v.Context(), waiting[i].Code)
	}
	return "", chat.ErrNotFound
}

// people lists the people and rooms that a search finds.
func (a *Admin) people(v *visit) view {
	q := strings.TrimSpace(v.URL.Query().Get("q"))
	found, blocked := check(a.Store.FindEntities(v.Context(), strings.Replace(q, ":", "/", 1), mostFound))(v), check(a.Gateway.Blocked(v.Context()))(v)
	for _, id := range slices.Sorted(maps.Keys(blocked)) { // also accounts that never wrote
		if len(found) < 2*mostFound && contains(q, id.Account()) && !slices.ContainsFunc(found, func(e chat.Entity) bool { return e.ID == id }) {
			found = append(found, chat.Entity{ID: id})
		}
	}
	people := table{Title: "People", Empty: "No people found.", Columns: []string{"Name", "Account", "Access"}}
	approved := check(a.Store.People(v.Context()))(v)
	for _, e := range found {
		access, byFile := string(check(a.Gateway.Role(v.Context(), e.ID))(v)), blocked[e.ID]
		_, out := blocked[e.ID]
		if access == "" && slices.ContainsFunc(approved, func(p chat.Person) bool { return p.ID == e.ID }) {
			access = "approved"
		}
		if out {
			access = "blocked"
		}
		switch r := people.add(e.Name(), account(e.ID), access); {
		case out && !byFile:
			r.button("Unblock", "unblock", string(e.ID), false)
		case !out && blocked != nil && (access == "" || access == "approved"):
			r.button("Block", "block", string(e.ID), true)
		}
	}
	rooms := table{Title: "Rooms", Empty: "No rooms found.", Columns: []string{"Room", "Platform", "Last message", "By"}}
	for _, r := range check(a.Store.ListRooms(v.Context(), q, mostFound))(v) {
		rooms.add(cmp.Or(r.Name, shortID(string(r.ID))), r.Connector, a.clock(r.At), r.AuthorName).link(0, "/room", string(r.ID))
	}
	return view{Lead: fmt.Sprintf("The last %d people and rooms, and as many blocked people. Search finds all.", mostFound), Search: &q, Tables: []table{people, rooms}}
}

// block blocks or unblocks an account.
func (a *Admin) block(v *visit) (string, error) {
	id, do := chat.EntityID(v.PostForm.Get("id")), v.PostForm.Get("do")
	role, err := a.Gateway.Role(v.Context(), id)
	if err == nil && (role != "" || id == "" || do != "block" && do != "unblock") {
		err = userError("Owners and staff can't be blocked here. Change people in the configuration.")
	}
	if err == nil {
		err = a.Gateway.SetBlocked(v.Context(), id, accountOf(v.session), do == "block")
	}
	return map[string]string{"block": "They are blocked.", "unblock": "They are no longer blocked."}[do], err
}

// contains reports whether one of texts contains q, regardless of case.
func contains(q string, texts ...string) bool {
	return slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(strings.ToLower(s), strings.ToLower(q)) })
}

// room shows the last messages of a room, newest first.
func (a *Admin) room(v *visit) view {
	id := chat.RoomID(v.URL.Query().Get("id"))
	t := table{Title: "Messages", Empty: "This room has no messages.", Columns: []string{"Time", "By", "Text"}}
	for _, m := range slices.Backward(check(a.Store.Recent(v.Context(), id, chat.Said, 0, mostMessages))(v)) {
		by, said := m.ByPerson()
		if by == "" {
			by, said = cmp.Or(m.Name, account(m.Author)), m.PromptText()
		}
		r := t.add(a.clock(m.At), by, text.Visible(said)).attach(2, m)
		if _, ok := chat.TurnOf(m.ID); ok && m.Author == a.Agent.Entity() {
			r.link(0, "/run", string(m.ID))
		}
	}
	return view{Title: "Room", Lead: a.roomName(v, id), Tables: []table{t}}
}

// runs lists the newest answers, with their questions.
func (a *Admin) runs(v *visit) view {
	t := table{Title: "Answers", Empty: "Nothing was answered yet.", Columns: []string{"Time", "Room", "By", "Question", "Outcome"}}
	for _, r := range check(a.Store.RunsSince(v.Context(), time.Time{}, chat.AnyState, mostFound))(v) {
		a.addRun(v, &t, r)
	}
	return view{Lead: fmt.Sprintf("The newest %d.", mostFound), Tables: []table{t}}
}

func (a *Admin) addRun(v *visit, t *table, r chat.Run) {
	question, author := a.question(v, r)
	t.add(a.clock(r.Opened), a.roomName(v, r.Room), author, question, r.State()).link(0, "/run", string(r.ID)).link(1, "/room", string(r.Room))
}

// question returns the beginning of the newest message that a run answers, "" if it was deleted, and its author.
func (a *Admin) question(v *visit, r chat.Run) (question, author string) {
	if len(r.Inputs) == 0 {
		return "", account(r.Author)
	}
	m := check(a.Store.Memory(v.Context(), r.Inputs[len(r.Inputs)-1]))(v)
	return text.Brief(text.Visible(m.Text), maxExcerpt), cmp.Or(m.Name, account(r.Author))
}

// clock returns a time for readers.
func (a *Admin) clock(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.In(a.Zone).Format(time.DateTime)
}

// roomName returns the name of a room, or else its id.
func (a *Admin) roomName(v *visit, id chat.RoomID) string {
	room := check(a.Store.Room(v.Context(), id))(v)
	return cmp.Or(room.Name, shortID(string(id)))
}

// shortID returns an id without the end of the id of a web conversation, which gives access to it.
func shortID(id string) string {
	if rest, ok := strings.CutPrefix(id, "web/"); ok && len(rest) >= 32 {
		return "web/" + rest[:8] + "…"
	}
	return id
}

// account returns an account as the configuration has it, shortened like shortID.
func account(id chat.EntityID) string { return chat.EntityID(shortID(string(id))).Account() }

// review lists the questions of the last days that were not answered, and the answers that visitors rated down.
func (a *Admin) review(v *visit) view {
	since := time.Now().AddDate(0, 0, -reviewDays)
	failed := table{Title: "Not answered", Empty: "All questions were answered.", Columns: []string{"Time", "Room", "By", "Question", "Outcome"}}
	for _, r := range check(a.Store.RunsSince(v.Context(), since, chat.FailedRuns, mostSearched))(v) {
		a.addRun(v, &failed, r)
	}
	down := table{Title: "Rated down", Empty: "No answer was rated down.", Columns: []string{"Time", "Room", "Answer", "Reason"}}
	for _, n := range check(a.Store.NotesSince(v.Context(), chat.FeedbackNote, since, mostSearched))(v) {
		var is struct{ Rating, Reason string }
		if json.Unmarshal([]byte(n.Text), &is) == nil && is.Rating == "down" {
			m := check(a.Store.Memory(v.Context(), n.First))(v)
			down.add(a.clock(n.At), a.roomName(v, n.Room), text.Brief(text.Visible(m.Text), maxExcerpt), is.Reason).link(0, "/run", string(n.First))
		}
	}
	return view{Lead: "The last seven days.", Tables: []table{failed, down}}
}

// spending shows the cost of each day, and of this month by model, person and room.
func (a *Admin) spending(v *visit) (shown view) {
	now := time.Now().In(a.Zone)
	list := func(title string, columns ...string) *table {
		shown.Tables = append(shown.Tables, table{Title: title, Empty: "Nothing was used.", Columns: append(columns, "Tokens in", "Tokens out", "US dollars")})
		return &shown.Tables[len(shown.Tables)-1]
	}
	add := func(t *table, used quota.Total, cells ...string) {
		t.add(append(cells, fmt.Sprint(used.Input), fmt.Sprint(used.Output), used.Price())...)
	}
	days := list("Days", "Day", "Messages")
	for n := range quota.KeptDays {
		day := now.AddDate(0, 0, -n).Format(time.DateOnly)
		for _, used := range check(a.Store.Used(v.Context(), day, day, "total"))(v) {
			add(days, used, day, fmt.Sprint(used.Messages))
		}
	}
	month := func(by string) []quota.Total {
		all := check(a.Store.Used(v.Context(), now.Format("2006-01")+"-01", now.Format(time.DateOnly), by+"/*"))(v)
		slices.SortFunc(all, func(x, y quota.Total) int { return cmp.Or(cmp.Compare(y.USD, x.USD), cmp.Compare(y.Input, x.Input)) })
		return all[:min(len(all), mostFound)]
	}
	models := list("This month by model", "Model") // one message can use several: they count no messages
	for _, used := range month("model") {
		add(models, used, strings.TrimPrefix(used.Bucket, "model/"))
	}
	people := list("This month by person", "Person", "Account", "Messages")
	for _, used := range month("person") {
		id := chat.EntityID(strings.TrimPrefix(used.Bucket, "person/"))
		add(people, used, check(a.Store.Entity(v.Context(), id))(v).Name(), account(id), fmt.Sprint(used.Messages))
	}
	rooms := list("This month by room", "Room", "Messages")
	for _, used := range month("room") {
		add(rooms, used, a.roomName(v, chat.RoomID(strings.TrimPrefix(used.Bucket, "room/"))), fmt.Sprint(used.Messages))
	}
	return shown
}

// health shows the connections and services, and the gateways that share the store.
func (a *Admin) health(v *visit) view {
	parts := table{Title: "Services", Columns: []string{"Part", "State"}}
	var own []string // connections of this gateway, which needs no leases if it is the only one
	for _, h := range a.Gateway.Health(v.Context()) {
		if h.Connection && h.OK {
			own = append(own, h.Part)
		}
		parts.add(h.Part, h.State).Cells[1].Class = map[bool]string{true: "good", false: "bad"}[h.OK]
	}
	fleet := check(a.Store.Replicas(v.Context()))(v)
	replicas := table{Title: "Gateways", Empty: "None.", Columns: []string{"Name", "Answers in progress", "Connections"}}
	for _, r := range fleet.Replicas {
		var held []string
		for _, l := range fleet.Leases {
			if l.Owner == r.Owner {
				held = append(held, l.Name)
			}
		}
		if len(fleet.Leases) == 0 && len(fleet.Replicas) == 1 {
			held = own
		}
		replicas.add(r.Owner, fmt.Sprint(r.Runs), strings.Join(held, ", "))
	}
	return view{Lead: fmt.Sprintf("Answers that wait for a gateway: %d.", fleet.Waiting), Tables: []table{parts, replicas}}
}

// tasks lists the schedules and hooks.
func (a *Admin) tasks(*visit) view {
	t := table{Title: "Schedules and hooks", Empty: "The configuration has no schedules and hooks.", Columns: []string{"Name", "Kind", "When", "Room", "Text"}}
	for _, one := range a.Gateway.Tasks() {
		t.add(one.Name, one.Kind, one.When, one.Room, one.Text).button("Run now", "run", one.Kind+"/"+one.Name, false)
	}
	return view{Tables: []table{t}}
}

// runTask starts a schedule or a hook.
func (a *Admin) runTask(v *visit) (string, error) {
	kind, name, _ := strings.Cut(v.PostForm.Get("id"), "/")
	if !slices.ContainsFunc(a.Gateway.Tasks(), func(t Task) bool { return t.Kind == kind && t.Name == name }) {
		return "", chat.ErrNotFound
	}
	err := a.Gateway.RunTask(v.Context(), kind, name)
	if errors.Is(err, chat.ErrUnreached) || errors.Is(err, chat.ErrNotFound) {
		err = userError("The agent does not know the room of this task. Write to it there first.")
	}
	return "Started.", err
}

// auditLog shows who changed what, and the sessions.
func (a *Admin) auditLog(v *visit) view {
	sessions := table{Title: "Sessions", Columns: []string{"Who", "Role", "Browser", "Since", "Until"}}
	for _, s := range check(a.sessions.List(v.Context()))(v) {
		sessions.add(s.Who, s.Role, s.Device, a.clock(s.Since), a.clock(s.Ends)).button("Revoke", "revoke", s.ID, true)
	}
	changes := table{Title: "Changes", Empty: "Nothing was changed.", Columns: []string{"Time", "Who", "From", "What", "About"}}
	for _, e := range slices.Backward(check(login.Read[[]entry](v.Context(), a.Memo, auditName))(v)) {
		changes.add(a.clock(e.At), e.Who, e.From, e.What, e.About)
	}
	return view{Tables: []table{sessions, changes}}
}

// revoke ends a session.
func (a *Admin) revoke(v *visit) (string, error) {
	return "The session has ended.", a.sessions.End(v.Context(), v.PostForm.Get("id"))
}
