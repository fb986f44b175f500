package turn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"parley/core/access"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/prompt"
	"parley/core/quota"
	"parley/core/text"
	"parley/internal/lang"
)

// ReceiptStore contains the store methods of [ReceiptOf].
type ReceiptStore interface {
	access.LinkReader
	Run(ctx context.Context, id chat.RunID) (chat.Run, error)
	Memory(ctx context.Context, id chat.MemoryID) (chat.Memory, error)
	Recent(ctx context.Context, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) ([]chat.Memory, error)
	RecentApprovals(ctx context.Context, room chat.RoomID, limit int) ([]chat.Approval, error)
	Used(ctx context.Context, from, to string, buckets ...string) ([]quota.Total, error)
}

// mostReceipt is the maximum number of calls, and of approvals, in a receipt.
const mostReceipt = 10

// Receipt is the story of an answer: outcome, times, models, calls, approvals, usage and messages.
type Receipt struct {
	Run       chat.Run
	Answer    chat.Memory // zero if none is stored
	Facts     []Line      // without any text of the conversation
	Approvals []chat.Approval
	Prompt    []Part // with texts, as they are stored now
}

// Part is one of the texts of a prompt. One that was deleted since has no author, or is missing.
type Part struct {
	Kind PartKind
	Room chat.RoomID
	From string // the author of a message, and its time
	Text string
}

// PartKind is the kind of a [Part].
type PartKind string

// The kinds of parts, in the order of a prompt. Instructions have a number as text: it is the same for the same instructions.
const (
	Instructions PartKind = "Instructions"
	Fact         PartKind = "Fact"
	Recalled     PartKind = "Recalled"
	Conversation PartKind = "Conversation"
)

// Line is one line of a [Receipt].
type Line struct{ Name, Value string }

// ReceiptOf collects the receipt of a run. It fails with [chat.ErrNotFound] if there is no such run, and with the error of the store.
func ReceiptOf(ctx context.Context, store ReceiptStore, id chat.RunID) (r Receipt, err error) {
	if r.Run, err = store.Run(ctx, id); err != nil {
		return r, err
	}
	if r.Answer, err = store.Memory(ctx, r.Run.Said()); chat.Unless(err, chat.ErrNotFound) != nil {
		return r, err
	}
	day := r.Run.Opened.AddDate(0, 0, -1)
	used, err := store.Used(ctx, day.Format(time.DateOnly), day.AddDate(0, 0, 3).Format(time.DateOnly), quota.AnswerBuckets+string(id))
	if err != nil {
		return r, err
	}
	if r.Approvals, err = store.RecentApprovals(ctx, r.Run.Room, 100); err != nil {
		return r, err
	}
	r.Approvals = slices.DeleteFunc(slices.Clone(r.Approvals), func(p chat.Approval) bool { return p.Run != id })
	r.describe(used)
	return r, r.readPrompt(ctx, store)
}

// readPrompt reads the parts of the prompt that are still stored.
func (r *Receipt) readPrompt(ctx context.Context, store ReceiptStore) error {
	p := r.Run.Outcome.Prompt
	if p == nil {
		return nil
	}
	r.Prompt = append(r.Prompt, Part{Kind: Instructions, Text: p.Instructions})
	facts, err := store.Notes(ctx, r.Run.Room, chat.FactNote, chat.MaxNotes)
	if err != nil {
		return err
	}
	accounts, err := access.AccountsOf(ctx, store, r.Run.Author)
	for _, account := range accounts {
		about, failed := store.NotesAbout(ctx, account, chat.FactNote, false, chat.MaxNotes)
		facts, err = slices.Concat(facts, about), errors.Join(err, failed)
	}
	for _, n := range facts {
		f := Part{Kind: Fact, Room: n.Room, Text: n.Text}
		if slices.ContainsFunc(p.Facts, n.At.Equal) && !slices.Contains(r.Prompt, f) {
			r.Prompt = append(r.Prompt, f)
		}
	}
	for _, id := range p.Recalled {
		m, failed := store.Memory(ctx, chat.MemoryID(id))
		err = errors.Join(err, chat.Unless(failed, chat.ErrNotFound))
		r.quote(Recalled, m)
	}
	if p.Since.IsZero() || err != nil {
		return err
	}
	recent, err := store.Recent(ctx, r.Run.Room, chat.Said, r.Run.Response, prompt.Window)
	for _, m := range recent {
		if !m.At.Before(p.Since) && m.ID != r.Run.Said() {
			r.quote(Conversation, m)
		}
	}
	return err
}

