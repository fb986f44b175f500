package initiative

import (
	"context"

	"parley/core/access"
	"parley/core/chat"
)

// ApprovalStore contains the store methods that [Approve] uses.
type ApprovalStore interface {
	access.ApprovalStore
	Store
	Accept(ctx context.Context, m chat.Message, j chat.JoinRule) (chat.Accepted, error)
}

// Approve gives access to the person who was told code, while no gateway uses the store. The next gateway tells them.
// [chat.ErrNotFound] if the code is unknown or has expired.
func Approve(ctx context.Context, store ApprovalStore, agent chat.Agent, code string) (chat.Person, error) {
	return access.Approve(ctx, store, func(ctx context.Context, n chat.Notice) error {
		m, err := Draft(ctx, store, agent, n)
		if err != nil {
			return err
		}
		_, err = store.Accept(ctx, m, chat.JoinRule{Kind: chat.RunNotify})
		return err
	}, code)
}
