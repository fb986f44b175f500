package consent

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/text"
	"parley/internal/lang"
)

// words finds the options that approvers have chosen, and the texts that they have written, to decide calls.
type words struct {
	owners Owners
	said   Conversation
	notes  NoteStore
	asked  func(ctx context.Context, room chat.RoomID, key string) (chat.Question, error) // see Approvals.Asked; can be nil
	log    *slog.Logger
}

func (ap *Approvals) words() words { return words{ap.Owners, ap.Said, ap.Notes, ap.Asked, ap.Log} }

// chosenAt returns when q was answered, which can be long before that is processed. It fails with the error of the store.
func (w words) chosenAt(ctx context.Context, q chat.Question) (time.Time, error) {
	if q.ResultRun == "" { // not in a chat
		return time.Now(), nil
	}
	result, err := w.said.Run(ctx, q.ResultRun)
	return result.Opened, err
}

// reason returns the approver's reason to refuse r, for the model; empty without one. Without them the refusal is still right, so a
// failure is only logged.
func (w words) reason(ctx context.Context, c *action.Call, r chat.Approval) string {
	said, err := w.of(ctx, c, r)
	if err != nil {
		w.log.Warn("can't read why a call was refused", "tool", r.Tool, "err", err)
	}
	if said == "" || decision(said) != chat.Denied || lang.Is(deny, said) {
		return ""
	}
	for _, label := range lang.Every(deny) {
		if len(said) > len(label) && strings.EqualFold(said[:len(label)], label) {
			said = said[len(label):]
			break
		}
	}
	said = strings.TrimLeft(said, " :,.;-–—")
	return " The reason, in the words of the approver: " + strconv.Quote(text.Brief(text.Visible(said), maxReason))
}

// of returns the option or the words that decided r; "" if the decision was made elsewhere than in a chat. It fails with the error
// of the store.
func (w words) of(ctx context.Context, c *action.Call, r chat.Approval) (string, error) {
	if said, err := w.elsewhere(ctx, r); err != nil || said != "" {
		return said, err
	}
	_, q, err := Of(ctx, c, approvalSubject+r.ID)
	if err != nil || q.By == "" || q.By != r.By {
		return "", err
	}
	return q.Options[q.Choice], nil
}

// elsewhere is [words.of] for a decision on one of the cards, or on the operator's page.
func (w words) elsewhere(ctx context.Context, r chat.Approval) (string, error) {
	if said, err := noted(ctx, w.notes, r.Room, writtenKey(r)); err != nil || said != "" {
		return said, err
	}
	rooms, err := w.owners.StaffRooms(ctx)
	room, ok := rooms[r.By]
	if err != nil || !ok || w.asked == nil {
		return "", err
	}
	said := ""
	for _, key := range []string{card(r), reminder(r)} {
		q, err := w.asked(ctx, room, key)
		if err == nil && q.By == r.By && r.By != "" {
			if at, _ := w.chosenAt(ctx, q); said == "" || at.Equal(r.Decided) { // both can be answered, and the run of one can have expired
				said = q.Options[q.Choice]
			}
		} else if chat.Unless(err, chat.ErrNotFound) != nil {
			return "", err
		}
	}
	return said, nil
}

// isDecision reports whether q is the choice that decided r, which is repeated after a crash. It fails with the error of the store.
func (w words) isDecision(ctx context.Context, q chat.Question, to chat.Decision, r chat.Approval) (bool, error) {
	if r.By != q.By || r.Decision != to && (to != chat.Approved && to != chat.Amended || r.Decision != chat.Used && r.Decision != chat.Lapsed) {
		return false, nil
	}
	said, err := w.elsewhere(ctx, r)
	return said == "" || said == q.Options[q.Choice], err
}

// isEdit reports whether words approve a call with other arguments.
func isEdit(words string) bool {
	_, ok := chat.EditIn(words)
	return ok
}

// edit gives c the arguments that the approver of r has written. refused is the reason if the call can't be made with them. It fails with the error of
// the store.
func (w words) edit(ctx context.Context, c *action.Call, t *action.Tool, r chat.Approval) (refused string, err error) {
	said, err := w.of(ctx, c, r)
	if err != nil {
		return "", err
	}
	changed, ok := chat.EditIn(said)
	if !ok || t.Check(changed) != nil { // the tool has changed since
		return unfitLine, nil
	}
	c.Parameters = changed
	return "", nil
}

// maxReason is the maximum length of a reason, in characters.
const maxReason = 500
