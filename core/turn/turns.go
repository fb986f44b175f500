package turn

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"parley/core/access"
	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/consent"
	"parley/core/event"
	"parley/core/generate"
	"parley/core/quota"
	"parley/core/relay"
	"parley/core/schedule"
	"parley/core/toolcall"
	"parley/internal/lang"
	"parley/internal/trace"
)

// Display shows answers, and notifies observers of runs. Its fields are set before use. It is safe for concurrent use.
type Display struct {
	Open     Opener
	Signals  *schedule.Signals
	Live     *relay.Registry
	Hub      *event.Hub
	Replicas bool                        // users can watch the answer at other replicas
	Limit    time.Duration               // of a turn
	Trace    func(chat.RunID) trace.Span // nil: no traces
}

// Turns executes runs. Its fields are set before use. It is safe for concurrent use.
type Turns struct {
	Display   *Display
	Journals  *Journals
	Decider   *Decider
	Preparer  *Preparer
	Generator *Generator
	Asking    *Asking
	Replies   *Replies
	Endings   *Endings
}

// Execute answers a run: it decides whether to answer if that is open, claims the room, generates and acts, journals
// the verdict, shows it, and finishes. An error leaves the run open for the next attempt.
//
// process ends with the process; life, its child, also ends with this function, so that no concurrent part of the turn
// outlives it.
func (ts *Turns) Execute(life context.Context, t *schedule.Turn) error {
	run, about := &t.Run, ts.Display.info(t.Run)
	process := access.Speak(event.WithRun(quota.WithSpender(life, run), about), ts.Endings.Store, run.Author, ts.Endings.Log)
	defer quota.WaitSettled(process)
	life, done := context.WithCancel(process)
	defer done()
	a := ts.Display.Live.Hold(run.ID, run.Room, run.Epoch)
	defer ts.Display.Live.Release(run.ID, a)
	x := ts.execution(&attempt{run: *run, info: about, answer: a, life: life, quit: func(error) {}, place: t.Place, waits: t.Waits}, t.Gap)
	defer func() { x.at.quit(nil) }()
	surface, refused, ended, err := x.begin()
	if ended {
		ts.Display.Signals.Dropped(*run)
	}
	if err != nil || ended {
		return err
	}
	defer ts.Display.Signals.Started(*run)()
	defer x.at.side.Wait()
	defer done()
	x.publish()
	if err := x.answerAndShow(surface, refused); err != nil {
		return chat.Unless(err, chat.ErrParked)
	}
	ts.Endings.After.evaluate(process, x.at, x.out, x.prep.lost)
	return nil
}

// execution joins the parts of an execution. They are created one after the other; only the calls of actions and the
// parts that they use depend on each other: these are set last.
func (ts *Turns) execution(at *attempt, gap int) *execution {
	g, j := ts.Generator, ts.Journals.open(at, gap)
	reading := ts.Preparer.Reading
	reading.Inputs, reading.Life = at.run.Inputs, at.life
	calls := &toolcall.Calls{
		Run: at.run, Info: at.info, Turn: &at.turn, Answer: at.answer, Toolbox: g.Tools.Live.Now(), Await: g.Tools.Live.Await, Approvals: approver{g.Approvals, j},
		Offers: g.Tools.offers, Journal: j, Risk: &j.risk, ConfirmFor: g.Approvals.Waits(), Life: at.life, Emit: g.Emit, Log: g.Log,
	}
	gen := &generate.Writer{
		Config: g.Config, First: g.Turns.First, Idle: g.Turns.Idle, Answer: at.answer, Calls: calls, Sessions: &sessions{g.Sessions, at, j},
		Unfollow: j.unfollow, Jitter: j.Jitter, Info: at.info, Emit: g.Emit, Log: g.Log,
	}
	w := &waiting{at: at, journal: j, store: ts.Asking.Parking, approvals: g.Approvals, gen: gen, calls: calls}
	ak := &asking{Asking: ts.Asking, at: at, journal: j, calls: calls, waiting: w}
	w.hold = &holding{at: at, journal: j, policy: ts.Preparer.Recaller.Access, approvals: g.Approvals, calls: calls, gen: gen, asking: ak, waiting: w}
	sp := &spending{Gate: g.Gate, at: at, gen: gen, waiting: w, asking: ak}
	x := &execution{
		Turns: ts, at: at, journal: j, calls: calls, gen: gen, asking: ak, waiting: w, spending: sp,
		prep:    preparation{Preparer: ts.Preparer, at: at, journal: j, calls: calls, gen: gen, reading: reading},
		command: commandRun{Replies: ts.Replies, at: at, journal: j, asking: ak},
		notice:  notice{Replies: ts.Replies, at: at, journal: j, gen: gen, spending: sp, asking: ak},
		ending:  ending{Endings: ts.Endings, at: at, journal: j, calls: calls, gen: gen, asking: ak, waiting: w},
	}
	x.deciding = deciding{Decider: ts.Decider, at: at, journal: j, gen: gen, reading: &x.prep.reading}
	files := func(ctx context.Context, files []chat.Attachment) []chat.Attachment {
		return x.prep.reading.Files(ctx, at.turn, files)
	}
	calls.Host = action.Host{Say: g.Say, Await: j.await, Ask: ak.ask, Park: ak.wait, Chose: w.chose, Waited: w.waited, Files: files}
	calls.Outputs = x.prep.outputs
	steer := &steering{at: at, journal: j, policy: g.Turns, approvals: g.Approvals, prep: &x.prep}
	gen.Steer = steer.join
	return x
}

