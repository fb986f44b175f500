package turn

import (
	"context"
	"encoding/json"

	"parley/core/access"
	"parley/core/action"
)

// AskPerson is the action that lets the model ask for a person, as the user does with /person.
type AskPerson struct{ Handovers *access.Handovers }

// Spec implements [action.Action]. A repeated call changes nothing.
func (AskPerson) Spec() action.Spec {
	return action.Spec{
		Name: "ASK_PERSON", Similes: []string{"HANDOVER", "ESCALATE", "TALK_TO_HUMAN"}, Effect: action.Reads,
		Description: "Ask a person of the staff to take over this conversation, and end the turn. When the user wants a person, or you can't help and a person can. The user is told about it.",
		Parameters: json.RawMessage(`{"type":"object","required":["reason"],"additionalProperties":false,"properties":{` +
			`"reason":{"type":"string","minLength":1,"maxLength":300,"description":"what the user needs, in one sentence for the person"}}}`),
	}
}

// Available implements [action.Conditional]: an owner is the person, and groups and schedules have no one who waits.
func (a AskPerson) Available(s action.TurnContext) bool {
	return a.Handovers.Memo != nil && s.Private && !s.Owner && !s.Message.Author.Automatic()
}

// Act implements [action.Action]. Its result is a sentence for the user: a person was asked, or why not.
func (a AskPerson) Act(ctx context.Context, c *action.Call) (action.Result, error) {
	var p struct{ Reason string }
	if err := c.Read(&p); err != nil {
		return action.Result{}, err
	}
	said, ask, err := a.Handovers.Ask(ctx, c.Turn.Message, p.Reason)
	if err != nil {
		return action.Result{}, err
	}
	if c.Update(said); ask != nil {
		if err := c.Ask(ctx, *ask); err != nil {
			return action.Result{}, err
		}
	}
	return action.Result{Text: "The user was told: " + said, Short: said, Last: true}, nil
}
