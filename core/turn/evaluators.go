package turn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/prompt"
	"parley/core/quota"
	"parley/core/schedule"
	"parley/core/storage"
	"parley/core/text"
	"parley/internal/contain"
)

// SummaryStore contains the store methods of [Evaluators].
type SummaryStore interface {
	storage.RoomNotes
	Recent(ctx context.Context, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) ([]chat.Memory, error)
}

// Evaluators does background work after turns: evaluators of plugins, and summaries. Its fields are set before use. It
// is safe for concurrent use.
type Evaluators struct {
	Store    SummaryStore
	Agent    chat.Agent
	Plugins  []action.Plugin
	Asker    *Asker
	Lanes    *schedule.Lanes
	Counters *schedule.Counters
	Emit     func(event.Event)
	Log      *slog.Logger
}

// evaluateAt is the number of messages of a room that make evaluators due. They call a model, so not every turn is worth it.
const evaluateAt = 4

// start does background work of a room. If too much is queued already, it skips and counts the work, and logs the first
// of a burst. It is called while the room is served, so Run, which waits for the rooms, waits for this work, too.
func (ev *Evaluators) start(life context.Context, room chat.RoomID, do func(ctx context.Context)) {
	ok, first := ev.Lanes.Background(life, room, do)
	if !ok {
		ev.Counters.Skipped.Add(1)
	}
	if first {
		ev.Log.Warn("evaluators are skipped: too many wait already", "skipped_since_start", ev.Counters.Skipped.Load())
	}
}

// evaluate starts the due evaluators, and the summary of the messages that prompts left out. Both happen after the
// answer is stored, and their failure changes nothing about it.
func (ev *Evaluators) evaluate(life context.Context, at *attempt, out chat.Memory, lost bool) {
	if out.ID == "" || out.Failure != "" || out.Interrupted || at.turn.Run == "" {
		return
	}
	var evaluators []action.Evaluator
	for _, p := range ev.Plugins {
		evaluators = append(evaluators, p.Evaluators...)
	}
	due := ev.due(at)
	evaluators = slices.DeleteFunc(evaluators, func(e action.Evaluator) bool {
		wanted := due && ev.Asker.Composer.Serves(e)
		if asks, ok := e.(action.TurnEvaluator); ok {
			wanted = false
			_ = ev.try(life, e.Name(), func() error { wanted = asks.Wants(at.turn); return nil })
		}
		return !wanted
	})
	lost = lost && ev.Asker.Model != nil
	if len(evaluators) == 0 && !lost {
		return
	}
	turn, run, info := at.turn, at.run, at.info
	ev.start(life, at.run.Room, func(ctx context.Context) {
		defer quota.WaitSettled(ctx)
		if lost {
			_ = ev.try(ctx, "the summary", func() error { return ev.summarize(ctx, run) })
		}
		for _, e := range evaluators {
			ev.run(ctx, e, info, turn, out)
		}
	})
}

// run runs one evaluator on a turn.
func (ev *Evaluators) run(ctx context.Context, e action.Evaluator, info event.RunInfo, turn action.TurnContext, said chat.Memory) {
	begun := time.Now()
	ev.Emit(event.EvaluatorStarted{RunInfo: info, Evaluator: e.Name()})
	err := ev.try(ctx, e.Name(), func() error { return e.Evaluate(ctx, turn, said) })
	done := event.EvaluatorCompleted{RunInfo: info, Evaluator: e.Name(), Duration: time.Since(begun)}
	if err != nil {
		done.Err = err.Error()
	}
	ev.Emit(done)
}

// due reports whether a multiple of [evaluateAt] is among the turn numbers since the last turn whose evaluators
// could start. Turn numbers are stored, so this works across restarts and replicas without a counter. Commands,
// reactions, and turns that failed or were interrupted have numbers too: a multiple that falls on one of these counts
// for the next answer.
func (ev *Evaluators) due(at *attempt) bool {
	return int(at.run.Response%evaluateAt) < chat.TurnsSince(at.turn.Recent, ev.Agent.Entity(), at.run.Response)
}

// try calls do. It counts, logs and returns a failure or a panic.
func (ev *Evaluators) try(ctx context.Context, what string, do func() error) error {
	err := contain.Call(what, do)
	if err != nil && !errors.Is(context.Cause(ctx), chat.ErrShutdown) {
		ev.Counters.Evaluators.Add(1)
		ev.Log.Warn("a turn evaluator failed", "what", what, "err", err)
	}
	return err
}

// maxSummary is the maximum length of a summary, in characters. A summary takes space in every later prompt.
const maxSummary = 4000

// summarize summarizes the messages that no longer fit, together with the earlier summary, with the small model. It
// summarizes down to half of the budget, so that the next turns don't need it again, and their prompts keep the same
// beginning for the caches of providers. It fails with the error of the model or the store.
func (ev *Evaluators) summarize(ctx context.Context, run chat.Run) error {
	limits := ev.Asker.Composer.Recall
	recent, err := ev.Store.Recent(ctx, run.Room, chat.Said, 0, prompt.Window)
	if err != nil {
		return fmt.Errorf("recall %s: %w", run.Room, err)
	}
	before, err := ev.Store.Notes(ctx, run.Room, chat.SummaryNote, 1)
	if err != nil {
		return fmt.Errorf("read the summary of %s: %w", run.Room, err)
	}
	s := ev.Asker.with(action.TurnContext{Agent: ev.Agent, Run: run.ID, Room: chat.Room{ID: run.Room, Kind: run.RoomKind}, Private: run.RoomKind.Private()})
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
	if err := ev.Store.SaveNote(ctx, note); chat.Unless(err, chat.ErrNotFound) != nil { // not found: a part of it was just deleted
		return fmt.Errorf("save the summary of %s: %w", run.Room, err)
	}
	return nil
}
