package consent

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
	"parley/internal/lang"
)

// Handler is the name of the handler of choices that approvers make in their direct chats. It is stored with questions.
const Handler = "approve call"

// Owners finds the owners of the agent: see [access.Pairing].
type Owners interface {
	// Owns reports whether an account owns the agent. It fails with the error of the store.
	Owns(ctx context.Context, id chat.EntityID) (bool, error)
	// OwnersRooms returns the accounts of the owners with their direct chats, as far as these are known. It fails with the error of the store.
	OwnersRooms(ctx context.Context) (map[chat.EntityID]chat.RoomID, error)
	// StaffRooms returns the accounts of the owners and the staff with their direct chats, as far as these are known. It fails with the
	// error of the store.
	StaffRooms(ctx context.Context) (map[chat.EntityID]chat.RoomID, error)
	// Name returns the name of a user.
	Name(ctx context.Context, user chat.EntityID) string
	// Staff returns the accounts of the staff, without owners. It fails with the error of the store.
	Staff(ctx context.Context) (map[chat.EntityID]bool, error)
	// IsStaff reports whether an account is an owner or a member of the staff. It fails with the error of the store.
	IsStaff(ctx context.Context, author chat.EntityID, from chat.Address) (bool, error)
	// Speak returns ctx for the sentences to a user.
	Speak(ctx context.Context, user chat.EntityID) context.Context
}

// PendingStore finds all requests: see [storage.Overview].
type PendingStore interface {
	PendingApprovals(ctx context.Context, limit int) ([]chat.Approval, error)
}

// Conversation reads runs and messages: see [storage.Journal] and [storage.Memories].
type Conversation interface {
	Run(ctx context.Context, id chat.RunID) (chat.Run, error)
	Recent(ctx context.Context, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) ([]chat.Memory, error)
}

// NoteStore stores arguments that can be changed, and words of the operator's page: see [storage.RoomNotes].
type NoteStore interface {
	Notes(ctx context.Context, room chat.RoomID, kind chat.NoteKind, limit int) ([]chat.RoomNote, error)
	SaveNote(ctx context.Context, n chat.RoomNote) error
}

// Runs continues parked runs: see [schedule.ParkedRuns].
type Runs interface {
	// Continue makes a parked run continue. It has no effect on other runs, and fails with the error of the store.
	Continue(ctx context.Context, run chat.RunID, room chat.RoomID) error
	// Supersede ends a parked run because its request was replaced. It has no effect on other runs, and fails with the error of the store.
	Supersede(ctx context.Context, run chat.RunID, room chat.RoomID) error
}

// Approvals asks whether calls of actions may be made, and records the decisions. A call that needs an approval is made only after a user
// who may approve has chosen so, once for this call, or for all calls of its kind in this room.
//
// Where everyone who is answered may approve, the question is a part of the answer itself; otherwise the owners are
// asked in their direct chats. Either way the run is parked meanwhile. When it continues, it makes the same call again,
// and [Approvals.Approve] finds the record with its decision by an id that is computed from the call.
//
// An approval is used once, in the store: a call that was approved and started before a crash is not started again.
//
// The fields are set before use. Approvals is safe for concurrent use, also by several processes with one store: the store makes each
// decision once.
type Approvals struct {
	Timeout time.Duration  // how long a run waits; 0 is an hour
	Zone    *time.Location // of the times on cards; nil is UTC
	Store   storage.Approvals
	Pending PendingStore
	// Page reports whether someone is logged in to the operator's page, and can decide there. Nil: there is no page.
	Page   func(ctx context.Context) (bool, error)
	Owners Owners
	Runs   Runs
	Said   Conversation
	Notes  NoteStore
	// Person returns the person with an account: see [access.PersonOf].
	Person func(ctx context.Context, account chat.EntityID) (chat.EntityID, error)
	// Unfit returns the reason for the user if words change the arguments of a call to some that do not fit; "" otherwise.
	Unfit func(ctx context.Context, q chat.Question, words string) string
	// Steers reports whether messages that the asker sends during an answer join it, in rooms of this kind. There, an approval that is older
	// than such a message does not count, unless the call has begun. nil: nowhere.
	Steers func(chat.RoomKind) bool
	Audit  func(ctx context.Context, by chat.EntityID, what, about string) // records a decision in a chat; can be nil
	// Tell sends a notice, which can hold a question.
	Tell func(ctx context.Context, n chat.Notice) error
	// Amend changes the text of the notice with key in room to the result of add, if there is such a notice and add returns true. below reports
	// that its message can't be edited.
	Amend func(ctx context.Context, room chat.RoomID, key string, add func(card string) (string, bool)) (below bool, err error)
	// Close removes the options of the notice with key in room, if there is such a notice and it has not been answered.
	Close func(ctx context.Context, room chat.RoomID, key string) error
	// Asked returns the question of the notice with key in room, or [chat.ErrNotFound].
	Asked func(ctx context.Context, room chat.RoomID, key string) (chat.Question, error)
	Log   *slog.Logger
}

