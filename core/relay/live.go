package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"parley/core/answer"
	"parley/core/chat"
)

const (
	pace             = 100 * time.Millisecond // interval between two frames of a watched answer
	ask              = 5 * time.Second        // interval of a watcher's requests
	askSoon          = 50 * time.Millisecond  // first retry interval while frames are missing: the run may just be starting
	askAgain         = time.Second            // the longest one, and the one while the bus is unavailable
	lastFrameTimeout = time.Second            // time limit for publishing the end of an answer
	pollSoon         = 200 * time.Millisecond // first interval of a watcher's reads of the store: a short answer may end before its holder is asked
	poll             = 2 * time.Second        // the longest one, since frames can be lost
)

// watchStore contains the store methods needed for watching a run.
type watchStore interface {
	Run(ctx context.Context, id chat.RunID) (chat.Run, error)
	Memory(ctx context.Context, id chat.MemoryID) (chat.Memory, error)
	QuestionOf(ctx context.Context, run chat.RunID) (chat.Question, error)
	Continuation(ctx context.Context, id chat.RunID) ([]byte, error)
}

// Registry contains the answers that are generated or watched in this process. It is safe for concurrent use.
type Registry struct {
	store          watchStore
	bus            Bus
	log            *slog.Logger
	publishFailing atomic.Bool // the last answer could not be offered to other replicas

	// mu guards runs and the fields of its elements, except the answers, which have locks of their own. It is never
	// held during a request to the store or the bus.
	mu       sync.Mutex
	runs     map[chat.RunID]*liveRun
	ending   bool           // no other mirror begins
	watching sync.WaitGroup // mirrors of answers from other replicas
}

// liveRun is a run that is held or watched in this process. It is removed when it is neither.
type liveRun struct {
	room   chat.RoomID    // of a held run
	answer *answer.Answer // never replaced
	// epoch is that of the answer's content; 0 if it is empty. A mirror takes no content of an earlier epoch, and none
	// of a later one.
	epoch        chat.Epoch
	parked       chat.Epoch              // of the parked run whose continuation the answer contains
	held         bool                    // this process holds the run
	quit         context.CancelCauseFunc // cancels the holder's work; nil before that has begun
	choiceSignal answer.Signal           // of the next choice
	watchers     int
}

// NewRegistry returns an empty registry. bus is nil if there are no other replicas; then nothing must be published.
func NewRegistry(store watchStore, bus Bus, log *slog.Logger) *Registry {
	return &Registry{store: store, bus: bus, log: log, runs: map[chat.RunID]*liveRun{}}
}

// Wait returns when no answers of other replicas are mirrored any more. No mirror begins after it was called.
func (l *Registry) Wait() {
	l.mu.Lock()
	l.ending = true
	l.mu.Unlock()
	l.watching.Wait()
}

// Hold returns the answer for a started run to write into: the one that readers in this process already wait for,
// unless that contains an earlier holder's output. That one is abandoned, because the new holder's text may differ from
// its beginning.
func (l *Registry) Hold(id chat.RunID, room chat.RoomID, epoch chat.Epoch) *answer.Answer {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.runs[id]
	if r != nil && r.epoch != 0 {
		r.answer.Abandon()
		r = nil
	}
	if r == nil {
		r = &liveRun{answer: &answer.Answer{}}
		l.runs[id] = r
	}
	r.room, r.epoch, r.held = room, epoch, true
	return r.answer
}

// OnLoss registers the function that cancels the work on a held answer. It has no effect if the run has another answer
// by now.
func (l *Registry) OnLoss(id chat.RunID, a *answer.Answer, quit context.CancelCauseFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.runs[id]; r != nil && r.answer == a {
		r.quit = quit
	}
}

// Lose cancels the work in this process on a run that was reopened, with [answer.ErrLost]. Other processes stop at
// their next journal entry.
func (l *Registry) Lose(id chat.RunID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.runs[id]; r != nil && r.quit != nil {
		r.quit(answer.ErrLost)
	}
}

