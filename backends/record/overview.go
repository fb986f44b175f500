package record

import (
	"context"
	"fmt"
	"strings"
	"time"

	"parley/core/chat"
)

// Overview implements [parley/core/storage.Overview] for SQL stores.
type Overview struct {
	// Query calls each with nil, and then with the rows of a query with the placeholders ?1, ?2. It can begin again.
	Query func(ctx context.Context, query string, args []any, each func(Row) error) error
	Runs  string                      // selects runs, as for [ScanRun]
	Scan  func(Row) (chat.Run, error) // reads a row of Runs
	Now   func() int64                // the present, the first argument of Runs
}

// RunsSince implements [parley/core/storage.Overview].
func (o Overview) RunsSince(ctx context.Context, since time.Time, open bool, limit int) ([]chat.Run, error) {
	where := "WHERE r.opened >= ?2 "
	if open { // apart, because there is an index for it
		where += "AND r.status = '' "
	}
	return listed(ctx, o, o.Scan, o.Runs+where+"ORDER BY r.opened DESC, r.id DESC LIMIT ?3", o.Now(), Nanos(since), max(limit, 0))
}

// PendingApprovals implements [parley/core/storage.Overview].
func (o Overview) PendingApprovals(ctx context.Context, limit int) ([]chat.Approval, error) {
	return listed(ctx, o, ScanApproval, `SELECT `+ApprovalColumns+` FROM approvals WHERE decision = ?1 ORDER BY at DESC, id LIMIT ?2`, chat.Pending, max(limit, 0))
}

// NotesSince implements [parley/core/storage.Overview].
func (o Overview) NotesSince(ctx context.Context, kind chat.NoteKind, since time.Time, limit int) ([]chat.RoomNote, error) {
	return listed(ctx, o, ScanNote, `SELECT `+NoteColumns+` FROM room_notes WHERE kind = ?1 AND at >= ?2 ORDER BY at DESC, seq DESC LIMIT ?3`, kind, Nanos(since), max(limit, 0))
}

// FindEntities implements [parley/core/storage.Overview].
func (o Overview) FindEntities(ctx context.Context, part string, limit int) ([]chat.Entity, error) {
	pattern := "%" + strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(strings.ToLower(part)) + "%"
	return listed(ctx, o, ScanEntity, `SELECT id, connector, names, bot, details FROM entities WHERE lower(id || ' ' || names) LIKE ?1 ESCAPE '!' ORDER BY met DESC, id LIMIT ?2`, pattern, max(limit, 0))
}

// listed returns the rows of a query.
func listed[T any](ctx context.Context, o Overview, scan func(Row) (T, error), query string, args ...any) (all []T, err error) {
	err = o.Query(ctx, query, args, func(r Row) error {
		if r == nil {
			all = nil
			return nil
		}
		one, err := scan(r)
		all = append(all, one)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read a list of all rooms: %w", err)
	}
	return all, nil
}
