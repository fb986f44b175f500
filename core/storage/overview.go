package storage

import (
	"context"
	"time"

	"parley/core/chat"
)

// Overview lists data of all rooms, for operators. Each list has at most limit elements, newest first.
type Overview interface {
	// RunsSince returns the runs that were opened at since or later, with a state.
	RunsSince(ctx context.Context, since time.Time, state chat.RunState, limit int) ([]chat.Run, error)
	// PendingApprovals returns the approvals that are [chat.Pending]. They may have expired.
	PendingApprovals(ctx context.Context, limit int) ([]chat.Approval, error)
	// NotesSince returns the notes of a kind that were saved at since or later.
	NotesSince(ctx context.Context, kind chat.NoteKind, since time.Time, limit int) ([]chat.RoomNote, error)
	// FindEntities returns the entities whose id, or one of whose names, contains part, regardless of case.
	FindEntities(ctx context.Context, part string, limit int) ([]chat.Entity, error)
}
