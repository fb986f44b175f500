package consent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

// maxRows bounds the open requests of a room that are read; there are far fewer.
const maxRows = 50

// maxPending bounds the open requests of all rooms whose approvers are reminded.
const maxPending = 1000

const (
	mark     = "✎ " // begins the lines that the asker has added to a card since
	maxSince = 5    // of these
	maxLine  = 200  // characters of each
)

// card returns the key of the notices to the owners about r.
func card(r chat.Approval) string { return "approve/" + r.ID }

// reminder returns the key of the second card about r.
func reminder(r chat.Approval) string { return card(r) + "/remind" }

// Remind sends the cards that have waited for half of their time once more, each once, to the approvers who have not answered: to one
// account of each person. The second card is closed with the first one. Remind can be called at any time, by several processes. It fails with the error of the store.
func (ap *Approvals) Remind(ctx context.Context) error {
	all, err := ap.Pending.PendingApprovals(ctx, maxPending)
	for _, r := range all {
		from := r.Expires.Add(-ap.Waits()) // later than r.At if an earlier request of the call has lapsed
		if now := time.Now(); now.Before(r.Expires) && r.Expires.Sub(now) <= now.Sub(from) {
			err = errors.Join(err, ap.remind(ctx, r))
		}
	}
	return err
}

func (ap *Approvals) remind(ctx context.Context, r chat.Approval) error {
	rooms, err := ap.Owners.StaffRooms(ctx)
	reminded := map[chat.EntityID]bool{}
	for _, owner := range slices.Sorted(maps.Keys(rooms)) { // each process chooses the same account
		room := rooms[owner]
		q, missing := ap.Asked(ctx, room, card(r))
		_, first := ap.Asked(ctx, room, reminder(r))
		person, failed := ap.Person(ctx, owner)
		if missing != nil || failed != nil || !q.Open(time.Now()) || reminded[person] || !errors.Is(first, chat.ErrNotFound) {
			reminded[person] = reminded[person] || first == nil
			err = errors.Join(err, failed, chat.Unless(missing, chat.ErrNotFound), chat.Unless(first, chat.ErrNotFound))
			continue
		}
		reminded[person] = true
		line := "🔔 " + lang.Say(ap.Owners.Speak(ctx, owner), "approval.remind")
		_, failed = ap.Amend(ctx, room, card(r), func(card string) (string, bool) { // it is only read
			line += "\n\n" + card
			return "", false
		})
		if failed == nil {
			failed = ap.Tell(ctx, chat.Notice{To: chat.Address{Room: room}, Text: line, Key: reminder(r), Ask: &q})
		}
		err = errors.Join(err, failed)
	}
	if now, failed := ap.Store.Approval(ctx, r.ID); failed != nil {
		err = errors.Join(err, failed)
	} else if now.Decision != chat.Pending { // decided meanwhile, perhaps before the second cards were there
		err = errors.Join(err, ap.closeCards(ctx, r))
	}
	return err
}

// closeCards removes the options of the notices about r, which then show the decision. It fails with the error of the store.
func (ap *Approvals) closeCards(ctx context.Context, r chat.Approval) error {
	if ap.Close == nil {
		return nil
	}
	rooms, err := ap.Owners.StaffRooms(ctx)
	for _, room := range rooms {
		err = errors.Join(err, ap.Close(ctx, room, card(r)), ap.Close(ctx, room, reminder(r)))
	}
	return err
}

// openRequests returns the requests of room that are not decided and have not expired, newest first. It fails with the error of
// the store.
func openRequests(ctx context.Context, store storage.Approvals, room chat.RoomID) ([]chat.Approval, error) {
	all, err := store.OpenApprovals(ctx, room, maxRows)
	if err != nil {
		return nil, fmt.Errorf("read what waits for an approval: %w", err)
	}
	now := time.Now()
	return slices.DeleteFunc(all, func(a chat.Approval) bool { return !now.Before(a.Expires) }), nil
}

// replacedBy returns the open requests of other runs that r replaces: those of the same user for the same tool. It fails with
// the error of the store.
func replacedBy(ctx context.Context, store storage.Approvals, r chat.Approval) ([]chat.Approval, error) {
	all, err := openRequests(ctx, store, r.Room)
	return slices.DeleteFunc(all, func(a chat.Approval) bool { return !replaces(r, a) }), err
}

