package demo

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"parley/core/action"
)

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
