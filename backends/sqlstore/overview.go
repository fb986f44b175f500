package sqlstore

import (
	"context"
	"strings"
	"time"

	"parley/backends/record"
	"parley/core/chat"
)

// RunsSince implements [storage.Overview].
func (s *overview) RunsSince(ctx context.Context, since time.Time, open bool, limit int) ([]chat.Run, error) {
	where := "WHERE r.opened >= $2 "
	if open { // apart, because there is an index for it
		where += "AND r.status = '' "
	}
	all, err := list(ctx, s.Shared, s.scanChatRun, s.selectRuns+where+"ORDER BY r.opened DESC, r.id DESC LIMIT $3", s.Present(), record.Nanos(since), max(limit, 0))
	return all, s.wrap(err, "listing the runs of all rooms")
}

// PendingApprovals implements [storage.Overview].
func (s *overview) PendingApprovals(ctx context.Context, limit int) ([]chat.Approval, error) {
	all, err := list(ctx, s.Shared, record.ScanApproval, selectApprovals+`WHERE decision = $1 ORDER BY at DESC, id LIMIT $2`, chat.Pending, max(limit, 0))
	return all, s.wrap(err, "listing the pending approvals")
}

// NotesSince implements [storage.Overview].
func (s *overview) NotesSince(ctx context.Context, kind chat.NoteKind, since time.Time, limit int) ([]chat.RoomNote, error) {
	all, err := list(ctx, s.Shared, record.ScanNote, `
		SELECT `+record.NoteColumns+` FROM room_notes WHERE kind = $1 AND at >= $2 ORDER BY at DESC, seq DESC LIMIT $3`, kind, record.Nanos(since), max(limit, 0))
	return all, s.wrap(err, "listing the notes of all rooms")
}

// FindEntities implements [storage.Overview].
func (s *overview) FindEntities(ctx context.Context, part string, limit int) ([]chat.Entity, error) {
	pattern := "%" + strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(strings.ToLower(part)) + "%"
	all, err := list(ctx, s.Shared, record.ScanEntity, `
		SELECT id, connector, names, bot, details FROM entities WHERE lower(id || ' ' || names) LIKE $1 ESCAPE '!' ORDER BY met DESC, id LIMIT $2`, pattern, max(limit, 0))
	return all, s.wrap(err, "looking for people")
}