// NotifyChoice signals the holder of a run that a user chose. If that is another process, the signal can be lost; the
// holder reads the store from time to time too.
func (l *Registry) NotifyChoice(ctx context.Context, id chat.RunID, room chat.RoomID) {
	if !l.choiceMade(id) && l.bus != nil {
		_ = l.bus.Publish(ctx, room, Frame{Run: id, Chosen: true})
	}
}

// choiceMade signals the holder of a run in this process, and reports whether there is one.
func (l *Registry) choiceMade(id chat.RunID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.runs[id]
	if r == nil || !r.held {
		return false
	}
	r.choiceSignal.Notify()
	return true
}

// ChoiceMade returns a channel that is closed by the next NotifyChoice. Call it before reading the store, so that no
// choice falls between both. It is nil, which blocks, if the run is not held.
func (l *Registry) ChoiceMade(id chat.RunID) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.runs[id]
	if r == nil { // no longer held
		return nil
	}
	return r.choiceSignal.Next()
}

// Stop cancels the work in this process on the runs of room, with [chat.ErrStopped].
func (l *Registry) Stop(room chat.RoomID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.runs {
		if r.room == room && r.quit != nil {
			r.quit(chat.ErrStopped)
		}
	}
}

// Release removes the answer of a holder that is finished with it. If the answer has not ended, it continues elsewhere.
func (l *Registry) Release(id chat.RunID, a *answer.Answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.Abandon()
	delete(l.runs, id)
}

// watch returns the answer of a run, whether it is held in this process, elsewhere, or not yet.
func (l *Registry) watch(id chat.RunID) *liveRun {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.runs[id]
	if r == nil {
		r = &liveRun{answer: &answer.Answer{}}
		l.runs[id] = r
	}
	r.watchers++
	return r
}

// unwatch removes a run that has neither a holder nor readers in this process.
func (l *Registry) unwatch(id chat.RunID, r *liveRun) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.watchers--; r.watchers == 0 && !r.held && l.runs[id] == r {
		delete(l.runs, id)
	}
}

// ownedHere reports whether r needs no mirror because it is, or was, held in this process: then its answer is written here,
// or it is obsolete and its readers look again.
func (l *Registry) ownedHere(id chat.RunID, r *liveRun) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return r.held || l.runs[id] != r
}

// errGap means that a frame starts after the mirror's position.
var errGap = errors.New("frames were lost")

// mirror applies a frame from another replica. It fails with [answer.ErrLost] if this process holds the run, or if the
// run was adopted meanwhile: then there is another answer to watch.
func (l *Registry) mirror(id chat.RunID, r *liveRun, f Frame) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.held || l.runs[id] != r {
		return answer.ErrLost
	}
	if r.epoch != 0 && f.Epoch > r.epoch {
		r.answer.Abandon()
		delete(l.runs, id)
		return answer.ErrLost
	}
	if f.Epoch < r.epoch {
		// A late frame of a holder that has lost the run.
		return nil
	}
	if f.From > r.answer.View().At {
		return errGap // the next request fills the gap
	}
	r.epoch = f.Epoch
	for _, c := range f.Changes {
		r.answer.Apply(c)
	}
	return nil
}

