package recall

import (
	"context"
	"sync/atomic"
	"time"

	"parley/core/action"
	"parley/core/event"
	"parley/internal/rest"
)

// worker indexes new messages in the background. Its fields belong to the goroutine of work, except wake, which Observe
// uses, and the last ones.
type worker struct {
	Deps
	wake   chan struct{} // has a token if there can be new messages
	size   int           // of the next batch of embeddings
	failed bool          // this was logged
	saved  bool          // vectors were, since the last failure
	filled bool          // earlier messages wait for vectors

	state   action.State // shared by all replicas; nil in tests: there are no others
	claimed int          // length of the vectors that this replica has claimed the messages for; 0 is any

	// Questions use these too.
	length  atomic.Int64 // of the embedder's vectors; 0 before the first
	yielded atomic.Bool  // another gateway embeds the messages, which was logged
}

// Observe implements [event.Observer]. It never blocks: several events are one token.
func (w *worker) Observe(e event.Event) {
	switch e.(type) {
	case event.MessageReceived, event.VoiceMessageReceived, event.MessageSent:
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// work begins with messages that are not indexed yet, for example from before a crash, and continues a moment after
// each message, so that the messages of a busy moment are indexed together. It retries after a pause when indexing
// fails. It returns when ctx is done.
func (w *worker) work(ctx context.Context) {
	w.size = together
	for pause := firstPause; ; {
		err := w.index(ctx)
		if err == nil {
			err = w.embedAll(ctx)
		}
		w.report(ctx, err)
		if err != nil {
			if w.saved {
				pause = firstPause
			}
			_ = rest.For(ctx, pause)
			pause, w.saved = min(2*pause, longestPause), false
		} else {
			pause = firstPause
			select {
			case <-w.wake:
			case <-w.again():
			case <-ctx.Done():
			}
			_ = rest.For(ctx, settleTime)
		}
		if ctx.Err() != nil {
			return
		}
		select { // those that came meanwhile are indexed now too
		case <-w.wake:
		default:
		}
	}
}

// again returns a channel that triggers another search for messages without vectors; nil without an embedder.
func (w *worker) again() <-chan time.Time {
	if w.Embedder == nil {
		return nil
	}
	return time.After(lookAgain)
}

// embedFrom returns the beginning of the messages that are embedded automatically; zero is never. Embedding years of messages
// costs money, so it must be configured.
func (w *worker) embedFrom() time.Time {
	if w.Embedder == nil {
		return time.Time{}
	}
	return time.Now().Add(-recent)
}

// report logs the first of several failures.
func (w *worker) report(ctx context.Context, err error) {
	if err != nil && !w.failed && ctx.Err() == nil {
		w.Log.Warn("new messages can't be indexed; recall finds only older ones until that works again", "err", err)
	}
	w.failed = err != nil
}

// index indexes all new messages. It pauses between batches, because other writers wait meanwhile; for the same reason
// batches are small. It fails with the error of the embedder or the store.
func (w *worker) index(ctx context.Context) error {
	for more := true; more && ctx.Err() == nil; {
		var err error
		if more, err = w.Store.IndexWords(ctx, sizeOfBatch, w.embedFrom()); err != nil {
			return err
		}
		if more {
			_ = rest.For(ctx, 5*time.Millisecond)
		}
	}
	for w.Embedder != nil && w.Backfill && !w.filled && ctx.Err() == nil {
		more, err := w.Store.Backfill(ctx, sizeOfBatch)
		if err != nil {
			return err
		}
		w.filled = !more
		_ = rest.For(ctx, 5*time.Millisecond)
	}
	return nil
}