// Waits returns how long a run waits for a decision.
func (ap *Approvals) Waits() time.Duration { return cmp.Or(ap.Timeout, defaultTimeout) }

// The options, in their order, as keys of package lang.
const (
	once   = "approval.once"
	both   = "approval.both" // this call, and the request that it replaces stays open
	always = "approval.always"
	deny   = "approval.deny"
)

const (
	maxOpen        = 3         // requests that wait in a room
	defaultTimeout = time.Hour // the timeout
)

// The results for the model of a call that is refused.
const (
	refusedLine  = "The call was not approved."
	replacedLine = "A later request of the same user for the same tool has replaced this call. It was not made."
	fullLine     = "Three calls wait for an approval in this chat already. Tell the user that one of them must be decided first."
	lateLine     = "No one approved the call in time."
	absentLine   = "The call needs the approval of the owner, who can't be asked here."
	tooLongLine  = "The call needs an approval, and its arguments are too long to be shown. Use shorter ones."
	unseenLine   = "The call needs an approval, and no one can be asked at this point. Ask the user to repeat the request."
	unfitLine    = "The call was approved with other arguments, and they do not fit the tool any more. It was not made."
	repeatedLine = "This call was approved and had been started before an interruption. It was not repeated."
)

// Approve asks for the approval of a call, unless there is one already. asked reports whether a user has just decided
// about this call; its parameters are then those that the user wants. refused is the reason why it can't be made, for the model. An error ends the run, or parks it until
// the decision ([chat.ErrParked]); Approve is called again when the run continues.
func (ap *Approvals) Approve(ctx context.Context, c *action.Call, t *action.Tool, a action.Approval) (asked bool, refused string, err error) {
	if standing, err := ap.standing(ctx, c, t, a); err != nil || standing {
		return false, "", err
	}
	text, arguments, ok := describe(c, t, a)
	if !ok {
		return false, tooLongLine, nil
	}
	inPlace, hidden := c.Turn.Staff, ""
	if inPlace && c.Turn.Room.Address.Ephemeral {
		hidden = arguments
	} else {
		text += "\n" + arguments
	}
	r, lapsed, full, err := ap.request(ctx, c, t, a)
	if err != nil || full {
		return false, fullLine, err
	}
	replaced, err := replacedBy(ctx, ap.Store, r)
	since, failed := wroteSince(ctx, ap, c, lapsed)
	err = errors.Join(err, failed)
	shown := func(v lang.Voice) string {
		lines := []string{text}
		if len(replaced) > 0 {
			lines = append(lines, v.Say("approval.replaces"))
		}
		for _, m := range since[max(0, len(since)-maxSince):] {
			lines = append(lines, sinceLine(v, m))
		}
		return strings.Join(lines, "\n")
	}
	if err == nil {
		r, err = ap.loadDecision(ctx, c, r, shown, inPlace)
	}
	switch {
	case err != nil:
		return false, "", err
	case r.Decision == chat.Pending:
		refused, err = ap.ask(ctx, c, t, r, described{shown, hidden, a.Public, inPlace, editable(c, t, a)})
		return true, refused, err
	case r.Decision == chat.Replaced && time.Now().Before(r.Expires):
		if replaced, err := isReplaced(ctx, ap.Store, r); err != nil || replaced {
			return true, "", errors.Join(err, ap.waitReplaced(ctx, c, r, shown, inPlace))
		}
	}
	if err = ap.endReplaced(ctx, r); err == nil && (r.Decision == chat.Approved || r.Decision == chat.Amended) {
		if lapses, err := lapse(ctx, ap, c, r); err != nil {
			return false, "", err
		} else if lapses {
			return ap.Approve(ctx, c, t, a)
		}
	}
	requested := c.Parameters
	if err == nil && r.Decision == chat.Amended {
		refused, err = ap.words().edit(ctx, c, t, r)
	}
	if err == nil && refused == "" {
		refused, err = ap.use(ctx, r)
	}
	if err != nil {
		c.Parameters = requested // those of the record: with others, the next call would ask once more
	}
	if err == nil && r.Decision == chat.Denied {
		refused += ap.words().reason(ctx, c, r)
	}
	return true, refused, err
}

