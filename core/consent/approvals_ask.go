package consent

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/text"
	"parley/internal/lang"
)

// approvalSubject begins the reasons of waits for an approval ([action.Wait].For); its id follows.
const approvalSubject = "approval/"

// askHere asks in the answer itself, because its user may approve. It parks the run ([chat.ErrParked]). Only an owner
// gets the option for all calls.
func (ap *Approvals) askHere(ctx context.Context, c *action.Call, r chat.Approval, d described, offered []string) (refused string, err error) {
	from, err := ap.approvers(ctx, r.Asker, slices.Contains(offered, always))
	if err != nil {
		return "", err
	}
	state, err := Ask(ctx, c, Request{
		Subject: approvalSubject + r.ID, Description: d.shown(lang.Of(ctx)) + "\n\n" + lang.Say(ctx, "approval.waiting_here"), Details: d.hidden, Edit: d.edit, Options: said(lang.Of(ctx), offered), Other: lang.Say(ctx, "approval.reason"), Approval: true,
		From: from, Until: r.Expires, Lasting: true,
	})
	if state == Unseen {
		return unseenLine, ap.decide(context.WithoutCancel(ctx), r, chat.Stopped, "")
	}
	ap.closeIfEnded(ctx, r)
	return "", err
}

// waitReplaced parks the run of r without options until the request that replaced r is decided ([chat.ErrParked]).
func (ap *Approvals) waitReplaced(ctx context.Context, c *action.Call, r chat.Approval, shown func(lang.Voice) string, inPlace bool) error {
	line := "⏳ " + lang.Say(ctx, "approval.later")
	if inPlace {
		line = shown(lang.Of(ctx)) + "\n\n" + line
	}
	_, err := Ask(ctx, c, Request{Subject: approvalSubject + r.ID, Description: line, Until: r.Expires, Lasting: true})
	return err
}

// recordChoice records the option that was chosen in the answer itself. Rights can have changed since the question was
// asked: then the choice counts as a denial. It fails with the error of the store.
func (ap *Approvals) recordChoice(ctx context.Context, s action.TurnContext, r chat.Approval, q chat.Question) error {
	to, by := decisionOf(q), q.By
	may, err := ap.mayDecide(ctx, to, by)
	if err != nil {
		return err
	}
	if !may && (to == chat.Always || !s.Staff || by != s.Message.Author) { // staff by a role, which comes only with messages
		to, by = chat.Denied, ""
	} else if lang.Is(both, q.Options[q.Choice]) {
		if err := ap.restoreReplaced(ctx, r); err != nil {
			return err
		}
	}
	if ap.Audit != nil {
		ap.Audit(ctx, q.By, string(to), audited(q, r))
	}
	at, err := ap.words().chosenAt(ctx, q)
	if err != nil {
		return err
	}
	return decideAt(ctx, ap, r, to, by, at)
}

// closeIfEnded records that the turn of r ended during the question, unless this process or the next one repeats the
// run: it asks again then. A failure is only logged, because the approval expires by itself.
func (ap *Approvals) closeIfEnded(ctx context.Context, r chat.Approval) {
	cause := context.Cause(ctx)
	if cause == nil || errors.Is(cause, chat.ErrShutdown) || errors.Is(cause, answer.ErrLost) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := ap.decide(ctx, r, chat.Stopped, ""); err != nil {
		ap.Log.Warn("an approval can't be closed; it ends by itself", "tool", r.Tool, "err", err)
	}
}

// Abandon closes the undecided approvals of a run that ends, if any: that which it has waited for, and those that it has asked for before it waited. The calls that they replaced are asked about again; if an approval was decided, the run of such a call ends. It fails with the
// error of the store.
func (ap *Approvals) Abandon(ctx context.Context, run chat.Run, waitedFor string) error {
	all, err := openRequests(ctx, ap.Store, run.Room)
	if id, ok := strings.CutPrefix(waitedFor, approvalSubject); ok && err == nil {
		err = ap.abandon(ctx, id)
	}
	for _, r := range all {
		if err == nil && r.Run == run.ID && approvalSubject+r.ID != waitedFor {
			err = ap.abandon(ctx, r.ID)
		}
	}
	return err
}

