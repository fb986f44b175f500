package core

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/attachment"
	"parley/core/budget"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/generate"
	"parley/core/llm"
	"parley/core/parking"
	"parley/core/prompt"
	"parley/core/quota"
	"parley/core/schedule"
	"parley/core/toolcall"
)

// hasBegun reports whether an earlier holder has left something that people may have seen or that may have happened. Such a run must be
// brought to a visible end, and is not dropped silently.
func hasBegun(r *chat.Run) bool {
	return len(r.Shown) > 0 || r.Acting != "" || r.Verdict != nil || r.Continues
}

// The parts of an execution, each with one subject. They share its run and its answer, and have only the store methods that they need.
type (
	// preparation finds out what a turn is about before a model is asked.
	preparation struct {
		x        *execution
		store    prepareStore
		reading  attachment.Reading
		lost     bool       // the prompt holds less than it should: the rest is to be summed up
		pictures []llm.File // that the model is shown
	}
	// deciding finds out whether a turn is answered at all.
	deciding struct{ x *execution }
	// ending judges how a turn ends.
	ending struct{ x *execution }
	// asking has people choose.
	asking struct {
		x       *execution
		store   askStore
		offered *answer.Choices // what the answer asks, under the execution's lock
	}
	// commandRun does what a command asks for.
	commandRun struct {
		x     *execution
		store statusStore
	}
)

// execution is one holder's work on one run, from its start to its end or until the holder loses it. It is used by one goroutine, except
// for what mu guards: the surface, the notes of the text and the waits for choices run beside.
type execution struct {
	rt     *Runtime
	store  runStore
	run    chat.Run
	info   event.RunInfo
	answer *answer.Answer
	life   context.Context         // of the process
	work   context.Context         // of the turn: ends when a later one takes the room, on stop, and at the limit
	quit   context.CancelCauseFunc // ends work; its cause becomes the end of the answer
	posts  bool                    // the answer is shown in messages of its own; otherwise people watch it as a stream
	turn   action.TurnContext      // what the turn is about, once that is recalled
	state  *prompt.Builder         // makes the prompts of the turn, once that is prepared
	paid   bool                    // this attempt is counted in the journal
	place  *schedule.Place         // its share of the limits on parallel answers
	out    chat.Memory             // what the run has said, once that is stored
	waits  []chat.Run              // those of the room that wait for an approval

	side       sync.WaitGroup // goroutines beside the turn: publishing, open questions; each ends with life
	savedFiles []llm.File     // files that are remembered with the verdict

	mu     sync.Mutex
	since  int          // the last gap of the lease after which the run was known to be held
	posted bool         // there is, or may be, a message in sight
	shown  []chat.Shown // what the journal holds of its messages, by part

	prep      preparation
	deciding  deciding
	ending    ending
	gen       *generate.Writer
	toolCalls *toolcall.Calls
	asking    asking
	command   commandRun
	waiting   parking.Waiting
	risk      toolcall.Risk
}

// execute answers run: it decides whether to answer if that is open, claims the room, generates and acts, journals how the run ended,
// shows that, and finishes. An error leaves the run open for the next attempt.
//
// process lives as long as the process may work; life, its child, ends with this function too, so that nothing beside the turn
// outlives it.
func (rt *Runtime) execute(life context.Context, t *turn) error {
	run, about := &t.run, info(t.run)
	process := event.WithRun(quota.WithSpender(life, run), about)
	defer quota.WaitSettled(process)
	life, done := context.WithCancel(process)
	defer done()
	a := rt.live.Hold(run.ID, run.Room, run.Epoch)
	defer rt.live.Release(run.ID, a)
	x := rt.newExecution(life, run, about, a)
	x.since, x.place, x.waits = t.since, t.place, t.waits
	defer func() { x.quit(nil) }()
	surface, refused, ended, err := x.begin()
	if err != nil || ended {
		return err
	}
	defer x.side.Wait()
	defer done()
	x.publish()
	if err := x.answerAndShow(surface, refused); err != nil {
		return chat.Unless(err, chat.ErrParked)
	}
	x.evaluate(process)
	return nil
}

