package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/core/chat"
)

// forgetting is write for transactions that delete text on request. They leave earlier versions of the pages in the
// write-ahead log, so it also requests the next truncate.
func (s *database) forgetting(ctx context.Context, do func(context.Context, *conn) error) error {
	return s.write(ctx, func(ctx context.Context, tx *conn) error {
		s.deleted.Store(true) // before the commit: truncate needs the turn of writes, so it runs after this transaction or finds the flag set
		return do(ctx, tx)
	})
}

// truncate empties the write-ahead log if it can still hold deleted text. While another connection reads the log that
// is not possible; the flag then stays set, and the next call tries again.
func (s *database) truncate(ctx context.Context) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return ErrClosed
	}
	// The flag is cleared before the checkpoint, not after: a deletion that comes in between sets it again, for the
	// next call.
	if !s.deleted.Swap(false) {
		return nil
	}
	done, err := s.checkpoint(ctx)
	if err != nil || !done {
		s.deleted.Store(true)
	}
	return err
}

// logWait is the time that a checkpoint waits for readers. Writers wait for the checkpoint, so it is far shorter than
// the timeout for writes.
const logWait = 250 * time.Millisecond

// checkpoint moves the write-ahead log into the file and empties it. It reports false if another connection, such as a
// backup, reads the log.
func (s *database) checkpoint(ctx context.Context) (done bool, err error) {
	select {
	case s.writes.turn <- struct{}{}: // so nothing is written meanwhile
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	defer func() { <-s.writes.turn }()
	writer := s.writer
	var before, busy, frames, moved int
	if err := writer.QueryRowContext(ctx, `PRAGMA busy_timeout`).Scan(&before); err != nil {
		return false, err
	}
	if err := waitOn(ctx, writer, int(logWait.Milliseconds())); err != nil {
		return false, err
	}
	err = writer.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &frames, &moved)
	// The timeout is restored even if ctx has ended, because the connection serves all later writes.
	return err == nil && busy == 0, errors.Join(err, waitOn(context.WithoutCancel(ctx), writer, before))
}

// waitOn sets the busy timeout of a connection, in milliseconds. The pragma returns the new value, which must be read.
func waitOn(ctx context.Context, c *conn, wait int) error {
	var is int
	return c.QueryRowContext(ctx, fmt.Sprintf(`PRAGMA busy_timeout = %d`, wait)).Scan(&is)
}

// DeletePersonal implements [storage.PersonalData]. The last call empties the write-ahead log.
func (s *personal) DeletePersonal(ctx context.Context, person chat.EntityID) (chat.PersonalDeletion, error) {
	d, err := s.common.DeletePersonal(ctx, person)
	if err == nil && !d.More {
		err = wrap(s.truncate(ctx), "deleting what is stored about %q", person)
	}
	return d, err
}
