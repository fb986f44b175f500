package turn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/quota"
	"parley/core/schedule"
	"parley/core/toolcall"
)

// JournalStore contains the store methods of [Journals]. Contracts and errors are those of package storage.
type JournalStore interface {
	Attempt(ctx context.Context, id chat.RunID, epoch chat.Epoch, day string, message ...quota.Charge) (over string, err error)
	Finish(ctx context.Context, id chat.RunID, epoch chat.Epoch, o answer.Outcome, out chat.Memory) error
	Join(ctx context.Context, id chat.RunID, epoch chat.Epoch, from chat.RunID, day string, message ...quota.Charge) (joined []chat.MemoryID, over string, err error)
	Memory(ctx context.Context, id chat.MemoryID) (chat.Memory, error)
	Note(ctx context.Context, id chat.RunID, epoch chat.Epoch, n chat.Note) error
	OpenRuns(ctx context.Context, room chat.RoomID) ([]chat.Run, error)
	Remember(ctx context.Context, run chat.RunID, m chat.Memory) error
	Run(ctx context.Context, id chat.RunID) (chat.Run, error)
	SetAttention(ctx context.Context, room chat.RoomID, a chat.Attention) error
}

// Journals opens the journals of runs. Its fields are set before use. It is safe for concurrent use.
type Journals struct {
	Store  JournalStore
	Meter  *quota.Meter // counts messages; nil for no limits
	Lease  *schedule.Lease
	Claims *schedule.Claims
	Jitter func(time.Duration) time.Duration // spreads the pauses between retries
	Log    *slog.Logger
}

// journal is one holder's journal of its run: the data for the next holder. Through it the store refuses a holder that
// has lost the run. It is safe for concurrent use, except for the counts of the attempt.
type journal struct {
	*Journals
	at    *attempt
	taken chat.Run // the run as its holder took it: the surface checks the claim while the turn changes its inputs
	risk  toolcall.Risk
	paid  bool // this attempt is counted

	mu      sync.Mutex
	gap     int          // the last gap of the lease that did not cost this process the run
	posted  bool         // there is, or may be, a message in sight
	shown   []chat.Shown // the messages that are journaled, by part
	edits   int          // changes of messages
	refused int          // by rate limits
	seen    time.Time    // when the first message was in sight, if this process posted it
}

func (js *Journals) open(at *attempt, gap int) *journal {
	j := &journal{Journals: js, at: at, taken: at.run, gap: gap, posted: len(at.run.Shown) > 0, shown: at.run.Shown}
	j.risk.Store = func() error {
		err := j.note(chat.Note{})
		if chat.Unless(err, answer.ErrLost) != nil {
			j.Log.Warn("a risk can't be recorded; continuing", "run", at.run.ID, "err", err)
		}
		return err
	}
	return j
}

// seenTimeout is the maximum time that an action waits until users see its output. A platform can delay edits for that long.
const seenTimeout = 30 * time.Second

// noteEvery is the interval of journaling the text so far. If the process dies, the answer ends with the journaled
// text.
const noteEvery = 5 * time.Second

// Note journals n, and retries while the store is down. It fails with [answer.ErrLost] if another process has the run.
func (j *journal) Note(ctx context.Context, n chat.Note) error {
	return j.persist(ctx, func() error { return j.note(n) })
}

// Remember stores m as a memory of the room besides the answer, such as the result of an action. If the question was
// deleted meanwhile, nothing is stored. It fails with the error of the store.
func (j *journal) Remember(ctx context.Context, m chat.Memory) error {
	return j.persist(ctx, func() error { return chat.Unless(j.Store.Remember(ctx, j.at.run.ID, m), chat.ErrNotFound) })
}

// note journals n. It outlives the turn: an action must be recorded also when a later turn has the room. It fails with
// [answer.ErrLost].
func (j *journal) note(n chat.Note) error {
	n.Risk = j.risk.Now()
	if err := j.Store.Note(j.at.life, j.at.run.ID, j.at.run.Epoch, n); err != nil {
		return fmt.Errorf("record %s: %w", j.at.run.ID, err)
	}
	return nil
}