// begin does what comes before the answer: it decides whether there is one if that is open, claims the room, and opens the conversation.
// refused is why the run has no right to the room: then it goes on only to bring what people have seen to an end. ended reports that the run
// is over.
func (x *execution) begin() (surface Surface, refused error, ended bool, err error) {
	rt, run := x.rt, &x.run
	rt.hub.Emit(event.RunStarted{RunInfo: x.info})
	rt.hub.Follow(x.info, x.answer)
	if run.Kind == chat.RunDecide && !hasBegun(run) {
		if schedule.IsExhausted(run) {
			x.setAside()
			return nil, nil, true, x.finish(chat.Verdict{Outcome: answer.Outcome{Status: answer.Failed, Failure: llm.SetAside, Withdrawn: true}})
		}
		if wanted, err := x.deciding.wanted(); err != nil {
			return nil, nil, false, err
		} else if !wanted {
			return nil, nil, true, x.finish(chat.Verdict{Outcome: answer.Outcome{Status: answer.Ignored, Withdrawn: true}, Actions: x.gen.Trace.Actions})
		}
	}
	if err := x.waiting.Load(x.life); err != nil {
		return nil, nil, false, err
	}
	// From here on the run has the room, unless refused says why not. A refused run still goes on if it has begun: what people have
	// seen of it needs an end.
	refused = x.claimRoom()
	if ended := x.waiting.Ended(); ended != nil {
		refused = ended
	}
	if run.Kind.Claims() {
		rt.live.OnLoss(run.ID, x.answer, x.quit)
	}
	if refused == nil && len(run.Inputs) == 0 && run.Kind != chat.RunChoiceResult {
		refused = chat.ErrStopped // what was asked was taken back
	}
	if refused != nil && !hasBegun(run) {
		x.abandon()
		return nil, nil, true, x.finish(chat.Verdict{Outcome: answer.Outcome{Status: chat.StatusOf(refused), Withdrawn: true}})
	}
	surface, err = rt.cfg.Open(x.life, *run)
	if errors.Is(err, chat.ErrUnreached) {
		x.abandon()
		return nil, nil, true, x.finish(chat.Verdict{Outcome: answer.Outcome{Status: answer.Failed, Withdrawn: true}})
	} else if err != nil {
		return nil, nil, false, fmt.Errorf("open the conversation of %s: %w", run.ID, err)
	}
	x.posts = surface != nil
	return surface, refused, false, nil
}

// publish offers the answer to readers at other replicas, if there are others.
func (x *execution) publish() {
	if run := x.run; x.rt.cfg.Bus != nil {
		x.side.Go(func() { x.rt.live.Publish(x.life, run, x.answer) })
	}
}

