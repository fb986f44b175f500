package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/consent"
	"parley/core/llm"
	"parley/core/quota"
	"parley/core/schedule"
	"parley/internal/lang"
)

// steering takes messages that the asker sends during an answer into that answer, under [schedule.Steer]. Messages of other users wait
// for their own turn, because their words must not act with the asker's rights.
//
// A message waits in a run of its own until it joins. So nothing is lost if the answer ends before: that run is the next turn.
type steering struct {
	at        *attempt
	journal   *journal
	policy    schedule.TurnPolicy
	approvals *consent.Approvals
	prep      *preparation
}

// join is [generate.Writer.Steer].
func (s *steering) join(ctx context.Context) ([]llm.Message, error) {
	run, joined := &s.at.run, []chat.Memory(nil)
	if s.policy.PolicyFor(run.RoomKind) != schedule.Steer || run.Kind != chat.RunReply && run.Kind != chat.RunDecide {
		return nil, nil
	}
	var open []chat.Run
	err := s.journal.persist(ctx, func() (err error) {
		open, err = s.journal.Store.OpenRuns(ctx, run.Room)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for later messages of %s: %w", run.ID, err)
	}
	for _, from := range open {
		if !s.canJoin(from) {
			continue
		}
		more, err := s.take(ctx, from)
		if over := (*quota.LimitError)(nil); errors.As(err, &over) || errors.Is(err, answer.ErrLost) && ctx.Err() == nil {
			break // its own turn reports the limit; a run that is lost notices it with its next write
		} else if err != nil {
			return nil, err
		}
		joined = append(joined, more...)
	}
	if len(joined) == 0 {
		return nil, nil
	}
	return s.include(ctx, joined)
}

// canJoin reports whether the messages of the run from can join: it waits only for this answer, and its author is the asker.
func (s *steering) canJoin(from chat.Run) bool {
	run := s.at.run
	return from.Epoch == 0 && from.Kind == chat.RunReply && from.Ending == "" && from.Author == run.Author &&
		from.Address.BilledTo == run.Address.BilledTo && from.Response > run.Response && !from.Ready.After(time.Now())
}

// take moves the messages of the run from into this run, and returns them; none if one of them is a voice message
// that can't be transcribed: its own turn tells the user. It fails with a limit that
// is reached, with [answer.ErrLost], and with the error of the store.
func (s *steering) take(ctx context.Context, from chat.Run) (all []chat.Memory, err error) {
	run := &s.at.run
	for _, id := range from.Inputs {
		var m chat.Memory
		err := s.journal.persist(ctx, func() (err error) { // it waits for a store that is away
			m, err = s.journal.Store.Memory(ctx, id)
			return err
		})
		if errors.Is(err, chat.ErrNotFound) || err == nil && s.prep.Deaf && m.Untranscribed() {
			return nil, nil
		} else if err != nil {
			return nil, fmt.Errorf("read a later message of %s: %w", run.ID, err)
		}
		all = append(all, m)
	}
	err = s.journal.Meter.CountJoined(ctx, func(day string, message ...quota.Charge) (over string, err error) {
		err = s.journal.persist(ctx, func() error {
			_, over, err = s.journal.Store.Join(s.at.life, run.ID, run.Epoch, from.ID, day, message...)
			if errors.Is(err, answer.ErrLost) {
				err = s.checkJoined(from)
			}
			return err
		})
		return over, err
	})
	return all, err
}

// checkJoined returns nil if the messages of the run from are inputs of this run: an earlier call has moved them, and its answer was lost.
// Otherwise they would be in no prompt. It fails with [answer.ErrLost] if they are not, and with the error of the store.
func (s *steering) checkJoined(from chat.Run) error {
	now, err := s.journal.Store.Run(s.at.life, s.at.run.ID)
	if err == nil && (now.Epoch != s.at.run.Epoch || !slices.Contains(now.Inputs, from.Inputs[0])) {
		return answer.ErrLost
	}
	return err
}

// include reads the files of messages, adds them to the turn as the checks of calls and the templates read it, and tells the asker. It returns them
// for a prompt that was built before. It fails like [preparation.read].
func (s *steering) include(ctx context.Context, joined []chat.Memory) ([]llm.Message, error) {
	turn, run := &s.at.turn, &s.at.run
	turn.Recent, turn.Answered, run.Inputs = slices.Concat(turn.Recent, joined), slices.Clone(turn.Answered), slices.Clone(run.Inputs)
	for _, m := range joined {
		turn.Answered, run.Inputs = append(turn.Answered, m.ID), append(run.Inputs, m.ID)
	}
	joined, pictures, files, err := s.prep.readJoined(ctx, joined)
	if err != nil {
		return nil, err
	}
	messages := s.prep.state.Join(joined, pictures, files)
	s.approvals.Wrote(ctx, s.at.waits, *run, joined)
	s.at.answer.Apply(answer.Change{Kind: answer.Text, Step: -1 - int(s.at.answer.View().At), Notice: true, Text: "_(" + lang.Say(ctx, "steer.included") + ")_"})
	return messages, nil
}
