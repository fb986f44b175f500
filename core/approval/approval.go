// Package approval asks people whether calls of actions may be made, and records what they decide. A call that needs an
// approval is made only after a user who may approve has chosen so, once for this call, or for all calls of its kind in
// this room.
//
// Where everyone who is answered may approve, the question is a part of the answer itself; otherwise the owners are
// asked in their direct chats. Either way the run is parked meanwhile. When it goes on, it makes the same call again,
// and [Desk.Approve] finds the record with its decision by an id that is computed from the call.
//
// The decision is taken from the account that pressed the button, never from text, and checked again when it is
// recorded. An approval is used once, in the store: a call that was approved and started before a crash is not started
// again. What can't be shown completely can't be approved.
package approval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/storage"
	"parley/core/text"
)

// Handler is the name of the handler of what approvers choose in their direct chats. It is stored with questions.
const Handler = "approve call"

// Policy defines who may approve, and for how long.
type Policy struct {
	Users   map[chat.EntityID]bool // may approve single calls, in addition to the owners
	Timeout time.Duration          // how long a run waits; 0 is an hour
}

// Waits returns how long a run waits for a decision.
func (p Policy) Waits() time.Duration { return cmp.Or(p.Timeout, usual) }

// A Desk asks for approvals and records them. Its fields are set before use. It is safe for concurrent use, also by
// several processes with one store: the store makes each decision once.
type Desk struct {
	Policy
	Store storage.Approvals
	// Owns reports whether an account owns the agent.
	Owns func(ctx context.Context, id chat.EntityID) (bool, error)
	// Rooms returns the direct chats of the owners, as far as they are known.
	Rooms func(ctx context.Context) (map[chat.EntityID]chat.RoomID, error)
	// Tell sends a notice, which can hold a question.
	Tell func(ctx context.Context, n chat.Notice) error
	// Wake has a run go on that waits for an approval.
	Wake func(ctx context.Context, run chat.RunID, room chat.RoomID) error
	// End ends a run whose request was replaced.
	End func(ctx context.Context, run chat.RunID, room chat.RoomID) error
	// Close takes the options of the notice with key in room away, if there is such a notice and it has not been answered.
	Close func(ctx context.Context, room chat.RoomID, key string) error
	// Amend changes the text of the notice with key in room to what add returns, if there is such a notice and add returns true. below reports
	// that its message can't be edited.
	Amend func(ctx context.Context, room chat.RoomID, key string, add func(card string) (string, bool)) (below bool, err error)
	Log   *slog.Logger
}

// The options, in their order.
const (
	once   = "Once"
	both   = "Once, keep both" // this call, and the request that it replaces stays open
	always = "Always here"
	deny   = "Deny"
)

const (
	maxOpen  = 3         // requests that wait in a room
	maxShown = 1500      // characters of the arguments; longer ones can't be judged, and are refused
	usual    = time.Hour // the timeout
)

// What the model is told of a call that is refused.
const (
	refusedLine  = "The call was not approved."
	replacedLine = "A later request of the same user for the same tool has replaced this call. It was not made."
	fullLine     = "Three calls wait for an approval in this chat already. Tell the user that one of them must be decided first."
	lateLine     = "No one approved the call in time."
	absentLine   = "The call needs the approval of the owner, who can't be asked here."
	tooLongLine  = "The call needs an approval, and its arguments are too long to be shown. Use shorter ones."
	unseenLine   = "The call needs an approval, and no one can be asked at this point. Ask the user to repeat the request."
	repeatedLine = "This call was approved and had been started before an interruption. It was not repeated."
)

