package intake

import (
	"context"

	"parley/core/access"
	"parley/core/action"
	"parley/core/chat"
	"parley/internal/lang"
)

// Handlers returns the built-in handlers of choices.
func Handlers(cs *Choices, stops *Stopper, changes *Changes, links *access.Links) []action.ChoiceHandler {
	return []action.ChoiceHandler{
		asMessage{cs}, forgetter{stops, changes}, waiter{action.Awaited}, waiter{action.Parked}, approvalHandler{cs.Pairing}, openingHandler{cs.Pairing}, linkHandler{links},
	}
}

// asMessage is [action.AsMessage].
type asMessage struct{ choices *Choices }

func (asMessage) Name() string { return action.AsMessage }

func (a asMessage) Chosen(ctx context.Context, q chat.Question) (string, error) {
	_, err := a.choices.say(ctx, q)
	return "", err
}

// waiter serves the two ways to wait for a choice, in an action or parked. The waiting run reads the choice itself, so
// the handler does nothing.
type waiter struct{ name string }

func (w waiter) Name() string { return w.name }

func (waiter) Chosen(context.Context, chat.Question) (string, error) { return "", nil }

// forgetter clears the room when a user has confirmed /new.
type forgetter struct {
	stops   *Stopper
	changes *Changes
}

func (forgetter) Name() string { return action.Forget }

func (f forgetter) Chosen(ctx context.Context, q chat.Question) (string, error) {
	if q.Choice != 0 {
		return lang.Say(ctx, "forget.kept"), nil
	}
	if err := f.stops.Stop(ctx, q.Room, chat.EveryTurn); err != nil {
		f.changes.Log.Warn("can't stop the answers in a room that was cleared; they will end on their own", "room", q.Room, "err", err)
	}
	err := f.changes.Admission.Handovers.Cleared(ctx, q.Room)
	if err == nil {
		_, err = f.changes.clear(ctx, chat.Cleared{Room: q.Room})
	}
	if err != nil {
		return "", err
	}
	return lang.Say(ctx, "forget.done"), nil
}

// approvalHandler executes the decision of an owner about a user who asks for access.
type approvalHandler struct{ pairing *access.Pairing }

func (approvalHandler) Name() string { return access.ApprovalHandler }

func (h approvalHandler) Chosen(ctx context.Context, q chat.Question) (string, error) {
	return h.pairing.Chosen(ctx, q)
}

// openingHandler executes the decision of an owner about a server or group that the agent was added to.
type openingHandler struct{ pairing *access.Pairing }

func (openingHandler) Name() string { return access.OpeningHandler }

func (h openingHandler) Chosen(ctx context.Context, q chat.Question) (string, error) {
	return h.pairing.ChosenOpening(ctx, q, lang.Say(ctx, "choice.not_yours"))
}

// linkHandler executes the decision of a user about an account of theirs.
type linkHandler struct{ *access.Links }

func (linkHandler) Name() string { return access.LinkHandler }