// newExecution joins the parts of an execution. Functions in place of values are for what is only known later in the turn.
func (rt *Runtime) newExecution(life context.Context, run *chat.Run, about event.RunInfo, a *answer.Answer) *execution {
	s := rt.stores
	x := &execution{
		rt: rt, store: s.run, run: *run, info: about, answer: a, life: life, quit: func(error) {}, posted: len(run.Shown) > 0, shown: run.Shown,
	}
	x.prep, x.deciding, x.ending = preparation{x: x, store: s.prepare}, deciding{x}, ending{x}
	x.risk.Store = func() error { return x.note(chat.Note{}) }
	x.asking, x.command = asking{x: x, store: s.ask}, commandRun{x, s.status}
	x.prep.reading = attachment.Reading{
		Reader: rt.cfg.Reader, Store: s.files, Inputs: run.Inputs, Describes: rt.cfg.Models.Vision != nil,
		Describe: rt.composer.Describe, Life: life, Log: rt.cfg.Log,
	}
	x.toolCalls = &toolcall.Calls{
		Run: *run, Info: x.info, Turn: &x.turn, Answer: a, Toolbox: rt.tools.Now(), Await: rt.tools.Await, Desk: rt.desk, Offers: rt.offers, Journal: x, Risk: &x.risk, Life: life, Emit: rt.hub.Emit, Log: rt.cfg.Log,
		Host: action.Host{Await: x.await, Ask: x.asking.ask, Say: func(ctx context.Context, n chat.Notice) error {
			_, err := rt.Say(ctx, n)
			return err
		}, Park: x.asking.wait, Chose: x.waiting.Chose, Waited: x.waiting.Waited},
		ConfirmFor: rt.desk.Waits(),
		Outputs: func() []prompt.Output {
			if x.state == nil {
				return nil
			}
			return x.state.Outputs
		},
	}
	x.gen = &generate.Writer{
		Config: rt.cfg.Generation, First: rt.cfg.Turns.First, Idle: rt.cfg.Turns.Idle, Answer: a, Calls: x.toolCalls,
		Unfollow: x.unfollow, Jitter: rt.cfg.Jitter, Info: x.info, Emit: rt.hub.Emit, Log: rt.cfg.Log,
	}
	x.waiting = parking.Waiting{Run: &x.run, Store: s.park, Answer: a, Writer: x.gen, Calls: x.toolCalls, Persist: x.persist, Log: rt.cfg.Log}
	return x
}

// generate writes the answer, unless it is complete without a model.
func (x *execution) generate(ctx context.Context) error {
	x.toolCalls.UseToolbox(x.rt.tools.Started(ctx))
	st, err := x.prep.prepare(ctx)
	switch {
	case errors.Is(err, errTold):
		return nil
	case err != nil:
		return err
	}
	x.gen.Pass = x.passes()
	if err = x.gen.Write(ctx, st); errors.Is(err, budget.ErrDeclined) {
		return nil
	}
	return err
}

// unfollow ends the agent's participation in the room until it is addressed again.
func (x *execution) unfollow() error {
	return x.persist(x.life, func() error { return x.store.SetAttention(x.life, x.run.Room, chat.Unfollowed) })
}

// answerAndShow writes the answer while surface shows it. surface is nil where people watch the answer as a stream.
func (x *execution) answerAndShow(surface Surface, refused error) error {
	show, hide := context.WithCancelCause(x.life)
	defer hide(nil)
	shown := make(chan error, 1)
	if !schedule.IsExhausted(&x.run) {
		x.waiting.Resume()
	}
	if surface != nil {
		go func() { shown <- x.show(show, surface) }()
	}
	stopNotes := x.noteText()
	v, err := x.write(refused)
	x.place.Leave() // the only step left is to show it
	stopNotes()
	if errors.Is(err, chat.ErrParked) {
		return x.park(hide, shown)
	}
	return x.conclude(v, err, hide, shown)
}

// conclude ends the answer with v, and the run. The verdict is journaled before people see it: a process that adopts the run shows the same
// end, and not another one. After an error the end is not shown: the process that adopts the run shows it.
func (x *execution) conclude(v *chat.Verdict, err error, hide context.CancelCauseFunc, shown <-chan error) error {
	if err == nil && x.run.Verdict == nil && (x.posts || len(x.savedFiles) > 0) {
		err = x.Note(x.life, chat.Note{Verdict: v, Files: x.savedFiles})
	}
	if err != nil {
		hide(err)
		if x.posts {
			<-shown
		}
		return err
	}
	if !x.posts { // to finish stores the verdict too, so that readers who see the end of the stream find the answer stored
		return x.finish(*v)
	}
	x.answer.End(v.Outcome)
	last := *v
	if err := <-shown; errors.Is(err, answer.ErrLost) || x.life.Err() != nil {
		return errors.Join(err, context.Cause(x.life))
	} else if errors.Is(err, ErrRemoved) {
		last = wasRemoved(last)
	} else if errors.Is(err, ErrUnconfirmed) {
		last = x.unconfirmed(last)
	} else if err != nil && settled(err) == nil {
		x.rt.cfg.Log.Error("the end of the answer could not be shown", "run", x.run.ID, "err", err)
	}
	return x.finish(last)
}