// Watch returns the answer of a run, wherever it is held; if the run has ended, the complete one. If waiting on it
// fails with [answer.ErrLost], the run has changed hands: call Watch again. It fails with [chat.ErrNotFound] if there
// is no such run, and with [chat.ErrShutdown] if the answer would be updated from elsewhere after [Registry.Wait] was called.
// The answer is updated until ctx is done, by a goroutine that Wait waits for.
func (l *Registry) Watch(ctx context.Context, id chat.RunID) (*answer.Answer, error) {
	// Registered before the store is read: a holder that starts meanwhile in this process then writes into the same
	// answer.
	r := l.watch(id)
	run, err := l.store.Run(ctx, id)
	switch {
	case err != nil:
		l.unwatch(id, r)
		return nil, fmt.Errorf("watch %s: %w", id, err)
	case run.Outcome.Done():
		l.unwatch(id, r)
		return l.replay(ctx, run)
	}
	if l.ownedHere(id, r) {
		l.unwatch(id, r)
		return r.answer, nil
	}
	if run.Parked {
		if err := l.showParked(ctx, run, r); err != nil {
			l.unwatch(id, r)
			return nil, fmt.Errorf("watch %s: %w", id, err)
		}
	}
	a := r.answer
	if !l.startMirror(ctx, run, r) {
		l.unwatch(id, r)
		return nil, fmt.Errorf("watch %s: %w", id, chat.ErrShutdown)
	}
	return a, nil
}

// startMirror updates the answer of a watched run in a goroutine, unless [Registry.Wait] was called. It starts under
// mu, so that a stream that is opened during a shutdown can't start a goroutine that Wait misses.
func (l *Registry) startMirror(ctx context.Context, run chat.Run, r *liveRun) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ending {
		return false
	}
	l.watching.Go(func() {
		defer l.unwatch(run.ID, r)
		l.mirrorUntilEnd(ctx, run, r)
	})
	return true
}

// replay returns the stored answer of a run that has ended. Its files are references, see [llm.PastFile]. An answer
// without text, or one that was deleted, is empty. Its options are shown only while they can still be chosen. It fails
// with the error of the store.
func (l *Registry) replay(ctx context.Context, run chat.Run) (*answer.Answer, error) {
	a := &answer.Answer{}
	m, err := l.store.Memory(ctx, run.Said())
	switch {
	case errors.Is(err, chat.ErrNotFound): // it has no text, or that was deleted
	case err != nil:
		return nil, fmt.Errorf("recall the answer of %s: %w", run.ID, err)
	default:
		a.Replay(m.Text, m.History, m.Calls, answer.PastFiles)
	}
	o := run.Outcome
	q, err := l.store.QuestionOf(ctx, run.ID)
	switch {
	case err != nil && !errors.Is(err, chat.ErrNotFound):
		return nil, fmt.Errorf("recall what %s asks: %w", run.ID, err)
	case err == nil && q.Run == run.ID && q.Open(time.Now()) && o.Status == answer.Completed:
		o.Offer = q.Choices()
	}
	a.End(o)
	return a, nil
}

// mirrorUntilEnd updates the answer of a run until ctx is done, the run has ended, or this process holds it. It
// requests frames as long as it runs, because the holder stops publishing without requests: every few seconds, and
// sooner while frames are missing. It begins with short intervals, which then double: until a run has a holder,
// requests are lost, and a newer message often gets its holder, and a short answer, within milliseconds.
func (l *Registry) mirrorUntilEnd(ctx context.Context, run chat.Run, r *liveRun) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	asking, polling := newPause(askSoon, askAgain), newPause(pollSoon, poll)
	defer asking.timer.Stop()
	defer polling.timer.Stop()
	frames := l.subscribe(ctx, run.Room) // without a bus, the end is still read from the store
	behind, due, asked := true, true, time.Time{}
	for {
		if since := time.Since(asked); frames != nil && (behind && (due || since >= askAgain) || since >= ask) {
			asked = time.Now()
			_ = l.bus.Publish(ctx, run.Room, Frame{Run: run.ID})
		}
		due = false
		select {
		case <-ctx.Done():
			return
		case <-r.answer.Ended():
			return
		case <-asking.timer.C:
			asking.lengthen()
			due = true
			if frames == nil {
				frames = l.subscribe(ctx, run.Room)
			}
		case <-polling.timer.C:
			if l.obsolete(ctx, run.ID, r) {
				return
			}
			polling.lengthen()
		case f, ok := <-frames:
			var err error
			if !ok {
				frames, err = nil, errGap
			} else if f.Run == run.ID && len(f.Changes) > 0 {
				err = l.mirror(run.ID, r, f)
				behind = false
			}
			if errors.Is(err, answer.ErrLost) {
				return
			}
			behind = behind || err != nil
		}
	}
}