// ask asks for the approval of r, in place of earlier requests of the same user for the same tool, and parks the run.
// It fails with [chat.ErrParked], and with the error of the store.
func (ap *Approvals) ask(ctx context.Context, c *action.Call, t *action.Tool, r chat.Approval, d described) (refused string, err error) {
	replaces, err := ap.replace(ctx, r)
	if err == nil {
		err = keepEdit(ctx, ap.Notes, r, d.edit)
	}
	if err != nil {
		return "", err
	}
	kinds := r.Kind != "" && t.Def.Effect != action.Dangerous // a dangerous action is approved call by call, whatever its kind
	if d.inPlace {
		return ap.askHere(ctx, c, r, d, options(kinds && c.Turn.Owner, replaces))
	}
	return ap.askOwners(ctx, c, t, r, d, options(kinds, replaces))
}

// described is the description of a call that waits for an approval.
type described struct {
	shown   func(lang.Voice) string // to approvers
	hidden  string                  // [chat.Question.Details]: the arguments, where others read the question
	public  string                  // to users who can't approve it; see [action.Approval]
	inPlace bool                    // asked in the answer itself, not in the direct chats of the owners
	edit    *chat.Edit              // see [chat.Question]
}

// editable returns the arguments of c if approvers see them and can change them, or nil.
func editable(c *action.Call, t *action.Tool, a action.Approval) *chat.Edit {
	if a.Shown != "" || !t.HasParameters() || len(t.Def.Parameters) > maxSchema {
		return nil
	}
	return &chat.Edit{Schema: t.Def.Parameters, Arguments: c.Parameters}
}

const maxSchema = 32 << 10 // bytes of a schema that is stored with each card

// loadDecision returns r in its state after the wait: with the option that was chosen in the answer, or expired. The line
// of the question is replaced by one that shows the choice. It fails with the error of the store.
func (ap *Approvals) loadDecision(ctx context.Context, c *action.Call, r chat.Approval, shown func(lang.Voice) string, inPlace bool) (chat.Approval, error) {
	state, q, err := Of(ctx, c, approvalSubject+r.ID)
	chosen := state == Chosen
	switch {
	case err != nil:
		return r, fmt.Errorf("read the approval of %s: %w", r.Tool, err)
	case chosen && r.Decision == chat.Replaced: // pressed just before the options were removed
	case chosen:
		err = ap.recordChoice(ctx, c.Turn, r, q)
		if err == nil {
			err = ap.showChoice(ctx, c, r.ID, shown(lang.Of(ctx)), q)
		}
	case r.Decision == chat.Pending && time.Now().Before(r.Expires):
		return r, nil
	case r.Decision == chat.Pending:
		err = ap.decide(ctx, r, chat.Expired, "")
	}
	if !chosen { // the wait is over
		c.Update(map[bool]string{true: shown(lang.Of(ctx))}[inPlace])
	}
	if err == nil {
		r, err = ap.Store.Approval(ctx, r.ID)
	}
	if err == nil { // once more: the decision can have been made by a process that died then
		err = ap.closeCards(ctx, r)
	}
	if err != nil {
		return r, fmt.Errorf("read the approval of %s: %w", r.Tool, err)
	}
	return r, nil
}

