package consent

import (
	"context"
	"fmt"
	"strings"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/text"
	"parley/internal/lang"
)

const heldServer, heldName = "hold", "answer"

// HeldTool is the name of the tool in the record of a held answer.
const HeldTool = heldServer + "/" + heldName

// maxHeld is the maximum length of a draft on a card, in characters. Longer ones are not sent: they can't be checked there.
const maxHeld = 12000

// The options of a held answer, as keys of package lang.
const (
	send    = "hold.send"
	discard = "hold.discard"
)

// Check asks the owners and the staff whether a draft is sent as the answer of a run, in the form of an approval of c, whose parameters
// identify the draft. sent is its text, or the one that they wrote in its place. If it is not sent, reason is a sentence for the asker. It fails
// with [chat.ErrParked] while they have not decided, and with the error of the store; Check is called again when the run continues.
func (ap *Approvals) Check(ctx context.Context, c *action.Call, draft string) (sent, reason string, err error) {
	tool := &action.Tool{Def: action.Spec{Name: HeldTool, Effect: action.Writes}}
	r, err := ap.Store.RequestApproval(ctx, ap.record(c, tool, action.Approval{Server: heldServer, Tool: heldName}))
	if err == nil {
		err = ap.closeEarlierDrafts(ctx, r)
	}
	if err == nil {
		r, err = ap.loadDecision(ctx, c, r, func(lang.Voice) string { return "" }, false)
	}
	if err != nil {
		return "", "", fmt.Errorf("check an answer: %w", err)
	}
	switch r.Decision {
	case chat.Pending:
		return ap.askToSend(ctx, c, r, draft)
	case chat.Approved:
		return draft, "", nil
	case chat.Expired:
		return "", lang.Say(ctx, "hold.late"), nil
	case chat.Amended:
		words, err := ap.words().of(ctx, c, r)
		if words = strings.TrimSpace(words); err != nil || words != "" {
			return words, "", err
		}
	}
	return "", lang.Say(ctx, "hold.unsent"), nil
}

// askToSend sends the cards of r, and parks the run. It returns the reason if no approver can be asked.
func (ap *Approvals) askToSend(ctx context.Context, c *action.Call, r chat.Approval, draft string) (sent, reason string, err error) {
	reached := false
	if len([]rune(draft)) <= maxHeld {
		reached, err = ap.tellApprovers(ctx, r, func(ctx context.Context, _ chat.EntityID) (string, chat.Question, error) {
			line := lang.Say(ctx, "hold.ask", "user", asker(ctx, c), "platform", text.Label(c.Turn.Room.Connector))
			if asked := text.Brief(strings.Join(strings.Fields(text.Visible(c.Turn.Message.Text)), " "), maxLine); asked != "" {
				line += "\n" + mark + asked
			}
			q := chat.Question{Options: said(lang.Of(ctx), []string{send, discard}), Other: lang.Say(ctx, "hold.edit"), Replies: true}
			return line + "\n\n" + draft, q, nil
		})
	}
	if err != nil {
		return "", "", err
	}
	if !reached {
		return "", lang.Say(ctx, "hold.unsent"), ap.decide(ctx, r, chat.Denied, "")
	}
	_, err = Ask(ctx, c, Request{Subject: approvalSubject + r.ID, Description: lang.Say(ctx, "hold.checking"), Until: r.Expires, Lasting: true})
	ap.closeIfEnded(ctx, r)
	return "", "", err
}

// closeEarlierDrafts closes the requests about other drafts of the run of r: it was interrupted before it waited, and the model has written
// again. It fails with the error of the store.
func (ap *Approvals) closeEarlierDrafts(ctx context.Context, r chat.Approval) error {
	all, err := openRequests(ctx, ap.Store, r.Room)
	for _, a := range all {
		if err == nil && a.Run == r.Run && a.ID != r.ID && a.Tool == HeldTool {
			err = ap.decide(ctx, a, chat.Stopped, "")
		}
	}
	return err
}

// decisionOf returns the meaning of the choice of an approver.
func decisionOf(q chat.Question) chat.Decision {
	said := q.Options[q.Choice]
	switch {
	case q.Edit != nil && isEdit(said):
		return chat.Amended
	case !q.Replies:
		return decision(said)
	case lang.Is(send, said):
		return chat.Approved
	case lang.Is(discard, said):
		return chat.Denied
	}
	return chat.Amended
}