// Approve asks for the approval of a call, unless there is one already. Asked reports whether a user has just decided
// about this call. Refused is why the call can't be made; it is told to the model. An error ends the run, or has it
// wait for the decision: [chat.ErrParked]. Then Approve is called again when the run goes on.
func (d *Desk) Approve(ctx context.Context, c *action.Call, t *action.Tool, a action.Approval) (asked bool, refused string, err error) {
	if standing, err := d.standing(ctx, c, t, a); err != nil || standing {
		return false, "", err
	}
	shown, ok := describe(c, t, a)
	if !ok {
		return false, tooLongLine, nil
	}
	r, full, err := d.request(ctx, c, t, a)
	if err != nil || full {
		return false, fullLine, err
	}
	replaced, err := d.same(ctx, r)
	if len(replaced) > 0 {
		shown += "\nIt replaces an earlier request for this tool."
	}
	inPlace := false
	if err == nil {
		inPlace, err = d.approver(ctx, c.Turn)
	}
	if err == nil {
		r, err = d.answered(ctx, c, r, shown, inPlace)
	}
	switch {
	case err != nil:
		return false, "", err
	case r.Decision == chat.Pending:
		refused, err = d.ask(ctx, c, t, r, shown, inPlace)
		return true, refused, err
	case r.Decision == chat.Replaced && time.Now().Before(r.Expires):
		if replaced, err := d.isReplaced(ctx, r); err != nil || replaced {
			return true, "", errors.Join(err, d.waitReplaced(ctx, c, r, shown, inPlace))
		}
	}
	if err = d.endReplaced(ctx, r); err == nil {
		refused, err = d.use(ctx, r)
	}
	return true, refused, err
}

// ask asks about r, in place of earlier requests of the same user for the same tool, and has the run wait.
func (d *Desk) ask(ctx context.Context, c *action.Call, t *action.Tool, r chat.Approval, shown string, inPlace bool) (refused string, err error) {
	replaces, err := d.replace(ctx, r)
	if err != nil {
		return "", err
	}
	kinds := r.Kind != "" && t.Def.Effect != action.Dangerous // a dangerous action is approved call by call, whatever its kind
	if inPlace {
		return d.askHere(ctx, c, r, shown, options(kinds && c.Turn.Owner, replaces))
	}
	return d.askOwners(ctx, c, t, r, shown, options(kinds, replaces))
}

// answered returns r as it is after the run has waited for it: with what was chosen in the answer, or expired. The line
// that asked is replaced by one that shows the choice.
func (d *Desk) answered(ctx context.Context, c *action.Call, r chat.Approval, shown string, inPlace bool) (chat.Approval, error) {
	q, chosen, err := c.Chose(ctx, matter+r.ID)
	switch {
	case err != nil:
		return r, fmt.Errorf("read the approval of %s: %w", r.Tool, err)
	case chosen && r.Decision == chat.Replaced: // pressed just before the options went
	case chosen:
		c.Update(shown + "\n\n" + q.ChoiceLine(c.Turn.Room.Kind))
		err = d.chosenHere(ctx, r, q)
	case r.Decision == chat.Pending && time.Now().Before(r.Expires):
		return r, nil
	case r.Decision == chat.Pending:
		err = d.decide(ctx, r, chat.Expired, "")
	}
	if !chosen { // it waits no longer
		c.Update(map[bool]string{true: shown}[inPlace])
	}
	if err == nil {
		r, err = d.Store.Approval(ctx, r.ID)
	}
	if err != nil {
		return r, fmt.Errorf("read the approval of %s: %w", r.Tool, err)
	}
	return r, nil
}

// standing reports whether all calls of this kind are approved in this room, and records the use, so that the list of
// approvals shows each call. The approval ends with the ownership of the user who gave it.
func (d *Desk) standing(ctx context.Context, c *action.Call, t *action.Tool, a action.Approval) (bool, error) {
	if a.Kind == "" || t.Def.Effect == action.Dangerous {
		return false, nil
	}
	granted, err := d.Store.StandingApproval(ctx, c.Turn.Room.ID, a.Kind)
	if errors.Is(err, chat.ErrNotFound) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("look for an approval of %s: %w", t.Def.Name, err)
	}
	// The user may not be an owner any more.
	if owns, err := d.Owns(ctx, granted.By); err != nil || !owns {
		return false, err
	}
	r := d.record(c, t, a)
	r.ID, r.Decision, r.By, r.Decided = "standing/"+r.ID, chat.Standing, granted.By, r.At
	_, err = d.Store.RequestApproval(ctx, r)
	return err == nil, err
}

