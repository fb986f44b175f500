package schedule

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"parley/core/chat"
)

// trackerTimeout is the time limit of a call of the tracker. The tracker is an optimization; after the timeout the
// journal decides.
const trackerTimeout = time.Second

// Tracker holds the latest turn of each room, for all replicas. It ends older runs early; the journal decides which run
// counts. It can lose data, and it can be unreachable: then runs end on their own. It is safe for concurrent use.
type Tracker interface {
	// Claim makes id the latest turn of the agent's room. Contexts of earlier claims are cancelled with
	// [chat.ErrSuperseded], on this replica before Claim returns and on all others soon. It is refused with
	// ErrSuperseded if a later turn is known, and with [chat.ErrStopped] if id was stopped. The same id may be claimed
	// again, on any replica; nothing is cancelled by that. The context is a child of ctx and is cancelled with it; ending
	// ctx releases the claim, and forgets nothing. With any other error there may still be a context:
	// the claim then counts as far as the tracker can reach. Ids begin at 1.
	Claim(ctx context.Context, agent chat.AgentID, room chat.RoomID, id chat.ResponseID) (context.Context, error)
	// Settle returns the state of id, whatever its context reports: nil, ErrSuperseded or ErrStopped. It fails with
	// another error if the state can't be read.
	Settle(ctx context.Context, agent chat.AgentID, room chat.RoomID, id chat.ResponseID) error
	// Stop cancels every turn up to and including upTo with ErrStopped, on all replicas, running or not. It fails if
	// the tracker can't be reached.
	Stop(ctx context.Context, agent chat.AgentID, room chat.RoomID, upTo chat.ResponseID) error
}

// Claims are the claims of turns on their rooms: the only user of the [Tracker]. Its exported fields are set before use. It is safe for
// concurrent use.
type Claims struct {
	Tracker Tracker
	Agent   chat.AgentID
	Log     *slog.Logger

	announcing Outage
}

// Announce stops earlier runs of room, on all replicas. It may fail: they then end when this turn starts. It does not
// end with ctx, the request of the platform, because the message is stored by now.
func (c *Claims) Announce(ctx context.Context, room chat.RoomID, id chat.ResponseID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), trackerTimeout)
	defer cancel()
	_, err := c.Tracker.Claim(ctx, c.Agent, room, id)
	if err == nil || Settled(err) != nil {
		c.announcing.Ended()
	} else if c.announcing.Failed() { // only the first failure is news
		c.Log.Warn("can't announce a turn; until that works again, earlier runs end on their own", "room", room, "err", err)
	}
}

// Claim announces the turn of run as the latest of its room while it is executed. claimed is a child of ctx that ends
// when a later turn has the room. If the tracker can't be reached, it is ctx itself: no run is refused then, because
// the journal starts one run of a room at a time anyway. refused is [chat.ErrSuperseded] or [chat.ErrStopped]. A run
// that claims no room gets ctx.
func (c *Claims) Claim(ctx context.Context, run *chat.Run) (claimed context.Context, refused error) {
	if !run.Kind.Claims() {
		return ctx, nil
	}
	claimed, err := c.Tracker.Claim(ctx, c.Agent, run.Claim(), run.Turn())
	if refused = Settled(err); refused != nil || claimed == nil {
		return ctx, refused
	}
	return claimed, nil // also with an error: then it still ends with the events that reach the tracker, see [Tracker]
}

// Settle returns the reason why the turn of run no longer has the room, or nil. It asks the tracker, and not only a
// context, whose end may still be on its way from another replica. An unreachable tracker is no reason.
func (c *Claims) Settle(ctx context.Context, run *chat.Run) error {
	if !run.Kind.Claims() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, trackerTimeout)
	defer cancel()
	return Settled(c.Tracker.Settle(ctx, c.Agent, run.Claim(), run.Turn()))
}

// Stop ends every turn that claims room up to upTo, on all replicas. It fails with the tracker's error.
func (c *Claims) Stop(ctx context.Context, room chat.RoomID, upTo chat.ResponseID) error {
	return c.Tracker.Stop(ctx, c.Agent, room, upTo)
}

// Settled returns err if it is the tracker's report that a turn is over, and nil otherwise: an unreachable tracker
// stops no run, because the journal decides.
func Settled(err error) error {
	if errors.Is(err, chat.ErrSuperseded) || errors.Is(err, chat.ErrStopped) {
		return err
	}
	return nil
}