// subscribe returns the frames of room; nil while there is no bus.
func (l *Registry) subscribe(ctx context.Context, room chat.RoomID) <-chan Frame {
	if l.bus == nil {
		return nil
	}
	frames, _ := l.bus.Subscribe(ctx, room)
	return frames
}

// pause is a timer whose intervals double up to a longest one.
type pause struct {
	timer         *time.Timer
	next, longest time.Duration
}

func newPause(first, longest time.Duration) *pause {
	return &pause{time.NewTimer(first), first, longest}
}

// lengthen starts the next interval.
func (p *pause) lengthen() {
	p.next = min(2*p.next, p.longest)
	p.timer.Reset(p.next)
}

// obsolete reports whether mirroring is obsolete: the run is held in this process, or it has ended and its readers
// should read the store again. It shows the question of a run that was parked before its holder could publish it.
func (l *Registry) obsolete(ctx context.Context, id chat.RunID, r *liveRun) bool {
	if l.ownedHere(id, r) {
		return true
	}
	run, err := l.store.Run(ctx, id)
	if err == nil && run.Parked {
		err = l.showParked(ctx, run, r) // after an error again at the next poll
	}
	if err != nil || !run.Outcome.Done() {
		return false
	}
	r.answer.Abandon()
	return true
}

// Publish sends an answer held in this process to other replicas while they request it, and finally its end. It returns
// when ctx is done, which the holder ends after the answer. The reply to a request contains the whole answer, and from
// then on changes follow at a steady pace, so that the cost does not depend on the speed of the model.
func (l *Registry) Publish(ctx context.Context, run chat.Run, a *answer.Answer) {
	frames, err := l.bus.Subscribe(ctx, run.Room)
	// An answer that ended meanwhile is no evidence about the bus, and only the first failure is news.
	if failing := err != nil; ctx.Err() == nil && l.publishFailing.Swap(failing) != failing && failing {
		l.log.Warn("readers on other replicas can't follow answers for now", "run", run.ID, "err", err)
	}
	var at answer.Cursor
	var asked time.Time
	listening, tick := time.NewTicker(askAgain), time.NewTicker(pace)
	defer listening.Stop()
	defer tick.Stop()
	for {
		select {
		case f, ok := <-frames:
			switch {
			case !ok:
				frames = nil
			case f.Run != run.ID || len(f.Changes) > 0:
			case f.Chosen:
				l.choiceMade(run.ID)
			default:
				tick.Reset(pace)
				asked = time.Now()
				at = l.publishSince(ctx, run, a, 0)
			}
		case <-listening.C:
			if frames == nil {
				frames = l.subscribe(ctx, run.Room)
			}
		case <-tick.C:
			// Two requests are missing, so there are no watchers any more.
			if time.Since(asked) > 2*ask {
				tick.Stop()
				continue
			}
			at = l.publishSince(ctx, run, a, at)
		case <-ctx.Done():
			if time.Since(asked) <= 2*ask {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFrameTimeout)
				defer cancel()
				l.publishSince(ctx, run, a, at)
			}
			return
		}
	}
}

// publishSince publishes the changes after at, and returns the new position. After an error that is at: the next call
// sends them too.
func (l *Registry) publishSince(ctx context.Context, run chat.Run, a *answer.Answer, at answer.Cursor) answer.Cursor {
	cs, next := a.Since(at)
	if len(cs) == 0 || l.bus.Publish(ctx, run.Room, Frame{Run: run.ID, Epoch: run.Epoch, From: at, Changes: cs}) != nil {
		return at
	}
	return next
}