// record returns what is asked for. Its id is that of the same call after a restart.
func (d *Desk) record(c *action.Call, t *action.Tool, a action.Approval) chat.Approval {
	now := time.Now()
	return chat.Approval{
		ID: c.Key(t.Def.Name, a.Kind), Room: c.Turn.Room.ID, Run: c.Turn.Run, Call: c.ID, Tool: a.Server + "/" + a.Tool,
		Kind: a.Kind, Arguments: action.Hash(string(c.Parameters)), Effect: t.Def.Effect.String(), Asker: c.Turn.Message.Author, At: now, Expires: now.Add(d.Waits()), Decision: chat.Pending,
	}
}

// request stores the record of a call, or returns the one that is stored already. A new one is not stored if full reports that too many wait
// in the room.
func (d *Desk) request(ctx context.Context, c *action.Call, t *action.Tool, a action.Approval) (r chat.Approval, full bool, err error) {
	r = d.record(c, t, a)
	_, err = d.Store.Approval(ctx, r.ID)
	if errors.Is(err, chat.ErrNotFound) {
		full, err = d.full(ctx, r)
	}
	if err == nil && !full {
		r, err = d.Store.RequestApproval(ctx, r)
	}
	if err != nil {
		return r, full, fmt.Errorf("ask for the approval of %s: %w", t.Def.Name, err)
	}
	return r, full, nil
}

// use takes an approval, once. The change from approved to used is one conditional write, so of two processes with the
// same run only one makes the call.
func (d *Desk) use(ctx context.Context, r chat.Approval) (refused string, err error) {
	switch r.Decision {
	case chat.Always: // this call is the first of its kind
		return "", nil
	case chat.Approved:
		err := d.Store.DecideApproval(ctx, r.ID, chat.Approved, chat.Used, r.By, r.Decided)
		if errors.Is(err, answer.ErrLost) {
			return repeatedLine, nil
		}
		return "", err
	case chat.Used:
		return repeatedLine, nil
	case chat.Expired, chat.Pending:
		return lateLine, nil
	case chat.Replaced:
		return replacedLine, nil
	}
	return refusedLine, nil
}

// approver reports whether everyone whose messages are answered may approve. If several people are answered, it is
// unclear who of them asked for the call.
func (d *Desk) approver(ctx context.Context, s action.TurnContext) (bool, error) {
	if s.Owner {
		return true, nil
	}
	if s.Several() || s.Message.Author == "" {
		return false, nil
	}
	return d.mayApprove(ctx, s.Message.Author)
}

// mayApprove reports whether an account may approve single calls.
func (d *Desk) mayApprove(ctx context.Context, id chat.EntityID) (bool, error) {
	if d.Users[id] {
		return true, nil
	}
	return d.Owns(ctx, id)
}

// describe returns what the approver reads, or false if it can't be shown completely. Invisible characters are made
// visible, and backticks replaced, so that the arguments can't imitate another text.
func describe(c *action.Call, t *action.Tool, a action.Approval) (string, bool) {
	shown := a.Shown
	if shown == "" {
		shown = string(c.Parameters)
	}
	if len([]rune(shown)) > maxShown {
		return "", false
	}
	quoted := strings.ReplaceAll(text.Visible(shown), "`", "'")
	return fmt.Sprintf("🔐 **%s** (%s, %s)\n```\n%s\n```", text.Label(a.Tool), text.Label(a.Server), t.Def.Effect, quoted), true
}

// options returns the options of a question. all is whether calls of this kind can be approved together, and replaces whether an earlier
// request is replaced.
func options(all, replaces bool) []string {
	offered := []string{once}
	if replaces {
		offered = append(offered, both)
	}
	if all {
		offered = append(offered, always)
	}
	return append(offered, deny)
}

// decision returns what an option of a question means. Anything unknown is a denial.
func decision(option string) chat.Decision {
	switch option {
	case once, both:
		return chat.Approved
	case always:
		return chat.Always
	}
	return chat.Denied
}

// approvers returns the accounts that may approve and can be named; only they see the buttons work.
func (d *Desk) approvers(asker chat.EntityID, owners map[chat.EntityID]chat.RoomID, all bool) []chat.EntityID {
	who := map[chat.EntityID]bool{asker: true}
	for id := range owners {
		who[id] = true
	}
	if !all { // what only an owner may choose is offered to owners alone
		maps.Copy(who, d.Users)
	}
	return slices.Sorted(maps.Keys(who))
}