func (ap *Approvals) abandon(ctx context.Context, id string) error {
	r, err := ap.Store.Approval(ctx, id)
	replaced := false
	switch {
	case err != nil:
		return chat.Unless(err, chat.ErrNotFound)
	case r.Decision == chat.Replaced:
		replaced, err = isReplaced(ctx, ap.Store, r)
	case r.Decision == chat.Pending, r.Decision == chat.Stopped:
		err = ap.restoreReplaced(ctx, r)
	default: // the run ended before it could do so itself
		err = ap.endReplaced(ctx, r)
	}
	if err == nil && replaced { // it can't wait again
		err = chat.Unless(ap.Store.DecideApproval(ctx, id, chat.Replaced, chat.Stopped, "", time.Now()), answer.ErrLost)
	}
	if err != nil {
		return err
	}
	return ap.decide(ctx, r, chat.Stopped, "")
}

// Decided reports whether the approval that a run waits for needs no decision any more. It fails with the error of the store.
func (ap *Approvals) Decided(ctx context.Context, waitedFor string) (bool, error) {
	id, ok := strings.CutPrefix(waitedFor, approvalSubject)
	if !ok {
		return false, nil
	}
	r, err := ap.Store.Approval(ctx, id)
	waits := r.Decision == chat.Pending
	if err == nil && r.Decision == chat.Replaced {
		waits, err = isReplaced(ctx, ap.Store, r)
	}
	return err == nil && !waits, chat.Unless(err, chat.ErrNotFound)
}

// mayDecide reports whether by can make this decision: by is the account that pressed the button, and rights can have
// changed since. It fails with the error of the store.
func (ap *Approvals) mayDecide(ctx context.Context, to chat.Decision, by chat.EntityID) (bool, error) {
	if to == chat.Always {
		return ap.Owners.Owns(ctx, by)
	}
	return ap.Owners.IsStaff(ctx, by, chat.Address{})
}

// decide records a decision. If another one was faster, that one counts, and decide returns nil. It closes the notices
// to the owners. It fails with the error of the store.
func (ap *Approvals) decide(ctx context.Context, r chat.Approval, to chat.Decision, by chat.EntityID) error {
	return decideAt(ctx, ap, r, to, by, time.Now())
}

// decideAt is decide for a decision of this time.
func decideAt(ctx context.Context, ap *Approvals, r chat.Approval, to chat.Decision, by chat.EntityID, at time.Time) error {
	err := ap.Store.DecideApproval(ctx, r.ID, chat.Pending, to, by, at)
	return errors.Join(chat.Unless(err, answer.ErrLost), ap.closeCards(ctx, r))
}

// asker returns the name of the user who asked, as an approver reads it.
func asker(ctx context.Context, c *action.Call) string {
	if text.Label(c.Turn.Message.Name) == "" {
		return lang.Say(ctx, "person.visitor")
	}
	return c.Turn.Speaker(c.Turn.Message)
}

