// Package budget asks people before an answer goes beyond a soft limit of money: whether it goes on, goes on with a cheaper model, or
// stops. The run waits for them without its room.
package budget

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/price"
	"parley/core/quota"
	"parley/core/route"
)

// For is what a run waits for that was asked, see [action.Wait].
const For = "budget"

// ErrDeclined means that there is no answer, because of what it costs. People were told why.
var ErrDeclined = errors.New("the answer costs too much")

// A Gate lets answers pass that cost little enough, or that someone wants nevertheless. It is safe for concurrent use.
type Gate struct {
	Meter     *quota.Meter
	Approvers map[chat.EntityID]bool // who may have answers go on, beside the owners
	// Owns reports whether an account owns the agent.
	Owns func(ctx context.Context, id chat.EntityID) (bool, error)
	// Owners returns the accounts of the owners, as far as they are known, with their direct chats.
	Owners func(ctx context.Context) (map[chat.EntityID]chat.RoomID, error)
}

// An Answer is an answer that is about to be written.
type Answer struct {
	Turn   *action.TurnContext
	Route  *route.Route
	Waited bool // it has waited, and the time for that may be over
	// Chose returns the question that the run has waited for, if a choice was made.
	Chose func(ctx context.Context, waitedFor string) (chat.Question, bool, error)
	// Wait asks, and has the run wait: it fails with [chat.ErrParked].
	Wait func(ctx context.Context, w action.Wait) error
	// Say shows a text: a notice is not remembered.
	Say func(text string, notice bool)
}

// The options. Which of them there are depends on who asks, and on the models.
const (
	goOn    = "Go on"
	cheaper = "Use the cheaper model"
	stop    = "Stop"
)

const waits = time.Hour

// What people are told.
const (
	declinedLine = "Okay, I stopped before it cost anything."
	lateLine     = "No one decided in time, so I stopped before it cost anything."
	unseenLine   = "No one can be asked here, so I stopped before it cost anything."
	notYoursLine = "Only my owner can let this go on, so I stopped before it cost anything."
	beyondLine   = "%s would exceed the soft limit of %s a day. This answer costs about %s."
	absentLine   = beyondLine + " My owner can let it go on."
)

// Pass returns nil if the answer to req may be written, with the models that its route has then. [chat.ErrParked] if it is to wait, and
// [ErrDeclined] if it is not written.
func (g *Gate) Pass(ctx context.Context, a Answer, req llm.Request) error {
	cost, known := g.Meter.Estimate(a.Route.Current().Name, req)
	if !known {
		return nil
	}
	q, chosen, err := a.Chose(ctx, For)
	switch {
	case err != nil:
		return fmt.Errorf("read who lets the answer go on: %w", err)
	case chosen:
		return g.chosen(ctx, a, req, q, cost)
	}
	beyond, err := g.Meter.Beyond(ctx, cost)
	if err != nil || beyond == nil {
		return err
	}
	if a.Waited {
		a.Say(lateLine, false)
		return ErrDeclined
	}
	return g.ask(ctx, a, req, cost, beyond)
}

// chosen does what was chosen. Rights can have changed since the question was asked.
func (g *Gate) chosen(ctx context.Context, a Answer, req llm.Request, q chat.Question, cost price.USD) error {
	option := q.Options[q.Choice]
	switch option {
	case stop:
		a.Say(declinedLine, false)
		return ErrDeclined
	case cheaper:
		if !a.Route.Keep(g.costsLess(req, cost)) { // it was removed meanwhile
			a.Say(declinedLine, false)
			return ErrDeclined
		}
	default:
		if may, err := g.may(ctx, q.By); err != nil {
			return err
		} else if !may {
			a.Say(notYoursLine, false)
			return ErrDeclined
		}
	}
	a.Say(answer.CostSign+q.ChoiceLine(a.Turn.Room.Kind), true)
	return nil
}

// costsLess returns which models cost less for req.
func (g *Gate) costsLess(req llm.Request, than price.USD) func(llm.Named) bool {
	return func(m llm.Named) bool {
		cost, known := g.Meter.Estimate(m.Name, req)
		return known && cost < than
	}
}

func (g *Gate) ask(ctx context.Context, a Answer, req llm.Request, cost price.USD, beyond *quota.Beyond) error {
	asker := a.Turn.Message.Author
	may := a.Turn.Owner
	if !may && !a.Turn.Several() {
		var err error
		if may, err = g.may(ctx, asker); err != nil {
			return err
		}
	}
	var q chat.Question
	if may {
		q.Options = append(q.Options, fmt.Sprintf(goOn+" (about %s)", cost))
	}
	if a.Route.Has(g.costsLess(req, cost)) {
		q.Options = append(q.Options, cheaper)
	}
	if len(q.Options) == 0 {
		a.Say(fmt.Sprintf(absentLine, beyond.Whose, beyond.Limit, cost), false)
		return ErrDeclined
	}
	q.Options = append(q.Options, stop)
	owners, err := g.Owners(ctx)
	if err != nil {
		return err
	}
	who := map[chat.EntityID]bool{asker: true}
	for id := range owners {
		who[id] = true
	}
	maps.Copy(who, g.Approvers)
	q.For = slices.Sorted(maps.Keys(who))
	if !may && asker != "" {
		q.For = []chat.EntityID{asker}
	}
	a.Say(answer.CostSign+fmt.Sprintf(beyondLine, beyond.Whose, beyond.Limit, cost), true)
	err = a.Wait(ctx, action.Wait{For: For, Until: time.Now().Add(waits), Ask: &q})
	if errors.Is(err, chat.ErrUnseen) { // where no one can be asked
		a.Say(unseenLine, false)
		return ErrDeclined
	}
	return err
}

func (g *Gate) may(ctx context.Context, id chat.EntityID) (bool, error) {
	if id == "" {
		return false, nil
	}
	if g.Approvers[id] {
		return true, nil
	}
	return g.Owns(ctx, id)
}