// persist repeats f while the store is down. A verdict or a charge must not be repeated because one write failed. It
// fails when the run is lost or parked, or ctx is done.
func (j *journal) persist(ctx context.Context, f func() error) error {
	for wait := schedule.HeartbeatEvery / 10; ; wait = min(2*wait, schedule.HeartbeatEvery) {
		err := f()
		if err == nil || errors.Is(err, answer.ErrLost) || errors.Is(err, chat.ErrParked) || ctx.Err() != nil {
			return err
		}
		if wait == schedule.HeartbeatEvery/10 { // only the first failure is news
			j.Log.Error("the store is unreachable; retrying", "run", j.at.run.ID, "err", err)
		}
		select {
		case <-time.After(j.Jitter(wait)):
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		}
	}
}

// noteShown is called by the surface before and after each message that it creates, and before each change of one. An error forbids
// the change.
//
// The first message is created only if the turn still has the room: before it, a superseded run can end without a
// trace. Creations are journaled before, without an id, and after, so that another process finds the message or looks
// for it. Changes need no write, but a process that may have lost the run asks first. Once the verdict is stored the
// tracker is not asked any more: the end of the answer must be shown.
func (j *journal) noteShown(s chat.Shown) error {
	held := s.Held
	s.Held = 0
	if j.isNoted(s, held) { // it is about to be changed
		return j.holds()
	}
	if !j.visible() && !j.at.answer.View().Outcome.Done() {
		if err := j.Settle(); err != nil {
			j.at.quit(err)
			return err
		}
	}
	j.mu.Lock()
	shown := chat.WithShown(j.shown, s)
	j.mu.Unlock()
	n := chat.Note{Shown: shown, Text: j.at.answer.View().Remembered().Text()} // the process that adopts the run needs the text that users have read
	if err := j.Note(j.at.life, n); err != nil {
		j.at.quit(err)
		return err
	}
	j.mu.Lock()
	if j.posted, j.shown = true, shown; j.seen.IsZero() && s.ID != "" && len(j.at.run.Shown) == 0 {
		j.seen = time.Now()
	}
	j.mu.Unlock()
	return j.holds() // the process may have paused since the journal was written
}

// await waits until users see the answer up to at, and returns its messages there. If the answer is a stream there are
// none, and it does not wait. It fails with the cause of ctx, and if the answer can't be shown.
func (j *journal) await(ctx context.Context, at answer.Cursor) ([]chat.Shown, error) {
	if !j.at.posts {
		return nil, context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, seenTimeout, chat.ErrUnseen)
	defer cancel()
	err := j.at.answer.WaitSeen(ctx, at)
	j.mu.Lock()
	defer j.mu.Unlock()
	var all []chat.Shown
	for _, s := range j.shown {
		if s.ID != "" {
			all = append(all, s)
		}
	}
	return all, err
}

// visible reports whether a part of the answer is visible, or may be: a message whose creation has only begun counts.
func (j *journal) visible() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.posted
}

// created reports whether a message of the answer is known to exist.
func (j *journal) created() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.ContainsFunc(j.shown, func(s chat.Shown) bool { return s.ID != "" })
}

