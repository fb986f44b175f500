package example

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"parley/core/action"
	"parley/core/consent"
)

// order orders tea, which costs money: ORDER_TEA.
type order struct{}

// The options of an order.
const (
	orderIt = "Order"
	dont    = "Don't"
)

// Spec implements [action.Action].
func (order) Spec() action.Spec {
	return action.Spec{
		Name:        "ORDER_TEA",
		Description: "Order tea from the shop. The user is asked first.",
		Parameters:  json.RawMessage(`{"type":"object","required":["tins"],"properties":{"tins":{"type":"integer","minimum":1,"maximum":9}}}`),
		Effect:      action.Writes,
	}
}

// Consent implements [action.Consenting]: the run waits until the user has decided, for an hour at most.
func (o order) Consent(ctx context.Context, c *action.Call) (asked bool, refused string, err error) {
	tins, err := o.tins(c)
	if err != nil {
		return false, "", err
	}
	subject, question := "tea/"+c.Key("ORDER_TEA", ""), fmt.Sprintf("🫖 Order %d tins of tea?", tins)
	state, q, err := consent.Of(ctx, c, subject)
	if err == nil && state == consent.Open {
		state, err = consent.Ask(ctx, c, consent.Request{
			Subject: subject, Description: question, Options: []string{orderIt, dont}, Until: time.Now().Add(time.Hour),
			Lasting: true, // later messages are answered meanwhile
		})
	}
	if err != nil { // [chat.ErrParked] while it waits
		return false, "", err
	}
	if state != consent.Chosen {
		return true, "The user did not decide. Nothing was ordered.", nil
	}
	c.Update(question + "\n\n" + q.ChoiceLine(c.Turn.Room.Kind))
	if q.Options[q.Choice] != orderIt {
		return true, "The user declined. Nothing was ordered.", nil
	}
	return true, "", nil
}

// Act implements [action.Action]. It is called after the consent, once.
func (o order) Act(_ context.Context, c *action.Call) (action.Result, error) {
	tins, err := o.tins(c)
	if err != nil {
		return action.Result{}, err
	}
	text := fmt.Sprintf("%d tins are ordered.", tins)
	c.Update("🫖 " + text)
	return action.Result{Text: text, Short: text}, nil
}

func (order) tins(c *action.Call) (int, error) {
	var p struct{ Tins int }
	err := c.Read(&p)
	return p.Tins, err
}
