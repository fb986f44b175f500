package core

import (
	"context"
	"fmt"
	"strings"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/quota"
	"parley/core/schedule"
)

// enterSuspect gives a suspect its turn. Suspects are runs during which processes died; each process retries one of them at a
// time, so that the next death shows which one is the cause. If leave is nil the run has to wait. A run that is stopped or superseded
// asks no model, and needs no turn.
func (s *scheduler) enterSuspect(ctx context.Context, l schedule.Lane, run chat.Run) (leave func(), wait time.Duration) {
	if !schedule.IsSuspect(&run) || run.Kind.Claims() && s.unclaimable(ctx, run) {
		return func() {}, 0
	}
	end, wait := s.suspects.Enter(l, run, time.Now())
	if end == nil {
		return nil, wait
	}
	s.rt.cfg.Log.Warn("retrying a run that crashed processes, one such run at a time",
		"run", run.ID, "deaths", run.Deaths, "blamed", run.Blamed, "attempts", run.Attempts)
	return func() {
		for _, l := range end() {
			s.wakeLane(l)
		}
	}, 0
}

// setAside logs that the run gets no further attempt, and tells the owners. A failure to tell them is only logged: the log has it, too.
func (x *execution) setAside() {
	x.rt.cfg.Log.Error("a run is set aside because processes crashed while running it; retry it with `gateway runs retry`",
		"run", x.run.ID, "room", x.run.Room, "deaths", x.run.Deaths, "blamed", x.run.Blamed, "attempts", x.run.Attempts)
	if x.run.Kind == chat.RunNotify { // it could be this very notice
		return
	}
	if err := x.rt.TellOwners(x.life, fmt.Sprintf("set-aside/%s/%d", x.run.ID, x.run.Retried), setAsideLine); err != nil {
		x.rt.cfg.Log.Warn("can't tell the owner about a run that is set aside", "run", x.run.ID, "err", err)
	}
}

// unconfirmed logs that the end of an answer may not have arrived, tells the owners, and returns v with a note for the next prompt.
func (x *execution) unconfirmed(v chat.Verdict) chat.Verdict {
	x.rt.cfg.Log.Error("the end of an answer may not have arrived: the platform failed each time it was sent", "run", x.run.ID)
	v.Text = strings.TrimSpace(v.Text + "\n\n" + answer.Unconfirmed)
	if x.run.Kind == chat.RunNotify { // it could be this very notice
		return v
	}
	if err := x.rt.pairing.TellUnconfirmed(x.life); err != nil {
		x.rt.cfg.Log.Warn("can't tell the owner about an answer that may not have arrived", "run", x.run.ID, "err", err)
	}
	return v
}

// TellOwners sends a text to the owners in their direct chats, as far as these are known, once for each key.
func (rt *Runtime) TellOwners(ctx context.Context, key, text string) error {
	return rt.pairing.TellOwners(ctx, key, text)
}

// setAsideLine is what the owner reads.
const setAsideLine = "I gave up on a message because I crashed each time I tried to answer it. Run `gateway runs` on the machine that runs me to see and retry it."

// unclaimable reports whether the tracker says that the run was stopped or superseded.
func (s *scheduler) unclaimable(ctx context.Context, run chat.Run) bool {
	ctx, cancel := context.WithTimeout(ctx, coordTimeout)
	defer cancel()
	return settled(s.rt.cfg.Tracker.Settle(ctx, s.rt.cfg.Agent.ID, run.Claim(), run.Turn())) != nil
}

// countAttempt counts in the journal, before the first call of a model, that this attempt costs something. It must survive the process:
// the number of attempts bounds what a run that always crashes can cost.
func (x *execution) countAttempt(ctx context.Context) error {
	if x.paid {
		return nil
	}
	_, err := x.attempt(ctx, "")
	return err
}

// countMessage counts the message against the limits, together with this attempt.
func (x *execution) countMessage(ctx context.Context) error {
	if x.paid {
		return x.rt.cfg.Meter.CountMessage(ctx)
	}
	return x.rt.cfg.Meter.CountWith(ctx, func(day string, message ...quota.Charge) (over string, err error) {
		return x.attempt(ctx, day, message...)
	})
}

func (x *execution) attempt(ctx context.Context, day string, message ...quota.Charge) (over string, err error) {
	err = x.persist(ctx, func() (err error) {
		over, err = x.store.Attempt(x.life, x.run.ID, x.run.Epoch, day, message...)
		return err
	})
	x.paid = err == nil && over == ""
	return over, err
}

// RetryRun answers a run that was set aside again, see [storage.Retries].
func (rt *Runtime) RetryRun(ctx context.Context, id chat.RunID) error {
	run, err := rt.scheduler.store.Run(ctx, id)
	if err == nil {
		err = rt.scheduler.store.RetryRun(ctx, id)
	}
	if err != nil {
		return fmt.Errorf("retry the run %s: %w", id, err)
	}
	rt.scheduler.wakeLane(schedule.Lane{Room: run.Room, Control: run.Kind.OutOfBand()})
	return nil
}