// askOwners asks each owner and each member of the staff in their direct chat, and parks the run ([chat.ErrParked]). The first decision
// counts. The notice has a key, so that a repetition after a crash does not ask twice. If none of them can be reached, the call is denied at
// once.
func (ap *Approvals) askOwners(ctx context.Context, c *action.Call, t *action.Tool, r chat.Approval, d described, offered []string) (refused string, err error) {
	where := "approval.ask_direct"
	if !c.Turn.Private {
		where = "approval.ask_room"
	}
	reached, err := ap.tellApprovers(ctx, r, func(ctx context.Context, owner chat.EntityID) (string, chat.Question, error) {
		line := lang.Say(ctx, where, "user", asker(ctx, c), "room", text.Label(c.Turn.Room.Name), "platform", text.Label(c.Turn.Room.Connector)) + "\n" + d.shown(lang.Of(ctx))
		own, err := offeredTo(ctx, ap.Owners, owner, offered)
		return line, chat.Question{Options: said(lang.Of(ctx), own), Other: lang.Say(ctx, "approval.reason"), Edit: d.edit}, err
	})
	if err != nil {
		return "", err
	}
	if !reached {
		if d.public != "" {
			c.Update(d.public + "\n\n" + lang.Say(ctx, "approval.unreached"))
		}
		return absentLine, ap.decide(ctx, r, chat.Denied, "")
	}
	waiting := lang.Say(ctx, "approval.waiting")
	if d.public != "" {
		waiting = d.public + "\n\n" + waiting
	} else if !t.Def.Hide {
		waiting = lang.Say(ctx, "approval.waiting_for", "tool", t.Def.Title())
	}
	_, err = Ask(ctx, c, Request{Subject: approvalSubject + r.ID, Description: waiting, Until: r.Expires, Lasting: true})
	ap.closeIfEnded(ctx, r)
	return "", err
}

// tellApprovers sends the card of r to each owner and each member of the staff, with the text and the question that describe returns in their
// language. reached reports whether one of them can read it, or r on the operator's page. It fails with the error of describe or the store.
func (ap *Approvals) tellApprovers(ctx context.Context, r chat.Approval, describe func(context.Context, chat.EntityID) (string, chat.Question, error)) (reached bool, err error) {
	rooms, err := ap.Owners.StaffRooms(ctx)
	if err != nil {
		return false, err
	}
	for owner, room := range rooms {
		ctx := ap.Owners.Speak(ctx, owner)
		line, q, err := describe(ctx, owner)
		if err != nil {
			return false, err
		}
		line += "\n\n🕒 " + lang.Say(ctx, "approval.until", "time", until(r, ap.Zone))
		q.Approval, q.For, q.Expires, q.Handler, q.Payload = true, []chat.EntityID{owner}, r.Expires, Handler, r.ID
		if err = ap.Tell(ctx, chat.Notice{To: chat.Address{Room: room}, Text: line, Key: card(r), Ask: &q}); err != nil {
			ap.Log.Warn("can't ask for an approval", "account", owner, "err", err)
		}
		reached = reached || err == nil
	}
	if !reached && ap.Page != nil {
		return ap.Page(ctx)
	}
	return reached, nil
}

// until returns the end of the wait for r, with its day if that is a later one than the day of the request.
func until(r chat.Approval, zone *time.Location) string {
	zone = cmp.Or(zone, time.UTC)
	at, end, layout := r.At.In(zone), r.Expires.In(zone), "15:04"
	if at.YearDay() != end.YearDay() {
		layout = "2006-01-02 15:04"
	}
	return end.Format(layout)
}

// offeredTo returns the options of the card of an approver: only owners approve all calls of a kind. It fails with the error of the store.
func offeredTo(ctx context.Context, owners Owners, approver chat.EntityID, offered []string) ([]string, error) {
	owns, err := owners.Owns(ctx, approver)
	return slices.DeleteFunc(slices.Clone(offered), func(o string) bool { return o == always && !owns }), err
}

// audited returns the description of a decision about r in the audit log: the tool, and the arguments before and after a change.
func audited(q chat.Question, r chat.Approval) string {
	changed, ok := chat.EditIn(q.Options[q.Choice])
	if q.Edit == nil || !ok {
		return r.Tool
	}
	return r.Tool + ": " + text.Brief(string(q.Edit.Arguments), maxAudited) + " → " + text.Brief(string(changed), maxAudited)
}

const maxAudited = 1500 // characters of arguments

