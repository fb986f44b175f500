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
	mostAnswers   = 1000             // queued at most; further ones are dropped
	answerLife    = 30 * time.Second // the client stops waiting for an answer after that
)

// callbackAnswer is the answer to a callback query (a button press). Without an answer, the button keeps spinning.
type callbackAnswer struct {
	query string // the id of the callback query
	text  string // an alert; empty for none
	due   time.Time
}

// answers sends the answers to button presses outside the poll loop, which must not wait for them: a bounded number at
// a time, in order within a chat, with chats taking turns. An answer that is not sent within [answerLife] is dropped.
// That costs only a button that spins for some seconds, because the choice itself has already been stored.
type answers struct {
	ctx  context.Context // the requests' context: when it is done, queued answers are dropped
	send func(ctx context.Context, a callbackAnswer) (pause time.Duration)
	log  *slog.Logger
	jobs *connectors.Jobs[int64] // by chat

	mu    sync.Mutex
	until time.Time // the end of the server's rate limit
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

// answer sends a unless it has expired, after a rate limit that is in force.
func (q *answers) answer(chat int64, a callbackAnswer) {
	if q.hold(a); q.ctx.Err() == nil && time.Now().Before(a.due) {
		q.close(q.send(q.ctx, a))
	} else {
		q.log.Debug("a button press was not answered in time", "chat", chat)
	}
}

// hold waits until the rate limit ends or a expires, whichever comes first.
func (q *answers) hold(a callbackAnswer) {
	q.mu.Lock()
	until := q.until
	q.mu.Unlock()
	if wait := min(time.Until(until), time.Until(a.due)); wait > 0 {
		sleep(q.ctx, wait)
	}
}

// close pauses sending for the given time, for all chats: the limit is the bot's. A later end stays.
func (q *answers) close(pause time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if until := time.Now().Add(pause); until.After(q.until) {
		q.until = until
	}
}

// wait returns when all answers are sent or dropped. The caller adds no more.
func (q *answers) wait() { q.jobs.Wait() }
