package telegram

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"parley/connectors"
)

const (
	answerWorkers = 8
	mostAnswers   = 1000             // that wait; what is more is dropped
	answerLife    = 30 * time.Second // after which nobody looks at the button any more
)

// callbackAnswer is what the server is told of a press.
type callbackAnswer struct {
	query string // the id of the callback query
	text  string // an alert; empty for none
	due   time.Time
}

// answers tells the server of presses beside the poll loop, which must not wait for that: a bounded number at a time, in
// order within a chat, chats in turn. An answer that is not sent within [answerLife] is dropped, which costs no more than
// a button that spins for some seconds: what was chosen is safe before.
type answers struct {
	ctx  context.Context // of the requests: what is queued is dropped when it is done
	send func(ctx context.Context, a callbackAnswer) (pause time.Duration)
	log  *slog.Logger
	jobs *connectors.Jobs[int64] // by chat

	mu    sync.Mutex
	until time.Time // the server asked to wait
}

func newAnswers(ctx context.Context, send func(context.Context, callbackAnswer) time.Duration, log *slog.Logger) *answers {
	return &answers{ctx: ctx, send: send, log: log, jobs: connectors.NewJobs[int64](answerWorkers, mostAnswers)}
}

// add queues an answer. It does not block.
func (q *answers) add(chat int64, a callbackAnswer) {
	a.due = time.Now().Add(answerLife)
	if !q.jobs.Add(chat, func() { q.answer(chat, a) }) {
		q.log.Debug("too many button presses to answer; one is skipped", "chat", chat)
	}
}

// answer sends a, unless it is too late for that.
func (q *answers) answer(chat int64, a callbackAnswer) {
	if q.hold(a); q.ctx.Err() == nil && time.Now().Before(a.due) {
		q.close(q.send(q.ctx, a))
	} else {
		q.log.Debug("a button press was not answered in time", "chat", chat)
	}
}

// hold waits while the server wants no answers, as long as a has time.
func (q *answers) hold(a callbackAnswer) {
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
func (q *answers) wait() { q.jobs.Wait() }