// firstText returns when users could first see a text of the answer; zero if there was none, or if an earlier process showed it.
func (j *journal) firstText() time.Time {
	if !j.at.posts {
		return j.at.answer.FirstText()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.seen
}

// noteText journals the text so far every few seconds, until the returned function is called, which waits for the last
// write. Its errors are not errors of the turn: the next interval tries again, and the verdict holds the whole text.
func (j *journal) noteText() (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	first := time.AfterFunc(noteEvery, func() { // most answers end before
		defer close(done)
		tick := time.NewTicker(noteEvery)
		defer tick.Stop()
		var at answer.Cursor
		var outage schedule.Outage
		for {
			if v := j.at.answer.View(); v.At != at {
				if err := j.note(chat.Note{Text: v.Remembered().Text()}); err == nil {
					at = v.At
					outage.Ended()
				} else if errors.Is(err, answer.ErrLost) {
					j.at.quit(answer.ErrLost)
					return
				} else if outage.Failed() {
					j.Log.Warn("can't note how far an answer has come; trying again", "run", j.at.run.ID, "err", err)
				}
			}
			select {
			case <-tick.C:
			case <-quit:
				return
			}
		}
	})
	return func() {
		if !first.Stop() {
			close(quit)
			<-done
		}
	}
}

// holds returns [answer.ErrLost] if another process has the run. As long as the lease of this process had no gap since
// the last check, no other process can have adopted the run, and nothing is read. After a gap it reads the journal,
// however long that takes: an edit by a process that lost the run would replace the answer of its new holder.
func (j *journal) holds() error {
	j.mu.Lock()
	gap := j.gap
	j.mu.Unlock()
	gap, err := j.Lease.Confirm(gap, func() error { return j.Note(j.at.life, chat.Note{}) })
	if err != nil {
		j.at.quit(err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.gap = gap
	return err
}

// isNoted reports whether the journal holds s already: then it is about to be changed and not created. It counts changes and held.
func (j *journal) isNoted(s chat.Shown, held int) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	noted := slices.Contains(j.shown, s)
	if j.refused += held; noted {
		j.edits++
	}
	return noted
}

// Settle returns the reason why the turn no longer has the room, or nil. An unreachable tracker is no reason.
func (j *journal) Settle() error { return j.Claims.Settle(j.at.life, &j.taken) }

// unfollow ends the agent's participation in the room until it is addressed again. It fails with the error of the
// store.
func (j *journal) unfollow() error {
	return j.persist(j.at.life, func() error { return j.Store.SetAttention(j.at.life, j.at.run.Room, chat.Quiet) })
}

// awaitSeen waits until users see the answer in its current state. It fails with the errors of await.
func (j *journal) awaitSeen(ctx context.Context) error {
	if !j.at.posts {
		return nil
	}
	return j.at.answer.WaitSeen(ctx, j.at.answer.View().At)
}

// countAttempt counts in the journal, before the first call of a model, that this attempt causes costs. The count must
// survive the process: it bounds the cost of a run that always crashes. It fails with the error of the store.
func (j *journal) countAttempt(ctx context.Context) error {
	if j.paid {
		return nil
	}
	_, err := j.addAttempt(ctx, "")
	return err
}

// countMessage counts the message against the limits, together with this attempt. It fails with a limit that is
// reached, or with the error of the store.
func (j *journal) countMessage(ctx context.Context) error {
	if j.paid {
		return j.Meter.CountMessage(ctx)
	}
	return j.Meter.CountWith(ctx, func(day string, message ...quota.Charge) (over string, err error) {
		return j.addAttempt(ctx, day, message...)
	})
}

func (j *journal) addAttempt(ctx context.Context, day string, message ...quota.Charge) (over string, err error) {
	err = j.persist(ctx, func() (err error) {
		over, err = j.Store.Attempt(j.at.life, j.at.run.ID, j.at.run.Epoch, day, message...)
		return err
	})
	j.paid = err == nil && over == ""
	return over, err
}

// input returns the only message of a run that is a command, a choice or a notice. It fails with [chat.ErrStopped] if that was deleted.
func (j *journal) input(ctx context.Context) (m chat.Memory, err error) {
	err = j.persist(ctx, func() (err error) {
		m, err = j.Store.Memory(ctx, j.at.run.Inputs[0])
		return chat.Unless(err, chat.ErrNotFound)
	})
	if err == nil && m.ID == "" {
		err = chat.ErrStopped
	}
	if err != nil {
		return chat.Memory{}, fmt.Errorf("read the input of %s: %w", j.at.run.ID, err)
	}
	return m, nil
}