// quote adds a message to the prompt.
func (r *Receipt) quote(kind PartKind, m chat.Memory) {
	p := Part{Kind: kind, Room: m.Room, Text: "(deleted)"}
	if m.ID != "" {
		p.From, p.Text = cmp.Or(m.Name, string(m.Author))+", "+m.At.UTC().Format(time.DateTime+" MST"), m.PromptText()
	}
	r.Prompt = append(r.Prompt, p)
}

func (r *Receipt) add(name, format string, values ...any) {
	r.Facts = append(r.Facts, Line{name, fmt.Sprintf(format, values...)})
}

// describe adds the facts, in the order of their occurrence.
func (r *Receipt) describe(used []quota.Total) {
	run, o := r.Run, r.Run.Outcome
	after := func(name string, at time.Time) {
		if !at.IsZero() {
			r.add(name, "after %v", at.Sub(run.Opened).Round(100*time.Millisecond))
		}
	}
	r.add("Asked", "%s by `%s`; messages: %d", run.Opened.UTC().Format(time.DateTime+" MST"), run.Author, len(run.Inputs))
	if len(run.Shown) > 0 {
		after("First message", run.Shown[0].At)
	}
	after("Last word", r.Answer.At)
	if o.Sources != "" {
		r.add("Context", "%s", o.Sources)
	}
	if u := o.Usage; u != nil {
		r.add("Model", "%s/%s; calls: %d; rounds: %d; failovers: %d; tokens: %d in, %d out", u.Provider, u.Model, u.Calls, o.Rounds, o.Failovers, u.Prompt, u.Completion)
	}
	for _, t := range used {
		r.add("Usage", "%s", t.Describe(lang.Voice{}))
	}
	for _, c := range r.Answer.Calls[:min(len(r.Answer.Calls), mostReceipt)] {
		r.add("Tool", "`%s`, %s", c.Name, stage(c))
	}
	for _, p := range r.Approvals[:min(len(r.Approvals), mostReceipt)] {
		r.add("Approval", "`%s`, %s", p.Tool, p.Decision)
	}
	r.add("Messages", "%d; edits: %d; holds: %d; attempts: %d; crashes: %d", len(run.Shown), o.Edits, o.Holds, run.Attempts, run.Deaths)
}

// stage describes the end of a call.
func stage(c answer.PastCall) string {
	switch {
	case c.Took > 0:
		return fmt.Sprintf("%s after %v", map[bool]string{true: "done", false: "failed"}[c.Success], c.Took.Round(time.Millisecond))
	case c.Success:
		return "done"
	}
	return "not made"
}

// String writes the receipt as Markdown.
func (r Receipt) String() string {
	lines := []string{fmt.Sprintf("Answer `%s`: %s", r.Run.ID, r.Run.State())}
	for _, f := range r.Facts {
		lines = append(lines, "- "+f.Name+": "+f.Value)
	}
	return strings.Join(lines, "\n")
}

// Whole writes the receipt with all of the prompt that is still stored.
func (r Receipt) Whole() string {
	said := r.String()
	for _, p := range r.Prompt {
		said += fmt.Sprintf("\n- %s: %s", cmp.Or(strings.Trim(string(p.Kind)+", "+p.From, ", "), "?"), text.Visible(strings.ReplaceAll(p.Text, "\n", "\n  ")))
	}
	return said
}

// recalled lists the beginnings of the recalled messages that a reader of the room may read: those of the room itself, and in a direct chat
// those of its user's other ones.
func (r Receipt) recalled(reader chat.EntityID) (said string) {
	for _, p := range r.Prompt {
		own := p.Room == r.Run.Room || r.Run.RoomKind == chat.Direct && r.Run.Author == reader
		if p.Kind == Recalled && p.From != "" && own {
			said += fmt.Sprintf("\n- Recalled: %s: %s", text.Label(p.From), text.OneLine(p.Text, recalledSize))
		}
	}
	return said
}

// recalledSize is the maximum length of a recalled message in a receipt, in characters.
const recalledSize = 200

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
				run, err := cr.Store.RunShowing(ctx, m.Room, false, name, 1000) // turns: a command is seldom
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
		if said = lang.Say(ctx, "why.none"); err != nil || !owner {
			return chat.Unless(err, chat.ErrNotFound)
		}
		if err := cr.journal.Meter.Save(ctx); err != nil {
			return err
		}
		receipt, err := ReceiptOf(ctx, cr.Store, id)
		said = receipt.String() + receipt.recalled(m.Author)
		return err
	})
	return said, err
}
