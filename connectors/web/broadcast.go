package web

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"parley/core/answer"
	"parley/core/chat"
)

// sharing is implemented by encoders whose events are the same for several clients: those with the same key.
type sharing interface{ Key() string }

// broadcasts are the streams that several clients read. The zero value is ready for use. It is safe for concurrent use.
type broadcasts struct {
	mu sync.Mutex
	by map[string]*broadcast
}

// broadcast is a stream, which is encoded once for all its readers: by the one that comes first to each state. Each reader has
// a position in it. It has no goroutine of its own.
type broadcast struct {
	key string // "": it has one reader

	mu      sync.Mutex
	owner   *listening // of the first reader: its encoder is that of all
	readers int
	base    int    // bytes that were dropped
	out     []byte // the events since then; they are only appended
	starts  int    // how often another process has taken the run over
	progress
}

// progress is how far an answer is encoded.
type progress struct {
	at   answer.Cursor
	next time.Time // of the next state
	over bool
}

// maxAlone is how many bytes are held of a stream with one reader. A later reader begins another stream.
const maxAlone = 4 << 10

// join returns the stream for one more reader. The caller must leave it.
func (bs *broadcasts) join(run chat.RunID, l *listening) *broadcast {
	b := &broadcast{owner: l, readers: 1}
	of, ok := l.encoder.(sharing)
	if !ok || l.skips {
		return b
	}
	b.key = string(run) + "\x00" + of.Key()
	if l.read.Details {
		b.key += "\x00details"
	}
	bs.mu.Lock()
	defer bs.mu.Unlock()
	if is := bs.by[b.key]; is != nil && is.enter() {
		return is
	}
	if bs.by == nil {
		bs.by = map[string]*broadcast{}
	}
	bs.by[b.key] = b
	return b
}

// leave ends the reading of b.
func (bs *broadcasts) leave(b *broadcast) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.readers--; b.readers == 0 && bs.by[b.key] == b {
		delete(bs.by, b.key)
	}
}

// enter adds a reader, unless the beginning of the stream was dropped.
func (b *broadcast) enter() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.base > 0 || b.readers == 0 {
		return false
	}
	b.readers++
	return true
}

// place is the position of a reader in a stream.
type place struct {
	pos    int // bytes
	starts int // see broadcast
}

// begun begins the stream, once, and returns how often the run was taken over.
func (b *broadcast) begun() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.base == 0 && len(b.out) == 0 {
		apart(func() { b.out = b.owner.encoder.Begin(b.out) })
	}
	return b.starts
}

// read writes the events after p to out, until the stream is over, encoding the states of a that no other reader has. Its errors
// are those of [sse.wait].
func (b *broadcast) read(ctx context.Context, out *sse, run chat.RunID, a *answer.Answer, p *place) error {
	for {
		events, now := b.after(p)
		if len(events) > 0 {
			out.buf = append(out.buf, events...)
			if err := out.flush(); err != nil {
				return err
			}
			continue
		}
		if now.over {
			return nil
		}
		if _, err := out.wait(ctx, a, now.at); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := out.pause(ctx, now.next, a.Ended()); err != nil {
			return err
		}
		b.advance(run, a, now.at)
	}
}

// after returns the events after p, which it moves on, and the progress of the stream at that time.
func (b *broadcast) after(p *place) (events []byte, now progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	events = b.out[p.pos-b.base:]
	p.pos += len(events)
	if b.readers == 1 && len(b.out) > maxAlone {
		b.base, b.out = b.base+len(b.out), nil
	}
	return events, b.progress
}

// restart continues with the answer of another process, once for all readers. starts is how often this reader has seen that.
func (b *broadcast) restart(starts int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.starts == starts {
		b.starts, b.at = b.starts+1, 0
	}
	return b.starts
}

// advance encodes the newest state of a, unless another reader did so since the position was at.
func (b *broadcast) advance(run chat.RunID, a *answer.Answer, at answer.Cursor) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.at != at || b.over {
		return
	}
	apart(func() { b.out, b.at, b.over = b.owner.encode(b.out, run, a, at) }) // encoding/json needs 8 KB of stack
	b.next = time.Now().Add(pace)
}