// replaces reports whether r is a later request of the same user for the same tool. The time of a request is that of the first one for its call.
func replaces(r, earlier chat.Approval) bool {
	return r.Run != earlier.Run && r.Tool == earlier.Tool && r.Asker == earlier.Asker && !earlier.At.After(r.At)
}

// atLimit reports whether the maximum number of requests of other runs waits in the room of r, without those that r
// replaces. It fails with the error of the store.
func atLimit(ctx context.Context, store storage.Approvals, r chat.Approval) (bool, error) {
	all, err := openRequests(ctx, store, r.Room)
	if err != nil {
		return false, err
	}
	waiting := 0
	for _, a := range all {
		if a.Decision == chat.Pending && a.Run != r.Run && a.Tool != HeldTool && !replaces(r, a) {
			waiting++
		}
	}
	return waiting >= maxOpen, nil
}

// replace closes the requests that r replaces, and reports whether there are any. They lose their options. Only the
// newest of them continues to wait, as the decision about r may keep it: the runs of earlier ones end. It fails with
// the error of the store.
func (ap *Approvals) replace(ctx context.Context, r chat.Approval) (replaces bool, err error) {
	all, err := replacedBy(ctx, ap.Store, r)
	for i, a := range all {
		if err == nil && a.Decision == chat.Pending {
			err = ap.Store.DecideApproval(ctx, a.ID, chat.Pending, chat.Replaced, "", time.Now())
			err = chat.Unless(err, answer.ErrLost)
		}
		if err == nil {
			err = ap.closeCards(ctx, a)
		}
		if err == nil && i > 0 {
			err = ap.Runs.Supersede(ctx, a.Run, a.Room)
		} else if err == nil { // it continues, and waits without options
			err = ap.Runs.Continue(ctx, a.Run, a.Room)
		}
	}
	return len(all) > 0, err
}

// restoreReplaced lets the run whose request r has replaced ask again, with new options and cards: the earlier ones are closed. It fails with the
// error of the store.
func (ap *Approvals) restoreReplaced(ctx context.Context, r chat.Approval) error {
	all, err := replacedBy(ctx, ap.Store, r)
	for _, a := range all {
		if err == nil && a.Decision == chat.Replaced {
			err = ap.Store.DecideApproval(ctx, a.ID, chat.Replaced, chat.Lapsed, "", time.Now())
			err = chat.Unless(err, answer.ErrLost)
			if err == nil {
				err = ap.Runs.Continue(ctx, a.Run, a.Room)
			}
		}
	}
	return err
}

// isReplaced reports whether an undecided request has replaced r. It fails with the error of the store.
func isReplaced(ctx context.Context, store storage.Approvals, r chat.Approval) (bool, error) {
	all, err := openRequests(ctx, store, r.Room)
	return slices.ContainsFunc(all, func(a chat.Approval) bool { return a.Decision == chat.Pending && replaces(a, r) }), err
}

// endReplaced ends the runs whose requests r has replaced, because r is decided. It fails with the error of the store.
func (ap *Approvals) endReplaced(ctx context.Context, r chat.Approval) error {
	all, err := replacedBy(ctx, ap.Store, r)
	for _, a := range all {
		if err == nil && a.Decision == chat.Replaced {
			err = ap.Runs.Supersede(ctx, a.Run, a.Room)
		}
	}
	return err
}

// Waiting returns the line for the model about the calls of runs, all of one room, that wait for an approval, or "".
// Without the line an answer is still right, so a failure is only logged.
func (ap *Approvals) Waiting(ctx context.Context, runs []chat.Run) string {
	if len(runs) == 0 {
		return ""
	}
	all, err := openRequests(ctx, ap.Store, runs[0].Room)
	if err != nil {
		ap.Log.Warn("can't tell the model which calls wait for an approval", "err", err)
		return ""
	}
	var tools []string
	for _, a := range all {
		_, tool, _ := strings.Cut(a.Tool, "/")
		if a.Decision == chat.Pending && a.Tool != HeldTool && slices.ContainsFunc(runs, func(r chat.Run) bool { return r.ID == a.Run }) {
			tools = append(tools, text.Label(tool))
		}
	}
	if len(tools) == 0 {
		return ""
	}
	slices.Sort(tools)
	return "A call of " + strings.Join(slices.Compact(tools), " and one of ") + " waits for an approval in this chat. It has not been made. Don't repeat it unless the user changes it."
}

