package telegram

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	answerWorkers = 8
	mostAnswers   = 1000             // that wait; what is more is dropped
	answerLife    = 30 * time.Second // after which nobody looks at the button any more
)

// answer is what the server is told of a press.
type answer struct {
	query string // the id of the callback query
	text  string // an alert; empty for none
	due   time.Time
}

// answers tells the server of presses beside the poll loop, which must not wait for that: a bounded number at a time, in
// order within a chat, chats in turn. An answer that is not sent within [answerLife] is dropped, which costs no more than
// a button that spins for some seconds: what was chosen is safe before.
type answers struct {
	ctx  context.Context // of the requests: what is queued is dropped when it is done
	send func(ctx context.Context, a answer) (pause time.Duration)
	log  *slog.Logger

	mu      sync.Mutex
	chats   map[int64][]answer // by chat; while a worker has one, the rest of its chat waits
	ready   []int64            // chats with answers that no worker has
	waiting int
	workers int
	until   time.Time // the server asked to wait
	all     sync.WaitGroup
}

func newAnswers(ctx context.Context, send func(context.Context, answer) time.Duration, log *slog.Logger) *answers {
	return &answers{ctx: ctx, send: send, log: log, chats: map[int64][]answer{}}
}

// add queues an answer. It does not block.
func (q *answers) add(chat int64, a answer) {
	a.due = time.Now().Add(answerLife)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting >= mostAnswers {
		q.log.Debug("too many presses wait for an answer: one gets none", "chat", chat)
		return
	}
	q.waiting++
	list, known := q.chats[chat]
	q.chats[chat] = append(list, a)
	if known {
		return
	}
	q.ready = append(q.ready, chat)
	if q.workers < answerWorkers {
		q.workers++
		q.all.Go(q.work)
	}
}

// work sends answers until none is left for this worker.
func (q *answers) work() {
	for {
		chat, a, ok := q.take()
		if !ok {
			return
		}
		if q.hold(a); q.ctx.Err() == nil && time.Now().Before(a.due) {
			q.close(q.send(q.ctx, a))
		} else {
			q.log.Debug("a press gets no answer: it came too late", "chat", chat)
		}
		q.done(chat)
	}
}

// take returns the first answer of the chat whose turn it is.
func (q *answers) take() (chat int64, a answer, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.ready) == 0 {
		q.workers--
		return 0, answer{}, false
	}
	chat, q.ready = q.ready[0], q.ready[1:]
	a, q.chats[chat] = q.chats[chat][0], q.chats[chat][1:]
	q.waiting--
	return chat, a, true
}

// done gives the rest of a chat another turn.
func (q *answers) done(chat int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.chats[chat]) == 0 {
		delete(q.chats, chat)
		return
	}
	q.ready = append(q.ready, chat)
}

// hold waits while the server wants no answers, as long as a has time.
func (q *answers) hold(a answer) {
	q.mu.Lock()
	until := q.until
	q.mu.Unlock()
	if wait := min(time.Until(until), time.Until(a.due)); wait > 0 {
		sleep(q.ctx, wait)
	}
}

// close sends nothing for so long.
func (q *answers) close(pause time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if until := time.Now().Add(pause); until.After(q.until) {
		q.until = until
	}
}

// wait returns when all answers are sent or dropped. Nothing is added any more.
func (q *answers) wait() { q.all.Wait() }
