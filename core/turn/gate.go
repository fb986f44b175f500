package turn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/consent"
	"parley/core/generate"
	"parley/core/llm"
	"parley/core/quota"
	"parley/internal/lang"
)

// waitsForBudget begins the reason of runs that wait for a decision about a soft limit, see [action.Wait]. A space and the limit follow.
const waitsForBudget = "budget"

// errDeclined means that there is no answer because of its cost. Users have read the reason.
var errDeclined = errors.New("the answer costs too much")

// A Gate allows model calls that are within the soft limits of money, or that an approver accepted: users decide whether the answer
// continues, continues with a cheaper model, or stops. The run waits for them without its room. It is safe for concurrent use.
//
// Rights are checked in two steps. When the question is asked, they decide which options it has and who can choose. After the choice, up to
// an hour later, they are checked again: an approver who was removed meanwhile can't let the answer continue.
type Gate struct {
	Meter  *quota.Meter
	Owners consent.Owners
	Log    *slog.Logger
}

// costlyAnswer is an answer that is being written. It belongs to one goroutine.
type costlyAnswer struct {
	Run     consent.Run
	Turn    *action.TurnContext
	Route   *generate.Route
	Begun   bool                           // a call of the model was made for it
	Allowed []string                       // the soft limits that it can exceed by consent, each of them asked for once
	Say     func(text string, notice bool) // shows a text: a notice is not remembered

	resumed bool // the consent that the run has waited for was processed
}

const waits = time.Hour

// pass returns nil if the call req can be made for the answer, with the current models of its route. It is called
// before each call of the model. It fails with [chat.ErrParked] if the answer has to wait, and with [errDeclined] if it
// ends here.
func (g *Gate) pass(ctx context.Context, a *costlyAnswer, req llm.Request) error {
	cost, known := g.Meter.Estimate(a.Route.Current().Name, req)
	if !known {
		return nil
	}
	first := !a.resumed
	a.resumed = true
	beyond, err := g.Meter.Hold(ctx, cost, a.Allowed...)
	if err != nil {
		return err
	}
	state, q := consent.Open, chat.Question{}
	if first {
		if state, q, err = consent.Of(ctx, a.Run, waitsForBudget); err != nil {
			return fmt.Errorf("read the consent to the cost of an answer: %w", err)
		}
	}
	switch {
	case state == consent.Chosen:
		return g.chosen(ctx, a, req, q, cost, beyond)
	case len(beyond) == 0:
		a.Begun = true
		return nil
	case state == consent.Late:
		return a.decline(ctx, "cost.late")
	}
	return g.ask(ctx, a, req, cost, beyond[0])
}

// begun returns the key of a sentence about an answer, by whether a call of the model was made for it.
func (a *costlyAnswer) begun(key string) string {
	if a.Begun {
		return key + ".begun"
	}
	return key
}

// decline ends the answer, and shows the reason and the result. It fails with [errDeclined].
func (a *costlyAnswer) decline(ctx context.Context, why string) error {
	a.Say(lang.Say(ctx, a.begun(why)), false)
	return errDeclined
}

// chosen carries out the selected option. Rights can have changed since the question was asked. It fails with
// [errDeclined], and with the error of the store.
func (g *Gate) chosen(ctx context.Context, a *costlyAnswer, req llm.Request, q chat.Question, cost quota.USD, beyond []quota.Beyond) error {
	g.Meter.Release(ctx) // it is held again below, for the model that was chosen
	switch option := q.Options[q.Choice]; {
	case lang.Is("cost.stop", option):
		return a.decline(ctx, "cost.declined")
	case lang.Is("cost.cheaper", option):
		if !a.Route.Keep(g.costsLess(req, cost)) { // it was removed meanwhile
			return a.decline(ctx, "cost.declined")
		}
	default:
		if may, err := g.Owners.IsStaff(ctx, q.By, chat.Address{}); err != nil {
			return err
		} else if !may && (!a.Turn.Staff || q.By != a.Turn.Message.Author) {
			return a.decline(ctx, "cost.not_yours")
		}
	}
	_, kind, _ := strings.Cut(q.Payload, " ")
	a.Allowed = append(a.Allowed, kind) // the first limit now can differ from the one in the question
	for _, b := range beyond {
		a.Allowed = append(a.Allowed, b.Kind)
	}
	if now, known := g.Meter.Estimate(a.Route.Current().Name, req); known { // of the chosen model
		cost = now
	}
	if _, err := g.Meter.Hold(ctx, cost, a.Allowed...); err != nil {
		return err
	}
	a.Begun = true
	a.Say(answer.CostSign+q.ChoiceLine(a.Turn.Room.Kind), true)
	return nil
}

// costsLess returns a filter for models that cost less for req.
func (g *Gate) costsLess(req llm.Request, than quota.USD) func(llm.Named) bool {
	return func(m llm.Named) bool {
		cost, known := g.Meter.Estimate(m.Name, req)
		return known && cost < than
	}
}

func (g *Gate) ask(ctx context.Context, a *costlyAnswer, req llm.Request, cost quota.USD, beyond quota.Beyond) error {
	why := lang.Say(ctx, "cost.beyond."+beyond.Whose, "limit", beyond.Limit) + " " + lang.Say(ctx, a.begun("cost.about"), "cost", cost)
	q, err := g.question(ctx, a, req, cost)
	if err != nil {
		return err
	} else if len(q.Options) == 0 {
		a.Say(why+" "+lang.Say(ctx, "cost.absent"), false)
		return errDeclined
	}
	state, err := consent.Ask(ctx, a.Run, consent.Request{
		Subject: waitsForBudget + " " + beyond.Kind, Description: why, Options: q.Options, From: q.For, Until: time.Now().Add(waits),
	})
	if state == consent.Unseen { // no user can be asked here
		return a.decline(ctx, "cost.unseen")
	}
	return err
}

// question returns the question for users, without options if there is no choice. The author of the question can
// choose. If they can let the answer continue, so can the owners and all approvers. It fails with the error of the
// store.
func (g *Gate) question(ctx context.Context, a *costlyAnswer, req llm.Request, cost quota.USD) (chat.Question, error) {
	var q chat.Question
	asker, who := a.Turn.Message.Author, map[chat.EntityID]bool{}
	may := a.Turn.Staff
	if may {
		q.Options = append(q.Options, lang.Say(ctx, "cost.go_on", "cost", cost))
	}
	if a.Route.Has(g.costsLess(req, cost)) {
		q.Options = append(q.Options, lang.Say(ctx, "cost.cheaper"))
	}
	if len(q.Options) == 0 {
		return q, nil
	}
	q.Options = append(q.Options, lang.Say(ctx, "cost.stop"))
	if asker != "" {
		who[asker] = true
	}
	if may || asker == "" {
		owners, err := g.Owners.OwnersRooms(ctx)
		if err != nil {
			return q, err
		}
		for id := range owners {
			who[id] = true
		}
		staff, err := g.Owners.Staff(ctx)
		if err != nil {
			return q, err
		}
		maps.Copy(who, staff)
	}
	q.For = slices.Sorted(maps.Keys(who))
	return q, nil
}
