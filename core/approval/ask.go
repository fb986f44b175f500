package approval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/text"
)

// matter begins what runs wait for that wait for an approval ([action.Wait].For); its id follows.
const matter = "approval/"

// askHere asks in the answer itself, where the user who asked may approve. The run waits: [chat.ErrParked]. Only an
// owner is offered the option for all calls.
func (d *Desk) askHere(ctx context.Context, c *action.Call, r chat.Approval, shown string, offered []string) (refused string, err error) {
	owners, err := d.Rooms(ctx)
	if err != nil {
		return "", err
	}
	q := chat.Question{Options: offered, For: d.approvers(r.Asker, owners, slices.Contains(offered, always))}
	err = c.Park(ctx, shown+"\n\n⏳ Waiting for an approval.", action.Wait{For: matter + r.ID, Until: r.Expires, Lasting: true, Ask: &q})
	switch {
	case errors.Is(err, chat.ErrUnseen):
		return unseenLine, d.decide(context.WithoutCancel(ctx), r, chat.Stopped, "")
	// The turn was superseded or stopped while the question was being shown.
	case ctx.Err() != nil:
		return "", errors.Join(context.Cause(ctx), d.stopped(ctx, r))
	}
	return "", err
}

// waitReplaced has the run of r wait without options, as long as the request that replaced r is not decided: [chat.ErrParked].
func (d *Desk) waitReplaced(ctx context.Context, c *action.Call, r chat.Approval, shown string, inPlace bool) error {
	line := "⏳ A later request has replaced this one."
	if inPlace {
		line = shown + "\n\n" + line
	}
	err := c.Park(ctx, line, action.Wait{For: matter + r.ID, Until: r.Expires, Lasting: true})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// chosenHere records what was chosen in the answer itself. Rights can have changed since the question was asked: then
// the choice counts as a denial.
func (d *Desk) chosenHere(ctx context.Context, r chat.Approval, q chat.Question) error {
	to, by := decision(q.Options[q.Choice]), q.By
	may, err := d.mayDecide(ctx, to, by)
	if err != nil {
		return err
	}
	if !may {
		to, by = chat.Denied, ""
	} else if q.Options[q.Choice] == both {
		if err := d.keep(ctx, r); err != nil {
			return err
		}
	}
	return d.decide(ctx, r, to, by)
}

// stopped records that the turn of r ended first, unless the run is made again by this process or the next one: it asks
// again then. A failure is only logged, because the approval expires by itself.
func (d *Desk) stopped(ctx context.Context, r chat.Approval) error {
	if cause := context.Cause(ctx); errors.Is(cause, chat.ErrShutdown) || errors.Is(cause, answer.ErrLost) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := d.decide(ctx, r, chat.Stopped, ""); err != nil {
		d.Log.Warn("an approval can't be closed; it ends by itself", "tool", r.Tool, "err", err)
	}
	return nil
}

// Abandon closes the approval that a run has waited for, if the run waited for an approval and it is undecided. The approval
// that it replaced waits again.
func (d *Desk) Abandon(ctx context.Context, waitedFor string) error {
	id, ok := strings.CutPrefix(waitedFor, matter)
	if !ok {
		return nil
	}
	r, err := d.Store.Approval(ctx, id)
	replaced := false
	switch {
	case err != nil:
		return chat.Unless(err, chat.ErrNotFound)
	case r.Decision == chat.Replaced:
		replaced, err = d.isReplaced(ctx, r)
	case r.Decision == chat.Pending:
		err = d.keep(ctx, r)
	}
	if err == nil && replaced { // it can't wait again
		err = chat.Unless(d.Store.DecideApproval(ctx, id, chat.Replaced, chat.Stopped, "", time.Now()), answer.ErrLost)
	}
	if err != nil {
		return err
	}
	return d.decide(ctx, r, chat.Stopped, "")
}

// mayDecide reports whether by can make this decision: it was their account that pressed the button, and rights can have changed since.
func (d *Desk) mayDecide(ctx context.Context, to chat.Decision, by chat.EntityID) (bool, error) {
	if to == chat.Always {
		return d.Owns(ctx, by)
	}
	return d.mayApprove(ctx, by)
}

// decide records a decision. If another one was faster, that one counts, and decide returns nil. The owners can't decide it any more.
func (d *Desk) decide(ctx context.Context, r chat.Approval, to chat.Decision, by chat.EntityID) error {
	err := d.Store.DecideApproval(ctx, r.ID, chat.Pending, to, by, time.Now())
	d.closeCards(ctx, r)
	return chat.Unless(err, answer.ErrLost)
}

// askOwners asks each owner in their direct chat. The run waits: [chat.ErrParked]. The first decision counts. The
// notice has a key, so that a repetition after a crash does not ask twice. If no owner can be reached, the call is
// denied at once.
func (d *Desk) askOwners(ctx context.Context, c *action.Call, t *action.Tool, r chat.Approval, shown string, offered []string) (refused string, err error) {
	rooms, err := d.Rooms(ctx)
	if err != nil {
		return "", err
	}
	where := "in a direct chat on " + text.Label(c.Turn.Room.Connector)
	if !c.Turn.Private {
		where = "in " + text.Label(c.Turn.Room.Name) + " on " + text.Label(c.Turn.Room.Connector)
	}
	line := fmt.Sprintf("%s asks for this %s:\n%s", c.Turn.Speaker(c.Turn.Message), where, shown)
	reached := false
	for owner, room := range rooms {
		err := d.Tell(ctx, chat.Notice{To: chat.Address{Room: room}, Text: line, Key: card(r), Ask: &chat.Question{
			Options: offered, For: []chat.EntityID{owner}, Expires: r.Expires, Chooser: Handler, Payload: r.ID,
		}})
		if err != nil {
			d.Log.Warn("can't ask the owner for an approval", "account", owner, "err", err)
		}
		reached = reached || err == nil
	}
	if !reached {
		return absentLine, d.decide(ctx, r, chat.Denied, "")
	}
	waiting := "⏳ Waiting for the owner's approval."
	if !t.Def.Hide {
		waiting = "⏳ Waiting for the owner to approve this: " + t.Def.Title()
	}
	err = c.Park(ctx, waiting, action.Wait{For: matter + r.ID, Until: r.Expires, Lasting: true})
	if ctx.Err() != nil {
		return "", errors.Join(context.Cause(ctx), d.stopped(ctx, r))
	}
	return "", err
}

// What an owner reads after a choice in their direct chat.
const (
	overLine     = "This request has closed."
	laterLine    = "A later request has replaced this one."
	notYoursLine = "This choice is not yours to make."
	approvedLine = "Approved."
	deniedLine   = "Denied."
)

// Name implements [action.ChoiceHandler].
func (d *Desk) Name() string { return Handler }

// Chosen implements [action.ChoiceHandler]: an owner has decided. The run that waits goes on. The result is what the
// owner reads. It may be called again for the same choice after a crash, and then reports the same as before.
func (d *Desk) Chosen(ctx context.Context, q chat.Question) (string, error) {
	to := decision(q.Options[q.Choice])
	if may, err := d.mayDecide(ctx, to, q.By); err != nil || !may {
		return notYoursLine, err
	}
	asked, err := d.Store.Approval(ctx, q.Payload)
	if err == nil && q.Options[q.Choice] == both && asked.Decision == chat.Pending {
		err = d.keep(ctx, asked)
	}
	if chat.Unless(err, chat.ErrNotFound) != nil {
		return "", err
	}
	err = d.Store.DecideApproval(ctx, q.Payload, chat.Pending, to, q.By, time.Now())
	if chat.Unless(err, answer.ErrLost) != nil {
		return "", err
	}
	now, found := d.Store.Approval(ctx, q.Payload)
	switch {
	case errors.Is(found, chat.ErrNotFound):
		return overLine, nil
	case found != nil:
		return "", found
	case err != nil && now.Decision == chat.Replaced:
		return laterLine, nil
	// A decision that can't be made any more: it is the same one repeated, or another was faster.
	case err != nil && (now.By != q.By || now.Decision != to && (to != chat.Approved || now.Decision != chat.Used)):
		return overLine, nil
	}
	if err := d.Wake(ctx, now.Run, now.Room); err != nil {
		return "", err
	}
	d.closeCards(ctx, asked)
	if to == chat.Denied {
		return deniedLine, nil
	}
	return approvedLine, nil
}
