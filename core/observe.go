package core

import (
	"context"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/quota"
)

// MissedEvents counts what observers were too slow for.
func (rt *Runtime) MissedEvents() uint64 { return rt.hub.Missed() }

// Watch returns the answer of a run, to be followed until it has ended, on whatever replica it is made: see [relay.Registry].
func (rt *Runtime) Watch(ctx context.Context, id chat.RunID) (*answer.Answer, error) {
	return rt.live.Watch(ctx, id)
}

// info returns what the events of run say about it.
func info(run chat.Run) event.RunInfo {
	i := event.RunInfo{Run: run.ID, Room: run.Room, Source: run.Address.Connector, Start: time.Now()}
	if n := len(run.Inputs); n > 0 {
		i.Message, i.Entity = run.Inputs[n-1], run.Author
	}
	return i
}

// ended returns the event of a run's end.
func ended(i event.RunInfo, o answer.Outcome, cost quota.USD) event.Event {
	now := time.Now()
	end := event.RunEnd{End: now, Duration: now.Sub(i.Start), Status: o.Status, Cost: cost}
	if o.Failure != "" {
		end.Err = o.Failure.Sentence()
	}
	if o.Status == answer.TimedOut {
		return event.RunTimeout{RunInfo: i, RunEnd: end}
	}
	return event.RunEnded{RunInfo: i, RunEnd: end}
}