// show has surface show the answer until that ends, and returns the error of surface. If surface gives up before the end, no
// user sees what is still being written: the turn ends, too, because it would cost money for nothing.
func (x *execution) show(ctx context.Context, surface Surface) error {
	err := surface.Show(ctx, x.answer, x.noteShown)
	if settled(err) != nil && !errors.Is(err, ErrRemoved) { // the room was lost before the first message: only the end is shown
		select {
		case <-x.answer.Ended():
			err = surface.Show(ctx, x.answer, x.noteShown)
		case <-ctx.Done():
		}
	}
	done := x.answer.View().Outcome.Done()
	switch {
	case errors.Is(err, ErrRemoved):
		x.quit(err)
	case err == nil && !done:
		x.quit(errUnshown)
	}
	return err
}

// claimRoom announces this turn as the latest of the room, and returns why it is not: a later one, or a stop. It sets the context of the
// turn. A tracker that is down refuses no run: the journal allows one run of a room at a time anyway.
func (x *execution) claimRoom() (refused error) {
	base, cancel := context.WithTimeoutCause(x.life, x.rt.cfg.Turns.Limit, chat.ErrTimeout)
	base, quit := context.WithCancelCause(base)
	x.quit = func(cause error) { quit(cause); cancel() }
	x.work = base
	if !x.run.Kind.Claims() {
		return nil
	}
	claimed, err := x.rt.cfg.Tracker.Claim(base, x.rt.cfg.Agent.ID, x.run.Claim(), x.run.Turn())
	if refused = settled(err); refused != nil {
		quit(refused)
	} else if claimed != nil { // also with an error: then it still ends with what the tracker can notice, see [Tracker]
		x.work = claimed
	}
	return refused
}

// write makes the answer and returns how it ends. An error means that this holder must not decide that: the run is lost, parked, or
// the process ends. A run that is decided is only shown.
func (x *execution) write(refused error) (*chat.Verdict, error) {
	if v := x.run.Verdict; v != nil {
		x.answer.Replay(v.Text, v.History, v.Calls, x.filesOf)
		return v, nil
	}
	return x.ending.of(x.produce(refused))
}

// produce makes the answer, and returns why there is no whole one. The cases are in the order of what is known of the run: one that crashed
// processes too often is not tried again; one that was refused, or whose writing action may have happened, ends with what people have read
// so far.
func (x *execution) produce(refused error) error {
	run := &x.run
	switch {
	case schedule.IsExhausted(run): // without its text, which could be what ended the processes
		if refused != nil {
			return refused
		}
		x.setAside()
		return schedule.ErrSetAside
	case refused != nil:
		if !run.Continues {
			x.answer.Replay(run.Text, nil, nil, nil)
		}
		return refused
	case run.Acting != "" && !run.Continues: // it may have happened, and must not happen again
		x.answer.Replay(run.Text, nil, nil, nil)
		return errCutOff
	case run.Kind == chat.RunNotify:
		return x.sendNotice(x.work)
	case run.Kind == chat.RunCommand:
		return x.command.runCommand(x.work)
	case run.Kind == chat.RunChoiceResult:
		return x.asking.resumeChoice(x.work)
	}
	return x.reportLimit(x.work, x.generate(x.work))
}

// Settle returns why the turn no longer has the room, or nil. It asks the tracker, and not only the context, whose end may still be on its
// way from another replica.
func (x *execution) Settle() error {
	if !x.run.Kind.Claims() {
		return nil
	}
	ctx, cancel := context.WithTimeout(x.life, coordTimeout)
	defer cancel()
	return settled(x.rt.cfg.Tracker.Settle(ctx, x.rt.cfg.Agent.ID, x.run.Claim(), x.run.Turn()))
}
