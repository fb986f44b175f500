package approval

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/text"
)

// askHere asks in the answer itself, where the one who asked may approve.
func (d *Desk) askHere(ctx context.Context, c *action.Call, r chat.Approval, shown string, kinds bool) (refused string, err error) {
	owners, err := d.Rooms(ctx)
	if err != nil {
		return "", err
	}
	owner := c.Turn.Owner
	expires := r.Expires
	if end, ok := ctx.Deadline(); ok && end.Add(-margin).Before(expires) {
		expires = end.Add(-margin)
	}
	q := chat.Question{Options: options(kinds && owner), For: d.approvers(r.Asker, owners, kinds && owner), Expires: expires}
	q, err = c.Choose(ctx, shown, q)
	to, by := chat.Denied, q.By
	switch {
	case err == nil:
		to = decision(q.Options[q.Choice])
		if may, failed := d.mayDecide(ctx, to, by); failed != nil || !may {
			return refusedLine, failed
		}
	case errors.Is(err, chat.ErrUnseen):
		return unseenLine, d.decide(context.WithoutCancel(ctx), r, chat.Stopped, "")
	case errors.Is(err, chat.ErrUnanswered):
		to, refused = chat.Expired, lateLine
	case ctx.Err() != nil:
		return "", errors.Join(context.Cause(ctx), d.stopped(ctx, r))
	default:
		return "", fmt.Errorf("ask for the approval of %s: %w", r.Tool, err)
	}
	if to == chat.Denied {
		refused = refusedLine
	}
	return refused, d.decide(ctx, r, to, by)
}

// stopped records that the turn of r ended first, unless the process ends: the next one asks again.
func (d *Desk) stopped(ctx context.Context, r chat.Approval) error {
	if errors.Is(context.Cause(ctx), chat.ErrShutdown) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := d.decide(ctx, r, chat.Stopped, ""); err != nil {
		d.Log.Warn("an approval can't be closed; it ends by itself", "tool", r.Tool, "err", err)
	}
	return nil
}

// mayDecide reports whether by can make this decision: it was their account that pressed the button, and rights can have changed since.
func (d *Desk) mayDecide(ctx context.Context, to chat.Decision, by chat.EntityID) (bool, error) {
	if to == chat.Always {
		return d.Owns(ctx, by)
	}
	return d.mayApprove(ctx, by)
}

// decide records a decision. If another one was faster, that one counts.
func (d *Desk) decide(ctx context.Context, r chat.Approval, to chat.Decision, by chat.EntityID) error {
	err := d.Store.DecideApproval(ctx, r.ID, chat.Pending, to, by, time.Now())
	return chat.Unless(err, answer.ErrLost)
}

// askOwners asks each owner in their direct chat, and waits until one of them has decided.
func (d *Desk) askOwners(ctx context.Context, c *action.Call, r chat.Approval, shown string, kinds bool) (refused string, err error) {
	rooms, err := d.Rooms(ctx)
	if err != nil {
		return "", err
	}
	if end, ok := ctx.Deadline(); ok && end.Add(-margin).Before(r.Expires) {
		r.Expires = end.Add(-margin)
	}
	where := "in a direct chat on " + text.Label(c.Turn.Room.Connector)
	if !c.Turn.Private {
		where = "in " + text.Label(c.Turn.Room.Name) + " on " + text.Label(c.Turn.Room.Connector)
	}
	line := fmt.Sprintf("%s asks for this %s:\n%s", c.Turn.Speaker(c.Turn.Message), where, shown)
	reached := false
	for owner, room := range rooms {
		err := d.Tell(ctx, chat.Notice{To: chat.Address{Room: room}, Text: line, Key: "approve/" + r.ID, Ask: &chat.Question{
			Options: options(kinds), For: []chat.EntityID{owner}, Expires: r.Expires, Chooser: Handler, Payload: r.ID,
		}})
		if err != nil {
			d.Log.Warn("can't ask the owner for an approval", "account", owner, "err", err)
		}
		reached = reached || err == nil
	}
	if !reached {
		return absentLine, d.decide(ctx, r, chat.Denied, "")
	}
	c.Update("⏳ Waiting for the owner to approve this: " + text.Label(r.Tool))
	refused, err = d.wait(ctx, r)
	c.Update("")
	return refused, err
}

// wait waits until r is decided.
func (d *Desk) wait(ctx context.Context, r chat.Approval) (refused string, err error) {
	for {
		now, err := d.Store.Approval(ctx, r.ID)
		switch {
		case ctx.Err() != nil:
			return "", errors.Join(context.Cause(ctx), d.stopped(ctx, r))
		case err != nil:
			d.Log.Warn("can't check whether a call was approved; trying again", "tool", r.Tool, "err", err)
		case now.Decision == chat.Denied:
			return refusedLine, nil
		case now.Decision != chat.Pending:
			return "", nil
		case !time.Now().Before(r.Expires):
			return lateLine, d.decide(ctx, r, chat.Expired, "")
		}
		select {
		case <-time.After(poll):
		case <-ctx.Done():
		}
	}
}

// What an owner reads after a choice in their direct chat.
const (
	overLine     = "This request has closed."
	notYoursLine = "This choice is not yours to make."
	approvedLine = "Approved."
	deniedLine   = "Denied."
)

// Name implements [action.ChoiceHandler].
func (d *Desk) Name() string { return Handler }

// Chosen implements [action.ChoiceHandler]: an owner has decided.
func (d *Desk) Chosen(ctx context.Context, q chat.Question) (string, error) {
	to := decision(q.Options[q.Choice])
	if may, err := d.mayDecide(ctx, to, q.By); err != nil || !may {
		return notYoursLine, err
	}
	err := d.Store.DecideApproval(ctx, q.Payload, chat.Pending, to, q.By, time.Now())
	if errors.Is(err, answer.ErrLost) {
		now, err := d.Store.Approval(ctx, q.Payload)
		if err != nil || now.By != q.By || now.Decision != to && (to != chat.Approved || now.Decision != chat.Used) {
			return overLine, chat.Unless(err, chat.ErrNotFound)
		}
	} else if err != nil {
		return "", err
	}
	if to == chat.Denied {
		return deniedLine, nil
	}
	return approvedLine, nil
}
