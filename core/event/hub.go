package event

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"parley/core/answer"
	"parley/internal/contain"
)

// backlog is the maximum length of a queue; beyond it a slow observer misses events.
const backlog = 256

// observerGrace is the time that observers have at shutdown to process queued events.
const observerGrace = time.Second

// listener is an observer with its queue.
type listener struct {
	Observer
	queue  chan Event
	missed atomic.Uint64
	log    *slog.Logger
	end    chan struct{} // closed when it receives no more

	following atomic.Int32 // number of answers
}

// miss counts an event that was dropped because l is too slow.
func (l *listener) miss() {
	if l.missed.Add(1) == 1 {
		l.log.Warn("an observer is too slow; events were dropped", "observer", fmt.Sprintf("%T", l.Observer))
	}
}

func (l *listener) serve() {
	for {
		select {
		case e := <-l.queue:
			l.enqueue(e)
		case <-l.end:
			for len(l.queue) > 0 {
				l.enqueue(<-l.queue)
			}
			return
		}
	}
}

// enqueue calls the observer and recovers its contain.
func (l *listener) enqueue(e Event) {
	observe(l.log, l.Observer, e, func() { l.Observe(e) })
}

// Hub distributes events to observers; each has its own queue. Its methods are safe for concurrent use.
type Hub struct {
	listeners atomic.Pointer[[]*listener] // replaced as a whole, under mu
	following sync.WaitGroup              // goroutines that report the growth of answers
	log       *slog.Logger

	// mu guards the fields below.
	mu      sync.Mutex
	serving *sync.WaitGroup // goroutines that serve listeners, while Listen is under way
	gone    uint64          // missed by observers that were removed
}

// NewHub returns a hub for the observers in all.
func NewHub(all []Observer, log *slog.Logger) *Hub {
	h := &Hub{log: log}
	h.listeners.Store(&[]*listener{})
	for _, o := range all {
		h.Subscribe(o)
	}
	return h
}

// Subscribe adds an observer. It receives the events from now on, until cancel is called once; those that are queued then are delivered.
func (h *Hub) Subscribe(o Observer) (cancel func()) {
	l := &listener{Observer: o, queue: make(chan Event, backlog), log: h.log, end: make(chan struct{})}
	h.mu.Lock()
	defer h.mu.Unlock()
	all := append(slices.Clone(*h.listeners.Load()), l)
	h.listeners.Store(&all)
	if h.serving != nil {
		h.serving.Go(l.serve)
	}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		left := slices.DeleteFunc(slices.Clone(*h.listeners.Load()), func(other *listener) bool { return other == l })
		if len(left) == len(*h.listeners.Load()) {
			return // Listen has ended it
		}
		h.listeners.Store(&left)
		h.gone += l.missed.Load()
		close(l.end)
	}
}

// Emit queues e for all observers without blocking.
func (h *Hub) Emit(e Event) {
	for _, l := range *h.listeners.Load() {
		select {
		case l.queue <- e:
		default:
			l.miss()
		}
	}
}

// Missed returns the number of events that slow observers missed.
func (h *Hub) Missed() (n uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n = h.gone
	for _, l := range *h.listeners.Load() {
		n += l.missed.Load()
	}
	return n
}

// Listen serves the observers until the returned function is called. That function delivers queued events, but gives up
// soon on an observer that hangs, because a goroutine can't be killed.
func (h *Hub) Listen() (stop func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all sync.WaitGroup
	h.serving = &all
	for _, l := range *h.listeners.Load() {
		all.Go(l.serve)
	}
	return func() {
		h.mu.Lock()
		h.serving = nil
		for _, l := range *h.listeners.Load() {
			h.gone += l.missed.Load()
			close(l.end)
		}
		h.listeners.Store(&[]*listener{})
		h.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), observerGrace)
		defer cancel()
		if contain.Wait(ctx, func() { all.Wait(); h.following.Wait() }) != nil {
			h.log.Warn("an observer did not return in time and is ignored")
		}
	}
}

// Follow reports the growth of a to the observers. It never blocks.
func (h *Hub) Follow(info RunInfo, a *answer.Answer) {
	for _, l := range *h.listeners.Load() {
		o, ok := l.Observer.(AnswerObserver)
		if !ok {
			continue
		}
		if l.following.Add(1) > mostFollowed {
			l.following.Add(-1)
			l.miss()
			continue
		}
		h.following.Go(func() {
			defer l.following.Add(-1)
			f := follower{listener: l, observer: o, info: info, step: -1}
			f.follow(a)
		})
	}
}

// observe gives e to an observer, and logs its panic.
func observe(log *slog.Logger, observer, e any, call func()) {
	err := contain.Call("the observer", func() error {
		call()
		return nil
	})
	if err != nil {
		log.Error("an observer panicked", "observer", fmt.Sprintf("%T", observer), "event", fmt.Sprintf("%T", e), "err", err)
	}
}

// mostFollowed is the maximum number of answers that an observer can be behind before it misses some.
const mostFollowed = 64

// follower reports one answer to one observer.
type follower struct {
	*listener
	observer AnswerObserver
	info     RunInfo
	step     int // the last reported step
}

// follow returns when the answer has ended or was abandoned.
func (f *follower) follow(a *answer.Answer) {
	var at answer.Cursor
	for a.Wait(context.Background(), at) == nil { // every answer held in this process ends or is abandoned
		var steps []answer.Step
		var v answer.View
		steps, v, at = a.StepsSince(at)
		for _, s := range steps {
			f.emit(s)
		}
		if v.At > 0 {
			f.deliver(MessagesChanged{RunInfo: f.info, View: v.Copied()})
		}
	}
}

func (f *follower) emit(s answer.Step) {
	switch {
	case s.Kind == answer.Ended, s.Kind == answer.Thinking, s.Kind == answer.Reasoning: // observers see only the answer
		return
	case s.Call == "" || s.Kind == answer.ToolStage && s.Tool.Stage == answer.StageStart:
		f.add(s.Step)
	case f.step < 0:
		f.add(0)
	}
	switch {
	case s.Notice:
	case s.Kind == answer.Withdrawn, s.Kind == answer.Text && s.Call == "": // withdrawn: nothing has accumulated
		f.deliver(ContentUpdated{RunInfo: f.info, Step: s.Step, Chunk: s.Text, Accumulated: s.Whole})
	case s.Tool != nil:
		t := *s.Tool
		if t.Stage == answer.StageStreaming {
			t.Parameters = s.Whole
		}
		f.deliver(ToolUpdated{RunInfo: f.info, ToolBlock: answer.BlockOf(s.Call, t, s.NewFiles)})
	}
}

// add reports the beginning of a round, once.
func (f *follower) add(step int) {
	if step != f.step {
		f.step = step
		f.deliver(MessageAdded{RunInfo: f.info, Step: step})
	}
}

// deliver calls the observer and recovers its contain.
func (f *follower) deliver(e AnswerEvent) {
	observe(f.log, f.observer, e, func() { f.observer.ObserveAnswer(e) })
}