// info returns the data of run for events.
func (d *Display) info(run chat.Run) event.RunInfo {
	i := event.RunInfo{Run: run.ID, Room: run.Room, Source: run.Address.Connector, Start: time.Now()}
	if d.Trace != nil {
		i.Trace = d.Trace(run.ID)
	}
	if n := len(run.Inputs); n > 0 {
		i.Message, i.Entity = run.Inputs[n-1], run.Author
	}
	return i
}

// ended returns the event of the run's end.
func (x *execution) ended(o answer.Outcome) event.Event {
	i, now := x.at.info, time.Now()
	end := event.RunEnd{
		End: now, Duration: now.Sub(i.Start), Status: o.Status, Failure: o.Failure, Cost: quota.CostOf(x.at.life),
		Asked: x.at.turn.Message.At, Opened: x.at.asked(), FirstText: x.journal.firstText(),
	}
	if !end.Opened.Equal(x.at.run.Opened) { // asked again, not by a new message
		end.Asked = end.Opened
	}
	if o.Failure != "" {
		end.Err = o.Failure.Sentence(lang.Voice{})
	}
	if o.Status == answer.TimedOut {
		return event.RunTimeout{RunInfo: i, RunEnd: end}
	}
	return event.RunEnded{RunInfo: i, RunEnd: end}
}

// hasBegun reports whether an earlier holder has left visible output, or effects that may have happened, or whether the
// platform shows that it waits for the answer. Such a run must end visibly, and is not dropped silently.
func hasBegun(r *chat.Run) bool {
	return len(r.Shown) > 0 || r.Acting != "" || r.Verdict != nil || r.Continues || r.Kind == chat.RunRespond
}

// Generator creates the writers of answers, and the calls of actions. Its fields are set before use. It is safe for
// concurrent use.
type Generator struct {
	Config    generate.Config
	Turns     schedule.TurnPolicy
	Tools     *Tools
	Approvals *consent.Approvals
	Sessions  *Sessions
	Gate      *Gate
	Say       func(ctx context.Context, n chat.Notice) error // sends a message to another room
	Emit      func(event.Event)
	Log       *slog.Logger
}

const maxParked = 1000 // open runs among which those are searched; there are far fewer

// WakeDecided wakes the parked runs whose request a user has decided just before they were parked, if their holder could not check that
// afterwards, as when it died. It can be called at any time, by several processes. It fails with the error of the store.
func (ts *Turns) WakeDecided(ctx context.Context) error {
	open, err := ts.Asking.Parking.RunsSince(ctx, time.Time{}, chat.OpenRuns, maxParked)
	for _, run := range open {
		if run.Parked && time.Now().Before(run.Ready) {
			err = errors.Join(err, ts.wakeDecided(ctx, run))
		}
	}
	return err
}

func (ts *Turns) wakeDecided(ctx context.Context, run chat.Run) error {
	var c continuation
	data, err := ts.Asking.Parking.Continuation(ctx, run.ID)
	if err != nil || json.Unmarshal(data, &c) != nil { // it is over, or load reports it
		return chat.Unless(err, chat.ErrNotFound)
	}
	_, chosen, err := chose(ctx, ts.Asking.Parking, run.ID, c.For)
	decided, failed := ts.Endings.Approvals.Decided(ctx, c.For)
	if chosen || decided {
		return ts.Asking.Parked.Continue(ctx, run.ID, run.Room)
	}
	return errors.Join(err, failed)
}