// showChoice replaces the line of the question by one that shows q, unless another decision was faster. It fails with the error of the store.
func (ap *Approvals) showChoice(ctx context.Context, c *action.Call, id, asked string, q chat.Question) error {
	r, err := ap.Store.Approval(ctx, id)
	if err != nil {
		return err
	}
	counts, err := ap.words().isDecision(ctx, q, decisionOf(q), r)
	if counts || r.By == "" {
		asked += "\n\n" + q.ChoiceLine(c.Turn.Room.Kind)
	}
	c.Update(asked)
	return err
}

// standing reports whether all calls of this kind are approved in this room, and records the use, so that the list of
// approvals shows each call. The approval ends with the ownership of the user who gave it. It fails with the error of
// the store.
func (ap *Approvals) standing(ctx context.Context, c *action.Call, t *action.Tool, a action.Approval) (bool, error) {
	if a.Kind == "" || t.Def.Effect == action.Dangerous {
		return false, nil
	}
	granted, err := ap.Store.StandingApproval(ctx, c.Turn.Room.ID, a.Kind)
	if errors.Is(err, chat.ErrNotFound) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("look for an approval of %s: %w", t.Def.Name, err)
	}
	// The user may not be an owner any more.
	if owns, err := ap.Owners.Owns(ctx, granted.By); err != nil || !owns {
		return false, err
	}
	r := ap.record(c, t, a)
	r.ID, r.Decision, r.By, r.Decided = "standing/"+r.ID, chat.Standing, granted.By, r.At
	_, err = ap.Store.RequestApproval(ctx, r)
	return err == nil, err
}

// record returns the record of a request. Its id is that of the same call after a restart.
func (ap *Approvals) record(c *action.Call, t *action.Tool, a action.Approval) chat.Approval {
	now := time.Now()
	return chat.Approval{
		ID: c.Key(t.Def.Name, a.Kind), Room: c.Turn.Room.ID, Run: c.Turn.Run, Call: c.ID, Tool: a.Server + "/" + a.Tool,
		Kind: a.Kind, Arguments: action.Hash(string(c.Parameters)), Effect: cmp.Or(a.Effect, t.Def.Effect).String(), Asker: c.Turn.Message.Author, At: now, Expires: now.Add(ap.Waits()), Decision: chat.Pending,
	}
}

// request stores the record of a call, or returns the stored one. It follows approvals of the call that lapsed, and returns the last of
// these. It does not store a new one if full, which reports that too many wait in the room. It fails with the error of the store.
func (ap *Approvals) request(ctx context.Context, c *action.Call, t *action.Tool, a action.Approval) (r, lapsed chat.Approval, full bool, err error) {
	r = ap.record(c, t, a)
	id := r.ID
	stored, err := ap.Store.Approval(ctx, id)
	for n := 2; err == nil && stored.Decision == chat.Lapsed; n++ {
		lapsed, r.ID, r.At = stored, fmt.Sprint(id, "-", n), stored.At.Add(1) // it replaces no request that is later than the first one for its call
		stored, err = ap.Store.Approval(ctx, r.ID)
	}
	if errors.Is(err, chat.ErrNotFound) {
		full, err = atLimit(ctx, ap.Store, r)
	}
	if err == nil && !full {
		r, err = ap.Store.RequestApproval(ctx, r)
	}
	if err != nil {
		return r, lapsed, full, fmt.Errorf("ask for the approval of %s: %w", t.Def.Name, err)
	}
	return r, lapsed, full, nil
}

