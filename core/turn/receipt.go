package turn

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"parley/core/chat"
	"parley/core/quota"
)

// ReceiptStore contains the store methods of [Receipt].
type ReceiptStore interface {
	Run(ctx context.Context, id chat.RunID) (chat.Run, error)
	Memory(ctx context.Context, id chat.MemoryID) (chat.Memory, error)
	RecentApprovals(ctx context.Context, room chat.RoomID, limit int) ([]chat.Approval, error)
	Used(ctx context.Context, from, to string, buckets ...string) ([]quota.Total, error)
}

// mostReceipt is the maximum number of calls, and of approvals, in a receipt.
const mostReceipt = 10

// Receipt describes how an answer came about: outcome, times, models, calls, approvals, usage and messages, and no text of it. It fails with
// [chat.ErrNotFound] if there is no such run, and with the error of the store.
func Receipt(ctx context.Context, store ReceiptStore, id chat.RunID) (string, error) {
	r, err := store.Run(ctx, id)
	if err != nil {
		return "", err
	}
	said, err := store.Memory(ctx, r.Said())
	if chat.Unless(err, chat.ErrNotFound) != nil {
		return "", err
	}
	o := r.Outcome
	lines := []string{
		fmt.Sprintf("Answer `%s`: %s", r.ID, strings.Join(slices.DeleteFunc([]string{cmp.Or(string(o.Status), "not ended"), string(o.Failure)}, func(s string) bool { return s == "" }), ", ")),
		fmt.Sprintf("- Asked: %s by `%s`, %d messages", r.Opened.UTC().Format(time.DateTime+" MST"), r.Author, len(r.Inputs)),
	}
	if len(r.Shown) > 0 && !r.Shown[0].At.IsZero() {
		lines = append(lines, "- First message: after "+r.Shown[0].At.Sub(r.Opened).Round(100*time.Millisecond).String())
	}
	if said.ID != "" {
		lines = append(lines, "- Last word: after "+said.At.Sub(r.Opened).Round(100*time.Millisecond).String())
	}
	if u := o.Usage; u != nil {
		lines = append(lines, fmt.Sprintf("- Model: %s/%s, %d calls, %d tokens in, %d out", u.Provider, u.Model, u.Calls, u.Prompt, u.Completion))
	}
	used, err := store.Used(ctx, r.Opened.AddDate(0, 0, -1).Format(time.DateOnly), r.Opened.AddDate(0, 0, 2).Format(time.DateOnly), quota.AnswerBuckets+string(r.ID))
	if err != nil {
		return "", err
	}
	for _, t := range used {
		lines = append(lines, "- Usage: "+t.String())
	}
	for _, c := range said.Calls[:min(len(said.Calls), mostReceipt)] {
		lines = append(lines, fmt.Sprintf("- Tool: `%s`, %s", c.Name, map[bool]string{true: "done", false: "failed or not made"}[c.Success]))
	}
	approvals, err := store.RecentApprovals(ctx, r.Room, 100)
	if err != nil {
		return "", err
	}
	approvals = slices.DeleteFunc(approvals, func(p chat.Approval) bool { return p.Run != r.ID })
	for _, p := range approvals[:min(len(approvals), mostReceipt)] {
		lines = append(lines, fmt.Sprintf("- Approval: `%s`, %s", p.Tool, p.Decision))
	}
	return strings.Join(append(lines, fmt.Sprintf("- Messages: %d; attempts: %d; crashes: %d", len(r.Shown), r.Attempts, r.Deaths)), "\n"), nil
}

// why executes /why: the receipt of the answer that the command replies to, or of the latest one in the room. Owners see all, and others
// their own. It fails with the error of the store.
func (cr *commandRun) why(ctx context.Context) (said string, err error) {
	m, err := cr.journal.input(ctx)
	if err != nil {
		return "", err
	}
	err = cr.journal.persist(ctx, func() error {
		var id chat.RunID
		if m.InReplyTo != "" {
			in, message := path.Split(string(m.InReplyTo)) // a platform can name a message with its chat or without
			for _, name := range []string{message, path.Base(in) + "/" + message} {
				run, err := cr.Store.RunShowing(ctx, m.Room, false, name, 50)
				if chat.Unless(err, chat.ErrNotFound) != nil {
					return err
				}
				id = cmp.Or(id, run.ID)
			}
		} else if recent, err := cr.Store.Recent(ctx, m.Room, chat.Said, 0, 20); err != nil {
			return err
		} else if i := slices.IndexFunc(recent, func(m chat.Memory) bool { return m.Author == cr.Recaller.Agent.Entity() }); i >= 0 {
			for _, r := range recent[i:] {
				if r.Author == cr.Recaller.Agent.Entity() {
					id = chat.RunID(r.ID) // see [chat.Run.Said]
				}
			}
		}
		run, err := cr.Store.Run(ctx, id)
		owner := run.Author == m.Author
		if err == nil && !owner {
			owner, err = cr.Recaller.Pairing.Owns(ctx, m.Author)
		}
		if said = "I find no answer of mine here that you asked for. Reply to one with `/why`."; err != nil || !owner {
			return chat.Unless(err, chat.ErrNotFound)
		}
		if err := cr.journal.Meter.Save(ctx); err != nil {
			return err
		}
		said, err = Receipt(ctx, cr.Store, id)
		return err
	})
	return said, err
}
