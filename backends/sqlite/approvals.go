package sqlite

import (
	"context"
	"time"

	"parley/backends/record"
	"parley/core/chat"
)

const selectApprovals = `SELECT ` + record.ApprovalColumns + ` FROM approvals `

// RequestApproval implements [storage.Approvals].
func (s *questions) RequestApproval(ctx context.Context, a chat.Approval) (stored chat.Approval, err error) {
	if err := record.CheckApproval(a); err != nil {
		return chat.Approval{}, wrap(err, "asking for the approval %q", a.ID)
	}
	err = s.write(ctx, func(ctx context.Context, tx *conn) (err error) {
		_, err = tx.ExecContext(ctx, `
			INSERT INTO approvals (`+record.ApprovalColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
			a.ID, a.Room, a.Run, a.Call, a.Tool, a.Kind, a.Arguments, a.Effect, a.Asker, record.Nanos(a.At), record.Nanos(a.Expires),
			a.Decision, a.By, record.Nanos(a.Decided))
		if err == nil {
			stored, err = record.ScanApproval(tx.QueryRowContext(ctx, selectApprovals+`WHERE id = ?`, a.ID))
		}
		return err
	})
	return stored, wrap(err, "asking for the approval %q", a.ID)
}

// Approval implements [storage.Approvals].
func (s *questions) Approval(ctx context.Context, id string) (a chat.Approval, err error) {
	err = s.read(ctx, func(db *conn) (err error) {
		a, err = record.ScanApproval(db.QueryRowContext(ctx, selectApprovals+`WHERE id = ?`, id))
		return err
	})
	return a, wrap(err, "reading the approval %q", id)
}

// DecideApproval implements [storage.Approvals]. The earlier decision is compared in the statement: of several users
// who decide at the same time, one succeeds.
func (s *questions) DecideApproval(ctx context.Context, id string, from, to chat.Decision, by chat.EntityID, at time.Time) error {
	err := record.CheckText(id, string(from), string(to), string(by))
	if err == nil {
		err = s.write(ctx, func(ctx context.Context, tx *conn) error {
			return some(tx.ExecContext(ctx, `UPDATE approvals SET decision = ?, decider = ?, decided = ? WHERE id = ? AND decision = ?`,
				to, by, record.Nanos(at), id, from))
		})
	}
	return wrap(err, "deciding the approval %q", id)
}

// StandingApproval implements [storage.Approvals].
func (s *questions) StandingApproval(ctx context.Context, room chat.RoomID, kind string) (a chat.Approval, err error) {
	err = s.read(ctx, func(db *conn) (err error) {
		a, err = record.ScanApproval(db.QueryRowContext(ctx, selectApprovals+`WHERE room = ? AND kind = ? AND decision = ? ORDER BY at DESC, id LIMIT 1`,
			room, kind, chat.Always))
		return err
	})
	return a, wrap(err, "reading the approvals of %q", room)
}

// OpenApprovals implements [storage.Approvals].
func (s *questions) OpenApprovals(ctx context.Context, room chat.RoomID, limit int) (all []chat.Approval, err error) {
	err = s.read(ctx, func(db *conn) error {
		rows, err := db.QueryContext(ctx, selectApprovals+`WHERE room = ? AND decision IN (?, ?) ORDER BY at DESC, id LIMIT ?`,
			room, chat.Pending, chat.Replaced, max(limit, 0))
		if err == nil {
			all, err = collect(rows, record.ScanApproval)
		}
		return err
	})
	return all, wrap(err, "reading the open approvals of %q", room)
}

// RecentApprovals implements [storage.Approvals].
func (s *questions) RecentApprovals(ctx context.Context, room chat.RoomID, limit int) (all []chat.Approval, err error) {
	err = s.read(ctx, func(db *conn) error {
		rows, err := db.QueryContext(ctx, selectApprovals+`WHERE room = ? ORDER BY at DESC, id LIMIT ?`, room, max(limit, 0))
		if err == nil {
			all, err = collect(rows, record.ScanApproval)
		}
		return err
	})
	return all, wrap(err, "reading the approvals of %q", room)
}
