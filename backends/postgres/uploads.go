package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"

	"parley/backends/record"
	"parley/core/answer"
	"parley/core/chat"
)

// uploadsLock is the lock of uploads that begin or grow: the limits count uploads of other users and rooms.
var uploadsLock = scopeOf("uploads", "")

const selectUploads = `SELECT ` + record.UploadColumns + ` FROM uploads `

// BeginUpload implements [storage.Uploads]. An upload that is begun again, because the sender lost the connection,
// starts from the beginning under a new attempt; pieces of the earlier attempt are refused by AddPiece.
func (s *uploads) BeginUpload(ctx context.Context, u chat.Upload, rule chat.UploadRule) (is chat.Upload, err error) {
	if err = record.CheckUpload(u); err == nil {
		err = s.write(ctx, uploadsLock, func(ctx context.Context, q querier) error {
			is, err = record.ScanUpload(q.QueryRow(ctx, selectUploads+`WHERE id = $1 FOR UPDATE`, u.ID))
			if err == nil && is.Complete || record.UnlessMissing(err) != nil {
				is.At = s.clock.local(is.At)
				return err
			}
			is = u
			return s.beginUpload(ctx, q, u, rule)
		})
	}
	return is, wrap(err, "beginning an upload to %q", u.Room)
}

// beginUpload checks the number and adds the row, which takes no space: pieces do when they arrive. Deleting the earlier
// attempt first also deletes its pieces (ON DELETE CASCADE).
func (s *uploads) beginUpload(ctx context.Context, q querier, u chat.Upload, rule chat.UploadRule) error {
	if _, err := q.Exec(ctx, `DELETE FROM uploads WHERE id = $1`, u.ID); err != nil {
		return err
	}
	var waiting int
	err := q.QueryRow(ctx, `SELECT (SELECT count(*) FROM uploads WHERE sender = $1 AND message = '') FROM rooms WHERE id = $2`, u.Sender, u.Room).Scan(&waiting)
	switch {
	case err != nil:
		return record.Found(err)
	case rule.Waiting > 0 && waiting >= rule.Waiting:
		return chat.ErrTooMany
	}
	_, err = q.Exec(ctx, `INSERT INTO uploads (id, room, sender, name, type, size, at, attempt) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		u.ID, u.Room, u.Sender, u.Name, u.Type, u.Size, s.clock.stored(u.At), u.Attempt)
	return err
}

// AddPiece implements [storage.Uploads]. The row of the upload is locked, so that the attempt can't be replaced or
// completed before the piece is stored. A piece that is sent twice replaces itself.
func (s *uploads) AddPiece(ctx context.Context, id, attempt string, n int, data []byte, rule chat.UploadRule) error {
	err := s.write(ctx, uploadsLock, func(ctx context.Context, q querier) error {
		err := some(q.Exec(ctx, `
			WITH u AS (SELECT id FROM uploads WHERE id = $1 AND attempt = $2 AND NOT complete FOR UPDATE)
			INSERT INTO upload_pieces (upload, n, data) SELECT id, $3, $4 FROM u
			ON CONFLICT (upload, n) DO UPDATE SET data = excluded.data`, id, attempt, n, data))
		if err == nil && rule.Total > 0 {
			err = makeRoom(ctx, q, id, rule.Total)
		}
		return err
	})
	return wrap(err, "storing a piece of an upload")
}

// makeRoom removes content until all uploads have at most total bytes, or returns [chat.ErrNoSpace]. The sender with the
// most bytes gives it, again and again, so that a few senders can't take the space of all others.
func makeRoom(ctx context.Context, q querier, id string, total int64) error {
	for {
		var stored int64
		if err := q.QueryRow(ctx, record.StoredBytes).Scan(&stored); err != nil || stored <= total {
			return err
		}
		if err := evictUploads(ctx, q, id, stored-total); err != nil {
			return err
		}
	}
}

// evictUploads removes content of the sender with the most bytes, the oldest first, until enough bytes are free or that
// sender has no more; nothing at all is [chat.ErrNoSpace]. The running sum selects exactly as many uploads as are
// needed. Thumbnails (n < 0) of uploads that messages name stay, so that a history can still show them. The
// sender of id loses only those: the others are about to be used by the person who is sending.
func evictUploads(ctx context.Context, q querier, id string, enough int64) error {
	rows, err := q.Query(ctx, selectUploads+`WHERE id IN (
		SELECT id FROM (SELECT id, held, sum(held) OVER (ORDER BY message = '', at, id) - held AS before FROM (
			SELECT id, message, at, `+record.UploadBytes+` AS held FROM uploads WHERE NOT evicted AND sender = (`+record.LargestSender+`)
			AND (message <> '' OR sender <> (SELECT sender FROM uploads WHERE id = $1))) AS held WHERE held > 0) AS old WHERE before < $2)`, id, enough)
	old, err := collect(rows, err, record.ScanUpload)
	if err == nil && len(old) == 0 {
		err = chat.ErrNoSpace
	}
	if err != nil {
		return err
	}
	for _, u := range old {
		if u.Message == "" {
			_, err = q.Exec(ctx, `DELETE FROM uploads WHERE id = $1`, u.ID)
		} else if _, err = q.Exec(ctx, `UPDATE uploads SET evicted = true WHERE id = $1`, u.ID); err == nil {
			_, err = q.Exec(ctx, `DELETE FROM upload_pieces WHERE upload = $1 AND n >= 0`, u.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// EndUpload implements [storage.Uploads].
func (s *uploads) EndUpload(ctx context.Context, id, attempt, kind string, thumbnail []byte) error {
	err := record.CheckText(kind)
	if err == nil {
		err = s.write(ctx, nil, func(ctx context.Context, q querier) error {
			err := some(q.Exec(ctx, `UPDATE uploads SET complete = true, type = $1, thumbnail = $2 WHERE id = $3 AND attempt = $4 AND NOT complete`,
				kind, len(thumbnail) > 0, id, attempt))
			if err == nil && len(thumbnail) > 0 {
				_, err = q.Exec(ctx, `INSERT INTO upload_pieces (upload, n, data) VALUES ($1, $2, $3)`, id, chat.ThumbnailPiece, thumbnail)
			}
			return err
		})
	}
	return wrap(err, "ending an upload")
}

// some returns [answer.ErrLost] if a statement has changed nothing. It takes the results of Exec.
func some(done pgconn.CommandTag, err error) error {
	if err == nil && done.RowsAffected() == 0 {
		err = answer.ErrLost
	}
	return err
}

// Upload implements [storage.Uploads].
func (s *uploads) Upload(ctx context.Context, id string) (u chat.Upload, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		u, err = record.ScanUpload(q.QueryRow(ctx, selectUploads+`WHERE id = $1`, id))
		return err
	})
	u.At = s.clock.local(u.At)
	return u, wrap(err, "finding an upload")
}

// Piece implements [storage.Uploads].
func (s *uploads) Piece(ctx context.Context, id string, n int) (data []byte, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		return record.Found(q.QueryRow(ctx, `SELECT data FROM upload_pieces WHERE upload = $1 AND n = $2`, id, n).Scan(&data))
	})
	return data, wrap(err, "reading a piece of an upload")
}

// NameUploads implements [storage.Uploads]. An error for one of them rolls all back. The same message may name them
// again, because its acceptance can be retried.
func (s *uploads) NameUploads(ctx context.Context, message chat.MemoryID, ids ...string) (all []chat.Upload, err error) {
	err = s.write(ctx, nil, func(ctx context.Context, q querier) error {
		all = nil
		for _, id := range ids {
			u, err := record.ScanUpload(q.QueryRow(ctx, `
				UPDATE uploads SET message = $1 WHERE id = $2 AND complete AND message IN ('', $1) RETURNING `+record.UploadColumns, message, id))
			if err != nil {
				return err
			}
			u.At = s.clock.local(u.At)
			all = append(all, u)
		}
		return nil
	})
	if err != nil {
		return nil, wrap(err, "naming the uploads of %q", message)
	}
	return all, nil
}

// DropUpload implements [storage.Uploads].
func (s *uploads) DropUpload(ctx context.Context, id, attempt string) error {
	err := s.write(ctx, nil, func(ctx context.Context, q querier) error {
		_, err := q.Exec(ctx, `DELETE FROM uploads WHERE id = $1 AND message = '' AND $2 IN ('', attempt)`, id, attempt)
		return err
	})
	return wrap(err, "removing an upload")
}
