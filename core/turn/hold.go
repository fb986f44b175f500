package turn

import (
	"context"
	"encoding/json"

	"parley/core/access"
	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/consent"
	"parley/core/generate"
	"parley/core/toolcall"
	"parley/internal/lang"
)

// holdStep is the step of the notice in place of a held answer.
const holdStep = -1 << 20

// holding keeps the answer of a run in a draft that users don't see, until an owner or a member of the staff has sent it. Questions to the
// asker, and notices about limits, are not held. It belongs to the goroutine of the run.
type holding struct {
	at        *attempt
	journal   *journal
	policy    access.Policy
	approvals *consent.Approvals
	calls     *toolcall.Calls
	gen       *generate.Writer
	asking    *asking
	waiting   *waiting

	draft *answer.Answer // nil: the answer is not held
	whole bool           // the draft is complete
}

// heldDraft is the stored form of a draft, a part of [continuation].
type heldDraft struct {
	Changes []answer.Change `json:"changes"`
	Whole   bool            `json:"whole,omitempty"`
	Trace   generate.Trace  `json:"trace"`
}

// begin holds the answer if the room of the turn requires it, and the asker doesn't check answers. An answer that continues after a wait
// stays as it is.
func (h *holding) begin() {
	if h.draft == nil && h.waiting.from == nil && !h.at.turn.Staff && h.policy.OverrideFor(h.at.turn.Room).Hold {
		h.write(&answer.Answer{})
	}
}

// write directs the output of the model and of calls to draft.
func (h *holding) write(draft *answer.Answer) {
	h.draft, h.gen.Answer, h.calls.Answer, h.calls.Journal = draft, draft, draft, heldJournal{h.journal}
	host := &h.calls.Host
	host.Await = func(context.Context, answer.Cursor) ([]chat.Shown, error) { return nil, chat.ErrUnseen }
	host.Ask = func(ctx context.Context, q chat.Question) (<-chan chat.Question, error) {
		h.reveal()
		return h.asking.ask(ctx, q)
	}
	host.Park = func(ctx context.Context, w action.Wait) error {
		h.reveal()
		return h.asking.wait(ctx, w)
	}
}

// heldJournal stores no text of a held answer: after a crash it would be shown.
type heldJournal struct{ *journal }

// Note implements [toolcall.Journal].
func (j heldJournal) Note(ctx context.Context, n chat.Note) error {
	n.Text = ""
	return j.journal.Note(ctx, n)
}

// reveal shows the output of the last call, which describes a question.
func (h *holding) reveal() {
	said := ""
	for _, s := range h.draft.View().Segments {
		if s.Call != "" && s.Text != "" {
			said = s.Text
		}
	}
	h.notice(said)
}

// notice shows text in place of the answer.
func (h *holding) notice(text string) {
	if h.draft == nil {
		return
	}
	h.at.answer.Apply(answer.Change{Kind: answer.Withdrawn, Step: holdStep, Notice: true})
	if text != "" {
		h.at.answer.Apply(answer.Change{Kind: answer.Text, Step: holdStep, Notice: true, Text: text})
	}
}

// store returns the draft for the next holder of the run.
func (h *holding) store() *heldDraft {
	if h.draft == nil {
		return nil
	}
	changes, _ := h.draft.Since(0)
	return &heldDraft{Changes: changes, Whole: h.whole, Trace: h.gen.Trace}
}

// restore continues a draft that an earlier holder stored; nil is none.
func (h *holding) restore(from *heldDraft) {
	if from == nil {
		return
	}
	h.write(from.answer())
	h.whole = from.Whole
}

func (d *heldDraft) answer() *answer.Answer {
	draft := &answer.Answer{}
	for _, c := range d.Changes {
		draft.Apply(c)
	}
	return draft
}

// HeldText returns the draft in the continuation of a run; "" if its answer is not held.
func HeldText(continued []byte) string {
	var c continuation
	if json.Unmarshal(continued, &c) != nil || c.Draft == nil {
		return ""
	}
	return c.Draft.answer().View().Remembered().Text()
}

// check waits until the draft is sent, and then shows it as the answer, with the changes of the approver; or one sentence if it is not
// sent. It fails like [consent.Approvals.Check].
func (h *holding) check(ctx context.Context) error {
	if h.draft == nil {
		return nil
	}
	h.whole = true
	said := h.draft.View().Remembered().Text()
	params, err := json.Marshal(map[string]string{"text": said})
	if err != nil {
		return err
	}
	host := h.calls.Host
	host.Park = func(ctx context.Context, w action.Wait) error {
		h.notice(lang.Say(ctx, "hold.checking"))
		return h.asking.wait(ctx, w)
	}
	block := &action.Block{Answer: &answer.Answer{}, ID: "hold", Quiet: true}
	var sent, reason string
	err = h.journal.persist(ctx, func() (err error) {
		sent, reason, err = h.approvals.Check(ctx, block.Call(ctx, params, h.at.turn, nil, host), said)
		return err
	})
	if err != nil {
		return err
	}
	h.notice("")
	if reason != "" {
		h.gen.Trace.Thought, h.at.reason = "", reason
		h.at.answer.Apply(answer.Change{Kind: answer.Text, Step: markStep, Text: reason})
		return nil
	}
	h.publish(sent, sent != said)
	return nil
}

// publish shows the draft as the answer, or its files with the text that replaces its own.
func (h *holding) publish(sent string, replaced bool) {
	changes, _ := h.draft.Since(0)
	for _, c := range changes {
		if c.End = 0; replaced {
			c.Text, c.Important = "", ""
		}
		h.at.answer.Apply(c)
	}
	if replaced {
		h.at.answer.Apply(answer.Change{Kind: answer.Text, Step: markStep, Text: sent})
	}
}
