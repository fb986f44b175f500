package storage

import (
	"context"
	"time"

	"parley/core/chat"
)

// Approvals record which calls of actions were approved, and who approved them.
type Approvals interface {
	// RequestApproval stores a, once by its id, and returns what is stored under it.
	RequestApproval(ctx context.Context, a chat.Approval) (chat.Approval, error)
	// Approval returns one by its id, or [chat.ErrNotFound].
	Approval(ctx context.Context, id string) (chat.Approval, error)
	// DecideApproval changes the decision from one to another: [answer.ErrLost] if it is not the first, or there is no such approval.
	DecideApproval(ctx context.Context, id string, from, to chat.Decision, by chat.EntityID, at time.Time) error
	// StandingApproval returns the newest of room whose kind is kind and whose decision is [chat.Always], or [chat.ErrNotFound].
	StandingApproval(ctx context.Context, room chat.RoomID, kind string) (chat.Approval, error)
	// OpenApprovals returns those of room that are [chat.Pending] or [chat.Replaced], the newest first, at most limit. They may have expired.
	OpenApprovals(ctx context.Context, room chat.RoomID, limit int) ([]chat.Approval, error)
	// RecentApprovals returns the newest of room, the newest first.
	RecentApprovals(ctx context.Context, room chat.RoomID, limit int) ([]chat.Approval, error)
}