// wroteSince returns the messages that the asker of r has sent since it was decided, whichever run answers them: none before a decision, and none
// where messages do not join answers. It fails with the error of the store.
func wroteSince(ctx context.Context, ap *Approvals, c *action.Call, r chat.Approval) ([]chat.Memory, error) {
	if r.Decided.IsZero() || ap.Steers == nil || !ap.Steers(c.Turn.Room.Kind) {
		return nil, nil
	}
	recent, err := ap.Said.Recent(ctx, r.Room, chat.Said, 0, maxRows)
	if err != nil {
		return nil, fmt.Errorf("read what was written since the approval of %s: %w", r.Tool, err)
	}
	return slices.DeleteFunc(slices.Clone(recent), func(m chat.Memory) bool {
		return m.Author != r.Asker || !isAfter(m, r.Decided) || slices.Contains(c.Turn.Answered, m.ID)
	}), nil
}

// lapse ends an approval that has not been used if the asker has written since, and reports whether it did. The approvers are then asked
// again: they have not read that. It fails with the error of the store.
func lapse(ctx context.Context, ap *Approvals, c *action.Call, r chat.Approval) (bool, error) {
	since, err := wroteSince(ctx, ap, c, r)
	if err != nil || len(since) == 0 {
		return false, err
	}
	err = ap.Store.DecideApproval(ctx, r.ID, r.Decision, chat.Lapsed, r.By, r.Decided)
	return true, chat.Unless(err, answer.ErrLost)
}

// use marks an approval as used, once. The change from approved to used is one conditional write, so of two processes
// with the same run only one makes the call. refused is the reason if it can't be made. It fails with the error of the
// store.
func (ap *Approvals) use(ctx context.Context, r chat.Approval) (refused string, err error) {
	switch r.Decision {
	case chat.Always: // this call is the first of its kind
		return "", nil
	case chat.Approved, chat.Amended:
		err := ap.Store.DecideApproval(ctx, r.ID, r.Decision, chat.Used, r.By, r.Decided)
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

// describe returns the text for the approver, and the arguments, or false if these can't be shown completely.
func describe(c *action.Call, t *action.Tool, a action.Approval) (call, arguments string, ok bool) {
	shown := a.Shown
	if shown == "" {
		shown = string(c.Parameters)
	}
	quoted, ok := Quote(shown)
	if !ok {
		return "", "", false
	}
	return fmt.Sprintf("🔐 **%s** (%s, %s)", text.Label(a.Tool), text.Label(a.Server), cmp.Or(a.Effect, t.Def.Effect)), "```\n" + quoted + "\n```", true
}

// options returns the options of a question. all reports whether calls of this kind can be approved together, and
// replaces whether an earlier request is replaced.
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

// said returns options in the language of their reader.
func said(v lang.Voice, options []string) (labels []string) {
	for _, o := range options {
		labels = append(labels, v.Say(o))
	}
	return labels
}

// decision returns the meaning of an option. Anything unknown is a denial.
func decision(option string) chat.Decision {
	switch {
	case lang.Is(once, option), lang.Is(both, option):
		return chat.Approved
	case lang.Is(always, option):
		return chat.Always
	}
	return chat.Denied
}

// approvers returns the accounts that may approve and can be named; only they see the buttons work. It fails with the error of the store.
func (ap *Approvals) approvers(ctx context.Context, asker chat.EntityID, all bool) ([]chat.EntityID, error) {
	owners, err := ap.Owners.OwnersRooms(ctx)
	if err != nil {
		return nil, err
	}
	who := map[chat.EntityID]bool{asker: true}
	for id := range owners {
		who[id] = true
	}
	if !all { // options for owners are offered to owners alone
		staff, err := ap.Owners.Staff(ctx)
		if err != nil {
			return nil, err
		}
		maps.Copy(who, staff)
	}
	return slices.Sorted(maps.Keys(who)), nil
}
