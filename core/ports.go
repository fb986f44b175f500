package core

import (
	"context"

	"parley/core/answer"
	"parley/core/chat"
)

// Tracker knows the latest turn of each room, on all replicas. It makes older runs end early; the journal decides which one counts. It may
// forget, and it may be out of reach: then runs end in their own time.
type Tracker interface {
	// Claim makes id the latest turn of the agent's room. Contexts of earlier claims are cancelled with
	// [chat.ErrSuperseded], on this replica before Claim returns and on all others soon. It is refused with
	// ErrSuperseded if a later turn is known, and with [chat.ErrStopped] if id was stopped. The same id may be claimed
	// again, on any replica; nothing is cancelled by that. The context is a child of ctx and is cancelled with it; ending
	// ctx releases the claim, and forgets nothing. With any other error there may still be a context:
	// the claim then counts as far as the tracker can reach. Ids begin at 1.
	Claim(ctx context.Context, agent chat.AgentID, room chat.RoomID, id chat.ResponseID) (context.Context, error)
	// Settle is the truth about id, whatever its context says: nil, ErrSuperseded or ErrStopped.
	Settle(ctx context.Context, agent chat.AgentID, room chat.RoomID, id chat.ResponseID) error
	// Stop cancels every turn up to and including upTo with ErrStopped, on all replicas, running or not.
	Stop(ctx context.Context, agent chat.AgentID, room chat.RoomID, upTo chat.ResponseID) error
}

// Surface shows an answer in one conversation.
type Surface interface {
	// Show follows a until it has ended, and returns nil when its final state is shown or can't be: if that is before the end,
	// the turn is over. It calls note before it creates a message (no ID), when it has it, before each change or deletion of it
	// (again with its ID, which costs no write), and when it has taken it back or the platform has definitely refused to create it
	// (Gone); if note fails it changes nothing more and returns that error.
	// When ctx is done it lets a request under way end, and returns the cause. When people have removed the answer it shows
	// nothing more and returns [ErrRemoved]. When the end may not have arrived it returns [ErrUnconfirmed].
	Show(ctx context.Context, a *answer.Answer, note func(chat.Shown) error) error
}

// Opener opens the conversation of a run, with what the run has shown there already. A nil Surface means that nothing
// is posted there: people watch the answer itself. [chat.ErrUnreached] means that it can't be opened, now or later; any
// other error, that it is worth another try.
type Opener func(ctx context.Context, r chat.Run) (Surface, error)
