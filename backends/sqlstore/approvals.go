package sqlstore

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
		return chat.Approval{}, s.wrap(err, "asking for the approval %q", a.ID)
	}
	err = s.Write(ctx, s.room(a.Room), func(ctx context.Context, tx Conn) (err error) {
		_, err = tx.Exec(ctx, `
			INSERT INTO approvals (`+record.ApprovalColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
			ON CONFLICT (id) DO NOTHING`,
			a.ID, a.Room, a.Run, a.Call, a.Tool, a.Kind, a.Arguments, a.Effect, a.Asker, record.Nanos(a.At), record.Nanos(a.Expires),
			a.Decision, a.By, record.Nanos(a.Decided))
		if err == nil {
			stored, err = record.ScanApproval(tx.QueryRow(ctx, selectApprovals+`WHERE id = $1`, a.ID))
		}
		return err
	})
	return stored, s.wrap(err, "asking for the approval %q", a.ID)
}

// Approval implements [storage.Approvals].
func (s *questions) Approval(ctx context.Context, id string) (a chat.Approval, err error) {
	a, err = one(ctx, s.Shared, record.ScanApproval, selectApprovals+`WHERE id = $1`, id)
	return a, s.wrap(err, "reading the approval %q", id)
}

// DecideApproval implements [storage.Approvals]. The earlier decision is compared in the statement: of several users
// who decide at the same time, also on several replicas, one succeeds.
func (s *questions) DecideApproval(ctx context.Context, id string, from, to chat.Decision, by chat.EntityID, at time.Time) error {
	err := record.CheckText(id, string(from), string(to), string(by))
	if err == nil {
		err = s.Write(ctx, change(s.Shared, "approval", id), func(ctx context.Context, tx Conn) error {
			return some(tx.Exec(ctx, `UPDATE approvals SET decision = $1, decider = $2, decided = $3 WHERE id = $4 AND decision = $5`,
				to, by, record.Nanos(at), id, from))
		})
	}
	return s.wrap(err, "deciding the approval %q", id)
}

// StandingApproval implements [storage.Approvals].
func (s *questions) StandingApproval(ctx context.Context, room chat.RoomID, kind string) (a chat.Approval, err error) {
	a, err = one(ctx, s.Shared, record.ScanApproval, selectApprovals+`WHERE room = $1 AND kind = $2 AND decision = $3 ORDER BY at DESC, id LIMIT 1`,
		room, kind, chat.Always)
	return a, s.wrap(err, "reading the approvals of %q", room)
}

// OpenApprovals implements [storage.Approvals].
func (s *questions) OpenApprovals(ctx context.Context, room chat.RoomID, limit int) (all []chat.Approval, err error) {
	all, err = list(ctx, s.Shared, record.ScanApproval, selectApprovals+`WHERE room = $1 AND decision IN ($2, $3) ORDER BY at DESC, id LIMIT $4`,
		room, chat.Pending, chat.Replaced, max(limit, 0))
	return all, s.wrap(err, "reading the open approvals of %q", room)
}

// RecentApprovals implements [storage.Approvals].
func (s *questions) RecentApprovals(ctx context.Context, room chat.RoomID, limit int) (all []chat.Approval, err error) {
	all, err = list(ctx, s.Shared, record.ScanApproval, selectApprovals+`WHERE room = $1 ORDER BY at DESC, id LIMIT $2`, room, max(limit, 0))
	return all, s.wrap(err, "reading the approvals of %q", room)
}
