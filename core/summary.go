package core

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/prompt"
	"parley/core/text"
)

// maxSummary is the most that is kept of a summary, in characters. It takes its place in every later prompt.
const maxSummary = 4000

// trimHistory cuts the conversation of the turn to what a prompt of at most limit tokens may hold (0: the configured number), and adds the
// summary of what went before. If that can't be read the turn continues without it. Messages with files are kept apart, since questions often refer
// to a picture from long before.
func (pn *preparation) trimHistory(ctx context.Context, limit int) {
	limits := pn.x.rt.composer.Recall
	s := &pn.x.turn
	var summed chat.MemoryID
	if limits.Summaries {
		notes, err := pn.store.Notes(ctx, pn.x.run.Room, chat.SummaryNote, 1)
		if err != nil {
			pn.x.rt.cfg.Log.Warn("can't read a summary; continuing without it", "run", pn.x.run.ID, "err", err)
		}
		for _, n := range notes {
			s.Summary, summed = n.Text, n.Last
		}
	}
	for _, m := range s.Recent {
		if len(m.Files) > 0 {
			s.Attached = append(s.Attached, m)
		}
	}
	var lost bool
	s.Recent, lost = pn.x.rt.composer.Trim(*s, summed, limit)
	pn.lost = lost && limits.Summaries
}

// summarize has the small model summarize what no longer fits, together with the earlier summary. It summarizes down to half of the budget,
// so that the next turns don't need it again, and the prompts of these keep the same beginning for the caches of providers.
func (rt *Runtime) summarize(ctx context.Context, run chat.Run) error {
	limits := rt.composer.Recall
	recent, err := rt.stores.summary.Recent(ctx, run.Room, chat.Said, 0, prompt.Window)
	if err != nil {
		return fmt.Errorf("recall %s: %w", run.Room, err)
	}
	before, err := rt.stores.summary.Notes(ctx, run.Room, chat.SummaryNote, 1)
	if err != nil {
		return fmt.Errorf("read the summary of %s: %w", run.Room, err)
	}
	s := rt.answering(action.TurnContext{Agent: rt.cfg.Agent, Run: run.ID, Room: chat.Room{ID: run.Room, Kind: run.RoomKind}, Private: run.RoomKind.Private()})
	note := chat.RoomNote{Room: run.Room, Kind: chat.SummaryNote, At: time.Now()}
	for _, n := range before {
		note.First, note.Last, s.Summary = n.First, n.Last, n.Text
	}
	part := prompt.Older(recent, note.Last, limits.History/2)
	if len(part) == 0 {
		return nil
	}
	if note.First == "" {
		note.First = part[0].ID
	}
	note.Last = part[len(part)-1].ID
	summary := s.Summary
	s.Summary, s.Recent = "", prompt.Keep(part, len(part), prompt.Cut{Budget: limits.Prompt / 4}).Kept // the summary has a place of its own
	txt, err := s.Ask(ctx, prompt.Summary, map[string]string{"summary": summary})
	if err != nil {
		return fmt.Errorf("summarize %s: %w", run.Room, err)
	}
	if txt == "" {
		return errors.New("the model returned an empty summary")
	}
	note.Text = text.Excerpt(txt, maxSummary)
	if err := rt.stores.summary.SaveNote(ctx, note); chat.Unless(err, chat.ErrNotFound) != nil { // not found: a part of it was just deleted
		return fmt.Errorf("save the summary of %s: %w", run.Room, err)
	}
	return nil
}