// Retired implements [action.RetiredHandler]: the card of an approver shows the decision of another one.
func (ap *Approvals) Retired(ctx context.Context, q chat.Question) (string, error) {
	r, err := ap.Store.Approval(ctx, q.Payload)
	if err != nil {
		return "", chat.Unless(err, chat.ErrNotFound)
	}
	key := ""
	switch r.Decision {
	case chat.Approved, chat.Amended, chat.Used, chat.Always, chat.Lapsed:
		key = "approval.approved_by"
	case chat.Denied:
		key = "approval.denied_by"
	case chat.Expired:
		return lang.Say(ctx, "approval.expired"), nil
	case chat.Replaced:
		return lang.Say(ctx, "approval.later"), nil
	}
	if key == "" || r.By == "" {
		return lang.Say(ctx, "approval.over"), nil
	}
	name, changed := text.Label(ap.Owners.Name(ctx, r.By)), ""
	if r.Tool == HeldTool {
		key = map[bool]string{true: "hold.denied_by", false: "hold.approved_by"}[r.Decision == chat.Denied]
	} else if said, err := ap.words().elsewhere(ctx, r); err != nil {
		return "", err
	} else if arguments, ok := chat.EditIn(said); ok && r.Decision != chat.Denied {
		quoted, _ := Quote(string(arguments))
		key, changed = "approval.changed_by", "\n```\n"+quoted+"\n```"
	}
	return lang.Say(ctx, key, "user", name) + changed, nil
}

// Name implements [action.ChoiceHandler].
func (ap *Approvals) Name() string { return Handler }

// Chosen implements [action.ChoiceHandler]: an owner has decided, and the waiting run continues. It returns the reply
// to the owner. After a crash it can be called again for the same choice, and then returns the same reply. It fails with [chat.Refused] if another
// decision counts.
func (ap *Approvals) Chosen(ctx context.Context, q chat.Question) (string, error) {
	to := decisionOf(q)
	if may, err := ap.mayDecide(ctx, to, q.By); err != nil || !may {
		return "", chat.Refuse(lang.Say(ctx, "choice.not_yours"), err)
	}
	asked, err := ap.Store.Approval(ctx, q.Payload)
	if err == nil && lang.Is(both, q.Options[q.Choice]) && asked.Decision == chat.Pending {
		err = ap.restoreReplaced(ctx, asked)
	}
	if chat.Unless(err, chat.ErrNotFound) != nil {
		return "", err
	}
	at, err := ap.words().chosenAt(ctx, q)
	if err == nil && to == chat.Amended && q.Run == "" && asked.Decision == chat.Pending {
		err = keepWritten(ctx, ap.Notes, asked, q, at)
	}
	if err != nil {
		return "", err
	}
	err = ap.Store.DecideApproval(ctx, q.Payload, chat.Pending, to, q.By, at)
	if chat.Unless(err, answer.ErrLost) != nil {
		return "", err
	}
	now, found := ap.Store.Approval(ctx, q.Payload)
	repeated, failed := ap.words().isDecision(ctx, q, to, now)
	switch {
	case failed != nil:
		return "", failed
	case errors.Is(found, chat.ErrNotFound):
		return "", chat.Refused(lang.Say(ctx, "approval.over"))
	case found != nil:
		return "", found
	case err != nil && now.Decision == chat.Replaced:
		return "", chat.Refused(lang.Say(ctx, "approval.later"))
	case err != nil && !repeated: // another one was faster
		decided, err := ap.Retired(ctx, q)
		if over := lang.Say(ctx, "approval.over"); decided != over {
			decided = over + "\n" + decided
		}
		return "", chat.Refuse(strings.TrimSpace(decided), err)
	}
	if err == nil && q.Run != "" && ap.Audit != nil { // not by the operator's page, which records its forms
		ap.Audit(ctx, q.By, string(to), audited(q, now))
	}
	if err := ap.Runs.Continue(ctx, now.Run, now.Room); err != nil {
		return "", err
	}
	if err := ap.closeCards(ctx, asked); err != nil {
		return "", err
	}
	key := map[bool]string{true: "approval.denied", false: "approval.approved"}[to == chat.Denied]
	if now.Tool == HeldTool {
		key = map[bool]string{true: "hold.denied", false: "hold.approved"}[to == chat.Denied]
	}
	return lang.Say(ctx, key), nil
}