// Wrote adds messages that run answers to the cards of the owners and the staff about the calls of waiting runs: the messages of recent that
// are inputs, and were written after those of the waiting run. A failure changes nothing else, so it is only logged.
func (ap *Approvals) Wrote(ctx context.Context, waiting []chat.Run, run chat.Run, recent []chat.Memory) {
	for _, w := range waiting {
		for _, m := range recent {
			// The messages of an earlier turn are earlier, except those that have joined its answer.
			if !slices.Contains(run.Inputs, m.ID) || run.Response < w.Response && !isAfter(m, w.Opened) {
				continue
			}
			if err := ap.wrote(ctx, w.ID, m); err != nil {
				ap.Log.Warn("can't show the approvers what the asker has written since", "run", w.ID, "err", err)
			}
		}
	}
}

// isAfter reports whether m was sent after t, or can have been: some platforms count in seconds.
func isAfter(m chat.Memory, t time.Time) bool {
	at := m.At
	if at.Nanosecond() == 0 {
		at = at.Add(time.Second - 1)
	}
	return at.After(t)
}

func (ap *Approvals) wrote(ctx context.Context, run chat.RunID, m chat.Memory) error {
	all, err := openRequests(ctx, ap.Store, m.Room)
	if err != nil {
		return err
	}
	rooms, err := ap.Owners.StaffRooms(ctx)
	for _, a := range all {
		if a.Run != run || a.Asker != m.Author || a.Decision != chat.Pending {
			continue
		}
		for owner, room := range rooms {
			line := sinceLine(lang.Of(ap.Owners.Speak(ctx, owner)), m)
			key := card(a)
			if _, none := ap.Asked(ctx, room, reminder(a)); none == nil {
				key = reminder(a)
			}
			below, failed := ap.Amend(ctx, room, key, func(card string) (string, bool) { return amended(card, line) })
			if failed == nil && below { // once below several cards
				failed = ap.Tell(ctx, chat.Notice{To: chat.Address{Room: room}, Text: line, Key: "approve/since/" + action.Hash(string(m.ID)+line)})
			}
			err = errors.Join(err, failed)
		}
	}
	return err
}

// sinceLine returns the line of a card about a message that the asker has written since.
func sinceLine(v lang.Voice, m chat.Memory) string {
	brief := text.Brief(strings.Join(strings.Fields(text.Visible(m.Text)), " "), maxLine)
	return mark + v.Say("approval.wrote", "user", cmp.Or(text.Label(m.Name), v.Say("person.visitor")), "text", brief)
}

// amended returns the text of a card with one more line, or false if it has that line already, or the maximum number of
// them.
func amended(card, line string) (string, bool) {
	lines := strings.Split(card, "\n")
	since := slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return !strings.HasPrefix(l, mark) })
	if slices.Contains(since, line) || len(since) >= maxSince {
		return "", false
	}
	return card + "\n" + line, true
}

const listed = 20 // decisions in a list

// List returns the newest decisions of room in text: all, for the owner, or only those about calls of asker. These name
// neither servers nor approvers. It fails with the error of the store.
func (ap *Approvals) List(ctx context.Context, room chat.RoomID, asker chat.EntityID, all bool) (string, error) {
	recent, err := ap.Store.RecentApprovals(ctx, room, listed)
	if err != nil {
		return "", err
	}
	var lines []string
	for _, a := range recent {
		if all || a.Asker == asker {
			lines = append(lines, "- "+a.At.UTC().Format("2006-01-02 15:04")+": "+listing(a, all))
		}
	}
	return cmp.Or(strings.Join(lines, "\n"), lang.Say(ctx, "approval.none")), nil
}

// listing describes one decision.
func listing(a chat.Approval, all bool) string {
	if !all {
		_, tool, _ := strings.Cut(a.Tool, "/")
		return fmt.Sprintf("%s, %s", text.Label(text.NameLabel(tool)), a.Decision)
	}
	line := fmt.Sprintf("%s (%s), %s", text.Label(a.Tool), a.Effect, a.Decision)
	if a.By != "" {
		line += " by " + text.Label(string(a.By))
	}
	return line
}
