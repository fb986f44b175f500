package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"parley/core/action"
)

// clock tells the time: TELL_TIME.
type clock struct{}

func (clock) Spec() action.Spec {
	return action.Spec{
		Name:        "TELL_TIME",
		Description: "Get the date and time.",
		Parameters: json.RawMessage(`{"type":"object","properties":{` +
			`"zone":{"type":"string","description":"a time zone such as Europe/Rome; UTC if omitted"}}}`),
		Effect: action.Reads,
	}
}

func (clock) Act(_ context.Context, c *action.Call) (action.Result, error) {
	var parameters struct{ Zone string }
	if err := c.Read(&parameters); err != nil {
		return action.Result{}, err
	}
	if parameters.Zone == "Local" { // would reveal the time zone of the machine
		parameters.Zone = ""
	}
	zone, err := time.LoadLocation(parameters.Zone)
	if err != nil {
		return action.Result{}, fmt.Errorf("there is no time zone %q", parameters.Zone)
	}
	now := time.Now().In(zone)
	return action.Result{Text: now.Format("Monday, 2 January 2006, 15:04 MST"), Short: now.Format("15:04 MST")}, nil
}
