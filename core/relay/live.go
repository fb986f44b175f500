package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"parley/core/answer"
	"parley/core/chat"
)

const (
	pace             = 100 * time.Millisecond // how often a watched answer is carried to other replicas
	ask              = 5 * time.Second        // how often a watcher says that it is there
	askAgain         = time.Second            // how often it asks while it lacks something, and how soon a lost bus is tried again
	lastFrameTimeout = time.Second            // how long the end of an answer may take to be published
	poll             = 2 * time.Second        // how often a watcher asks the store whether the run has ended, bus or no bus
)

// watchStore is what is read of a run that is watched.
type watchStore interface {
	Run(ctx context.Context, id chat.RunID) (chat.Run, error)
	Memory(ctx context.Context, id chat.MemoryID) (chat.Memory, error)
	QuestionOf(ctx context.Context, run chat.RunID) (chat.Question, error)
}

// Registry knows the answers that are being made or watched here.
type Registry struct {
	store watchStore
	bus   Bus
	log   *slog.Logger

	mu       sync.Mutex
	runs     map[chat.RunID]*liveRun
	watching sync.WaitGroup // answers of elsewhere that are mirrored
}

type liveRun struct {
	room         chat.RoomID             // of one that is held
	answer       *answer.Answer          // never another one
	epoch        chat.Epoch              // of what the answer holds; 0 nothing yet
	held         bool                    // this process makes it
	quit         context.CancelCauseFunc // ends that work; nil before it began
	choiceSignal chan struct{}           // made by who waits for a choice, closed by the next one
	watchers     int
}

// NewRegistry returns a registry without answers.
func NewRegistry(store watchStore, bus Bus, log *slog.Logger) *Registry {
	return &Registry{store: store, bus: bus, log: log, runs: map[chat.RunID]*liveRun{}}
}

// Wait returns when no answer of elsewhere is mirrored any more.
func (l *Registry) Wait() { l.watching.Wait() }

// Hold gives the answer that a started run is written into: the one that people here wait for already, unless that
// mirrors what an earlier holder said.
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

// OnLoss says how the work on a held answer is ended.
func (l *Registry) OnLoss(id chat.RunID, a *answer.Answer, quit context.CancelCauseFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.runs[id]; r != nil && r.answer == a {
		r.quit = quit
	}
}

// Lose ends the work here on a run that was reopened. Elsewhere it ends with the next note.
func (l *Registry) Lose(id chat.RunID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.runs[id]; r != nil && r.quit != nil {
		r.quit(answer.ErrLost)
	}
}

// NotifyChoice signals a run's holder, if it is in this process, that a choice was made.
func (l *Registry) NotifyChoice(id chat.RunID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.runs[id]; r != nil && r.choiceSignal != nil {
		close(r.choiceSignal)
		r.choiceSignal = nil
	}
}

// ChoiceMade is closed by the next ring.
func (l *Registry) ChoiceMade(id chat.RunID) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.runs[id]
	if r == nil { // it was lost
		return nil
	}
	if r.choiceSignal == nil {
		r.choiceSignal = make(chan struct{})
	}
	return r.choiceSignal
}

// Stop ends the work here on the turns of room.
func (l *Registry) Stop(room chat.RoomID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.runs {
		if r.room == room && r.quit != nil {
			r.quit(chat.ErrStopped)
		}
	}
}

// Release lets an answer go that its maker is done with. If it has not ended, it goes on elsewhere.
func (l *Registry) Release(id chat.RunID, a *answer.Answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.Abandon()
	delete(l.runs, id)
}

// watch gives the answer of a run that is made here or elsewhere, or not yet.
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

// unwatch forgets a run that has neither a holder nor readers in this process.
func (l *Registry) unwatch(id chat.RunID, r *liveRun) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.watchers--; r.watchers == 0 && !r.held && l.runs[id] == r {
		delete(l.runs, id)
	}
}

// made says that r needs no mirror: it is, or was, made here.
func (l *Registry) made(id chat.RunID, r *liveRun) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return r.held || l.runs[id] != r
}

// errGap says that a frame goes on from where the mirror is not yet.
var errGap = errors.New("frames were lost")

