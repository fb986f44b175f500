// Package demo is a plugin of small actions that demonstrate the features of actions. The demo model calls them; any
// other model can.
package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"parley/core/action"
)

// New returns the plugin. intN returns a number from 0 to n-1 and must be safe for concurrent use; nil is [rand.IntN].
func New(intN func(n int) int) action.Plugin {
	if intN == nil {
		intN = rand.IntN
	}
	return action.Plugin{Name: "demo", Actions: []action.Action{player{}, dice{intN}, clock{}}}
}

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

// dice rolls dice: ROLL_DICE.
type dice struct{ intN func(n int) int }

func (dice) Spec() action.Spec {
	return action.Spec{
		Name:        "ROLL_DICE",
		Description: "Roll dice and get the result.",
		Parameters: json.RawMessage(`{"type":"object","properties":{` +
			`"sides":{"type":"integer","minimum":2,"maximum":1000,"description":"sides of each die; 6 if omitted"},` +
			`"count":{"type":"integer","minimum":1,"maximum":20,"description":"number of dice; 1 if omitted"}}}`),
		Effect: action.Reads,
	}
}

func (d dice) Act(_ context.Context, c *action.Call) (action.Result, error) {
	parameters := struct{ Sides, Count int }{6, 1}
	if err := c.Read(&parameters); err != nil {
		return action.Result{}, err
	}
	sides, count := parameters.Sides, parameters.Count
	sum := 0
	faces := make([]string, count)
	for i := range faces {
		face := 1 + d.intN(sides)
		sum += face
		faces[i] = strconv.Itoa(face)
	}
	text := "🎲 " + strings.Join(faces, " + ")
	if count > 1 {
		text += " = " + strconv.Itoa(sum)
	}
	return action.Result{Text: text, Short: text}, nil
}
