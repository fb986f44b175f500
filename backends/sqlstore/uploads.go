package sqlstore

import (
	"context"

	"parley/backends/record"
	"parley/core/chat"
)

// change returns a transaction with the lock of uploads that begin or grow: the limits count uploads of other users and rooms.
func (s *uploads) change() Change { return change(s.Shared, "uploads", "") }

const selectUploads = `SELECT ` + record.UploadColumns + ` FROM uploads `

// scanUpload reads an upload and converts its time to the clock of the process.
func (s *uploads) scanUpload(r record.Row) (chat.Upload, error) {
	u, err := record.ScanUpload(r)
	u.At = s.Local(u.At)
	return u, err
}

// BeginUpload implements [storage.Uploads]. An upload that is begun again, because the sender lost the connection,
// starts from the beginning under a new attempt; pieces of the earlier attempt are refused by AddPiece.
func (s *uploads) BeginUpload(ctx context.Context, u chat.Upload, rule chat.UploadRule) (is chat.Upload, err error) {
	if err = record.CheckUpload(u); err == nil {
		err = s.Write(ctx, s.change().deleting(), func(ctx context.Context, tx Conn) error {
			is, err = s.scanUpload(tx.QueryRow(ctx, selectUploads+`WHERE id = $1`+s.ForUpdate, u.ID))
			if err == nil && is.Complete || record.UnlessMissing(err) != nil {
				return err
			}
			is = u
			return s.beginUpload(ctx, tx, u, rule)
		})
	}
	return is, s.wrap(err, "beginning an upload to %q", u.Room)
}

