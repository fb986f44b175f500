package consent

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"parley/core/action"
	"parley/core/llm"
	"parley/core/text"
)

// Question is the action of [llm.AskUser]: an agent asks its user, and the run waits for the decision like for an approval.
// It is the whole contract between an agent that pauses and the runtime: the agent requests this call, and the result of
// the call is in its next request, in any process.
type Question struct{}

const (
	maxQuestion  = 3000 // characters
	maxOptions   = 10
	maxOption    = 60 // characters
	questionTime = 24 * time.Hour
	longestWait  = 7 * 24 * time.Hour
)

// Spec implements [action.Action]. The question itself is its only visible part.
func (Question) Spec() action.Spec {
	return action.Spec{
		Name: llm.AskUser, Description: "Ask the user to choose.", Unlisted: true, Quiet: true, Effect: action.Reads,
		Parameters: json.RawMessage(`{"type":"object","required":["id"],"properties":{"id":{"type":"string"}}}`),
	}
}

// Guard implements [action.Guarded]: a tool call of the agent needs the approval of those who approve other calls.
func (Question) Guard(c *action.Call) *action.Approval {
	q, err := readAsk(c)
	if err != nil || q.Approve == nil {
		return nil
	}
	a := q.Approve
	return &action.Approval{Public: text.Brief(q.Question, maxQuestion), Server: a.Server, Tool: a.Tool, Effect: action.Writes, Shown: strings.TrimSpace(text.Brief(q.Question, maxQuestion) + "\n" + a.Arguments)}
}

// Consent implements [action.Consenting]: it shows the question with its options.
func (Question) Consent(ctx context.Context, c *action.Call) (asked bool, refused string, err error) {
	q, err := readAsk(c)
	if err != nil || q.Approve != nil {
		return false, "", err
	}
	subject := askSubject(c)
	state, chosen, err := Of(ctx, c, subject)
	if err == nil && state == Open {
		wait := questionTime
		if q.Seconds > 0 {
			wait = min(time.Duration(q.Seconds)*time.Second, longestWait)
		}
		state, err = Ask(ctx, c, Request{Subject: subject, Description: q.Question, Options: q.Options, Until: time.Now().Add(wait)})
	}
	switch {
	case err != nil:
		return false, "", err
	case state == Unseen:
		return true, "The user can't be asked here.", nil
	case state != Chosen:
		c.Update(q.Question)
		return true, "No user has answered in time.", nil
	}
	c.Update(q.Question + "\n\n" + chosen.ChoiceLine(c.Turn.Room.Kind))
	return true, "", nil
}

// Act implements [action.Action]. The result is the option that was chosen.
func (Question) Act(ctx context.Context, c *action.Call) (action.Result, error) {
	q, err := readAsk(c)
	if err != nil {
		return action.Result{}, err
	}
	if q.Approve != nil {
		return action.Result{Text: llm.Approved}, nil
	}
	state, chosen, err := Of(ctx, c, askSubject(c))
	if err != nil || state != Chosen {
		return action.Result{}, errors.Join(errors.New("the user has not answered"), err)
	}
	return action.Result{Text: chosen.Options[chosen.Choice]}, nil
}

// askSubject is the reason of the wait. It depends on the call and not on its id, which can be another one.
func askSubject(c *action.Call) string { return "ask/" + c.Key(llm.AskUser, "") }

// readAsk reads the question of a call, as users read it.
func readAsk(c *action.Call) (q llm.Ask, err error) {
	if err = c.Read(&q); err != nil {
		return q, err
	}
	q.Question = text.Excerpt(strings.TrimSpace(text.Clean(q.Question)), maxQuestion)
	if q.Approve != nil {
		return q, nil
	}
	if q.Question == "" || len(q.Options) == 0 || len(q.Options) > maxOptions {
		return q, errors.New("a question has a text, and from one to ten options")
	}
	for i, o := range q.Options {
		q.Options[i] = text.Brief(text.Clean(o), maxOption)
	}
	return q, nil
}