// mirror applies what another replica made of the run. It fails with [answer.ErrLost] if this process makes it itself, or
// if the run was adopted meanwhile: then there is another answer to watch.
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
		return nil // of a holder that lost the run
	}
	if f.From > r.answer.View().At {
		return errGap // the next question fills it
	}
	r.epoch = f.Epoch
	for _, c := range f.Changes {
		r.answer.Apply(c)
	}
	return nil
}

// Watch returns the answer of a run, to be followed until it has ended, wherever it is made; of a run that has ended,
// the whole. Where following fails with [answer.ErrLost] the run has changed hands: watch again. [chat.ErrNotFound] if there is
// no such run. The answer is kept up to date until ctx is done.
func (l *Registry) Watch(ctx context.Context, id chat.RunID) (*answer.Answer, error) {
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
	if l.made(id, r) {
		l.unwatch(id, r)
		return r.answer, nil
	}
	a := r.answer
	l.watching.Go(func() {
		defer l.unwatch(id, r)
		l.mirrorUntilEnd(ctx, run, r)
	})
	return a, nil
}

// replay returns the answer of a run that has ended, as it is remembered. Its files are named by [llm.File], and not read.
func (l *Registry) replay(ctx context.Context, run chat.Run) (*answer.Answer, error) {
	a := &answer.Answer{}
	m, err := l.store.Memory(ctx, run.Said())
	switch {
	case errors.Is(err, chat.ErrNotFound): // it said nothing, or that was deleted
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
		o.Offer = &answer.Choices{ID: q.ID, Options: q.Options}
	}
	a.End(o)
	return a, nil
}

// mirrorUntilEnd keeps the answer of a run up to date until ctx is done, the run has ended, or it is made here.
func (l *Registry) mirrorUntilEnd(ctx context.Context, run chat.Run, r *liveRun) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	asking, polling := time.NewTicker(askAgain), time.NewTicker(poll)
	defer asking.Stop()
	defer polling.Stop()
	frames, _ := l.bus.Subscribe(ctx, run.Room) // without a bus, the store tells the end all the same
	behind, asked := true, time.Time{}
	for {
		if frames != nil && (behind && time.Since(asked) >= askAgain || time.Since(asked) >= ask) {
			asked = time.Now()
			_ = l.bus.Publish(ctx, run.Room, Frame{Run: run.ID})
		}
		select {
		case <-ctx.Done():
			return
		case <-r.answer.Ended():
			return
		case <-asking.C:
			if frames == nil {
				frames, _ = l.bus.Subscribe(ctx, run.Room)
			}
		case <-polling.C:
			if l.overtaken(ctx, run.ID, r) {
				return
			}
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

// overtaken reports whether mirroring is obsolete: the run is held in this process, or it has ended and its readers
// should read the store again.
func (l *Registry) overtaken(ctx context.Context, id chat.RunID, r *liveRun) bool {
	if l.made(id, r) {
		return true
	}
	run, err := l.store.Run(ctx, id)
	if err != nil || !run.Outcome.Done() {
		return false
	}
	r.answer.Abandon()
	return true
}

// Publish carries an answer that is made here to those who ask for it elsewhere, for as long as they ask, and at last
// its end.
func (l *Registry) Publish(ctx context.Context, run chat.Run, a *answer.Answer) {
	frames, err := l.bus.Subscribe(ctx, run.Room)
	if err != nil {
		l.log.Warn("readers on other replicas can't follow this answer for now", "run", run.ID, "err", err)
	}
	var at answer.Cursor
	var asked time.Time
	listening, tick := time.NewTicker(askAgain), time.NewTicker(pace)
	defer listening.Stop()
	defer tick.Stop()
	for {
		select {
		case f, ok := <-frames:
			if !ok {
				frames = nil
			} else if f.Run == run.ID && len(f.Changes) == 0 {
				tick.Reset(pace)
				asked = time.Now()
				at = l.publishSince(ctx, run, a, 0)
			}
		case <-listening.C:
			if frames == nil {
				frames, _ = l.bus.Subscribe(ctx, run.Room)
			}
		case <-tick.C:
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

// publishSince gives the bus what came after at, and returns how far that is.
func (l *Registry) publishSince(ctx context.Context, run chat.Run, a *answer.Answer, at answer.Cursor) answer.Cursor {
	cs, next := a.Since(at)
	if len(cs) == 0 || l.bus.Publish(ctx, run.Room, Frame{run.ID, run.Epoch, at, cs}) != nil {
		return at
	}
	return next
}