// beginUpload checks the number and adds the row, which takes no space: pieces do when they arrive. Deleting the earlier
// attempt first also deletes its pieces (ON DELETE CASCADE).
func (s *uploads) beginUpload(ctx context.Context, tx Conn, u chat.Upload, rule chat.UploadRule) error {
	if _, err := tx.Exec(ctx, `DELETE FROM uploads WHERE id = $1`, u.ID); err != nil {
		return err
	}
	var waiting int
	err := tx.QueryRow(ctx, `SELECT (SELECT count(*) FROM uploads WHERE sender = $1 AND message = '') FROM rooms WHERE id = $2`, u.Sender, u.Room).Scan(&waiting)
	switch {
	case err != nil:
		return record.Found(err)
	case rule.Waiting > 0 && waiting >= rule.Waiting:
		return chat.ErrTooMany
	}
	_, err = tx.Exec(ctx, `INSERT INTO uploads (id, room, sender, name, type, size, at, attempt) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		u.ID, u.Room, u.Sender, u.Name, u.Type, u.Size, s.Stored(u.At), u.Attempt)
	return err
}

// AddPiece implements [storage.Uploads]. The INSERT selects from the upload, so it adds nothing if the attempt is over. The row of the upload is locked, so that the attempt can't be replaced or
// completed before the piece is stored. A piece that is sent twice replaces itself.
func (s *uploads) AddPiece(ctx context.Context, id, attempt string, n int, data []byte, rule chat.UploadRule) error {
	err := s.Write(ctx, s.change(), func(ctx context.Context, tx Conn) error {
		err := some(tx.Exec(ctx, `
			WITH u AS (SELECT id FROM uploads WHERE id = $1 AND attempt = $2 AND NOT complete`+s.ForUpdate+`)
			INSERT INTO upload_pieces (upload, n, data) SELECT id, $3, $4 FROM u WHERE TRUE
			ON CONFLICT (upload, n) DO UPDATE SET data = excluded.data`, id, attempt, n, data))
		if err == nil && rule.Total > 0 {
			err = s.makeRoom(ctx, tx, id, rule.Total)
		}
		return err
	})
	return s.wrap(err, "storing a piece of an upload")
}

// makeRoom removes content until all uploads have at most total bytes, or returns [chat.ErrNoSpace]. The sender with the
// most bytes gives it, again and again, so that a few senders can't take the space of all others.
func (s *uploads) makeRoom(ctx context.Context, tx Conn, id string, total int64) error {
	for {
		var stored int64
		if err := tx.QueryRow(ctx, record.StoredBytes).Scan(&stored); err != nil || stored <= total {
			return err
		}
		s.Erasing()
		if err := s.evictUploads(ctx, tx, id, stored-total); err != nil {
			return err
		}
	}
}

// evictUploads removes content of the sender with the most bytes, the oldest first, until enough bytes are free or that
// sender has no more; nothing at all is [chat.ErrNoSpace]. The running sum selects exactly as many uploads as are
// needed. Thumbnails (n < 0) of uploads that messages name stay, so that a history can still show them. The
// sender of id loses only those: the others are about to be used by the person who is sending.
func (s *uploads) evictUploads(ctx context.Context, tx Conn, id string, enough int64) error {
	rows, err := tx.Query(ctx, selectUploads+`WHERE id IN (
		SELECT id FROM (SELECT id, held, sum(held) OVER (ORDER BY message = '', at, id) - held AS before FROM (
			SELECT id, message, at, `+record.UploadBytes+` AS held FROM uploads WHERE NOT evicted AND sender = (`+record.LargestSender+`)
			AND (message <> '' OR sender <> (SELECT sender FROM uploads WHERE id = $1))) AS held WHERE held > 0) AS old WHERE before < $2)`, id, enough)
	old, err := Collect(rows, err, s.scanUpload)
	if err == nil && len(old) == 0 {
		err = chat.ErrNoSpace
	}
	if err != nil {
		return err
	}
	for _, u := range old {
		if u.Message == "" {
			_, err = tx.Exec(ctx, `DELETE FROM uploads WHERE id = $1`, u.ID)
		} else if _, err = tx.Exec(ctx, `UPDATE uploads SET evicted = true WHERE id = $1`, u.ID); err == nil {
			_, err = tx.Exec(ctx, `DELETE FROM upload_pieces WHERE upload = $1 AND n >= 0`, u.ID)
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
		err = s.Write(ctx, Change{}, func(ctx context.Context, tx Conn) error {
			err := some(tx.Exec(ctx, `UPDATE uploads SET complete = true, type = $1, thumbnail = $2 WHERE id = $3 AND attempt = $4 AND NOT complete`,
				kind, len(thumbnail) > 0, id, attempt))
			if err == nil && len(thumbnail) > 0 {
				_, err = tx.Exec(ctx, `INSERT INTO upload_pieces (upload, n, data) VALUES ($1, $2, $3)`, id, chat.ThumbnailPiece, thumbnail)
			}
			return err
		})
	}
	return s.wrap(err, "ending an upload")
}

// Upload implements [storage.Uploads].
func (s *uploads) Upload(ctx context.Context, id string) (u chat.Upload, err error) {
	u, err = one(ctx, s.Shared, s.scanUpload, selectUploads+`WHERE id = $1`, id)
	return u, s.wrap(err, "finding an upload")
}

// Piece implements [storage.Uploads].
func (s *uploads) Piece(ctx context.Context, id string, n int) (data []byte, err error) {
	data, err = one(ctx, s.Shared, scan[[]byte], `SELECT data FROM upload_pieces WHERE upload = $1 AND n = $2`, id, n)
	return data, s.wrap(err, "reading a piece of an upload")
}

// NameUploads implements [storage.Uploads]. An error for one of them rolls all back. The same message may name them
// again, because its acceptance can be retried.
func (s *uploads) NameUploads(ctx context.Context, message chat.MemoryID, ids ...string) (all []chat.Upload, err error) {
	err = s.Write(ctx, Change{}, func(ctx context.Context, tx Conn) error {
		all = nil
		for _, id := range ids {
			u, err := s.scanUpload(tx.QueryRow(ctx, `
				UPDATE uploads SET message = $1 WHERE id = $2 AND complete AND message IN ('', $1) RETURNING `+record.UploadColumns, message, id))
			if err != nil {
				return err
			}
			all = append(all, u)
		}
		return nil
	})
	if err != nil {
		return nil, s.wrap(err, "naming the uploads of %q", message)
	}
	return all, nil
}

// DropUpload implements [storage.Uploads].
func (s *uploads) DropUpload(ctx context.Context, id, attempt string) error {
	err := s.Write(ctx, Change{Deletes: true}, func(ctx context.Context, tx Conn) error {
		_, err := tx.Exec(ctx, `DELETE FROM uploads WHERE id = $1 AND message = '' AND $2 IN ('', attempt)`, id, attempt)
		return err
	})
	return s.wrap(err, "removing an upload")
}
