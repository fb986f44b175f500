package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	"parley/core/relay"
	"parley/core/storage"
	"parley/core/toolcall"
)

// ParkStore contains the store methods of waiting.
type ParkStore interface {
	storage.Parking
	QuestionOf(ctx context.Context, run chat.RunID) (chat.Question, error)
	RunsSince(ctx context.Context, since time.Time, state chat.RunState, limit int) ([]chat.Run, error)
}

// continuation is the stored data for the next holder of a parked run. It is stored as JSON, so its fields are a
// format: a later version must be able to read it.
type continuation struct {
	relay.Shown
	For    string          `json:"for"`              // the reason of the wait, see [action.Wait]
	Acting string          `json:"acting,omitempty"` // the last writing call that the run had begun
	State  *generate.State `json:"state,omitempty"`  // nil: it starts from the beginning
	Used   *llm.UsageSum   `json:"used,omitempty"`   // the usage of the answer so far
	Draft  *heldDraft      `json:"draft,omitempty"`  // of an answer that is held
}

// waiting is one holder's part in its run's wait for a person, without holding the room. A wait can last for hours or
// days, so it uses no memory: no goroutine, no lane of the room, no process. [schedule.ParkedRuns] ends it, on a choice, a
// stop, or the end of its time, which the store enforces.
//
// A wake can come before the run is parked, because users see the question first. release therefore looks once more after parking,
// and [Turns.WakeDecided] after a fault of release. Waking twice has no effect, and waking a run that is not parked has none.
//
// waiting is not safe for concurrent use. In order, a holder calls load, resume if the run continues, and begin and
// release if the run has to wait.
type waiting struct {
	at        *attempt
	journal   *journal
	store     ParkStore
	approvals *consent.Approvals
	gen       *generate.Writer
	calls     *toolcall.Calls
	hold      *holding

	now  *action.Wait  // the new wait, once there is one
	from *continuation // of an earlier wait
}

// load reads the continuation of the run, if it was parked, and adds the earlier usage of the answer to the usage of
// ctx. The run does not continue if a call has begun to write since, because that must not be repeated: then
// [chat.Run.Continues] is false from now on. An unreadable continuation is logged, and the run starts again, which
// costs a call of the model. It fails only with an error of the store.
func (w *waiting) load(ctx context.Context) error {
	run := &w.at.run
	if !run.Continues || run.Verdict != nil {
		run.Continues = false
		return nil
	}
	var data []byte
	err := w.journal.persist(ctx, func() (err error) {
		data, err = w.store.Continuation(ctx, run.ID)
		return err
	})
	if err != nil {
		return fmt.Errorf("read how %s continues: %w", run.ID, err)
	}
	var c continuation
	if err := json.Unmarshal(data, &c); err != nil {
		w.journal.Log.Error("can't read how a parked run continues; it starts again", "run", run.ID, "err", err)
	} else if c.Acting == run.Acting {
		w.from = &c
		quota.AddUsage(ctx, c.used())
	}
	run.Continues = w.from != nil
	return nil
}

// used returns the usage of the answer before the wait. If a model was called and an earlier version stored no usage,
// the sum is an estimate.
func (c continuation) used() llm.UsageSum {
	if c.Used != nil {
		return *c.Used
	}
	return llm.UsageSum{Estimated: c.State != nil}
}

// resume shows the visible part from before the wait, without the options, which have had their effect, and prepares
// the rest. Without a state no model was called yet, and that part consists of notices.
func (w *waiting) resume() {
	if w.from == nil {
		return
	}
	for _, c := range w.from.Changes {
		w.at.answer.Apply(c)
	}
	if w.at.answer.View().Choices != nil {
		w.at.answer.Apply(answer.Change{Kind: answer.ChoicesChanged})
	}
	w.hold.restore(w.from.Draft)
	if w.from.State != nil {
		w.gen.State = w.from.State
		w.gen.Resume()
	}
	if w.hold.whole {
		w.gen.Trace = w.from.Draft.Trace
	}
}

// close removes the lines about waiting from the calls that are not made, as the run ends.
func (w *waiting) close() {
	for _, s := range w.at.answer.View().Segments {
		lines := slices.DeleteFunc(strings.Split(s.Text, "\n"), func(l string) bool { return strings.HasPrefix(l, "⏳ ") })
		if now := strings.TrimSpace(strings.Join(lines, "\n")); s.Call != "" && !s.Tool.Success && strings.Contains(s.Text, "⏳ ") {
			w.at.answer.Apply(answer.Change{Kind: answer.Callback, Call: s.Call, Text: now, Files: s.Files})
		}
	}
}

// ended returns the error for a run that was to end while it was parked, or before an earlier holder parked it or died; otherwise nil.
func (w *waiting) ended() error {
	switch w.at.run.Ending {
	case "":
		return nil
	case answer.Superseded:
		if w.at.run.Lasting {
			return errReplaced
		}
		return chat.ErrSuperseded
	}
	return chat.ErrStopped
}

// waitedFor returns the reason of the run's next or last wait, see [action.Wait], or "".
func (w *waiting) waitedFor() string {
	switch {
	case w.now != nil:
		return w.now.For
	case w.from != nil:
		return w.from.For
	}
	return ""
}

// waited reports whether the run was parked before this holder with the reason waitedFor, or with a reason that begins
// with this word.
func (w *waiting) waited(waitedFor string) bool { return w.from != nil && isFor(w.from.For, waitedFor) }

// isFor reports whether a reason equals waitedFor, or has it as its first word.
func isFor(what, waitedFor string) bool {
	return what == waitedFor || strings.HasPrefix(what, waitedFor+" ")
}

// begin records the run's wait. It returns [chat.ErrParked], which ends the work of the holder up to release.
func (w *waiting) begin(what action.Wait) error {
	w.now = &what
	return chat.ErrParked
}

// chose returns the question that the run has waited for, if a user chose. It compares the payload, or its first word,
// so that an earlier question of the same run does not count. It fails with the error of the store.
func (w *waiting) chose(ctx context.Context, waitedFor string) (q chat.Question, ok bool, err error) {
	err = w.journal.persist(ctx, func() (err error) {
		q, ok, err = chose(ctx, w.store, w.at.run.ID, waitedFor)
		return err
	})
	if ok && w.now == nil {
		w.at.closeOptions(q)
	}
	return q, ok, err
}

func chose(ctx context.Context, store ParkStore, run chat.RunID, waitedFor string) (q chat.Question, ok bool, err error) {
	q, err = store.QuestionOf(ctx, run)
	return q, err == nil && q.Run == run && isFor(q.Payload, waitedFor) && q.By != "", chat.Unless(err, chat.ErrNotFound)
}

// approver asks for approvals. It waits for a store that is down: a run that failed would leave cards whose buttons have no effect.
type approver struct {
	*consent.Approvals
	journal *journal
}

// Approve implements [toolcall.Approver].
func (a approver) Approve(ctx context.Context, c *action.Call, t *action.Tool, need action.Approval) (asked bool, refused string, err error) {
	err = a.journal.persist(ctx, func() (err error) {
		asked, refused, err = a.Approvals.Approve(ctx, c, t, need)
		return err
	})
	return asked, refused, err
}

// release stores the continuation and releases the run and its room, in one transaction. It fails with [answer.ErrLost]
// if this process is no longer the holder. A choice or a decision of an approver just before that, when there was nothing to wake, wakes the run
// now; the store does so after a stop.
func (w *waiting) release(ctx context.Context) error {
	changes, _ := w.at.answer.Since(0)
	c := continuation{Shown: relay.Shown{Changes: changes}, For: w.now.For, Acting: w.calls.Acting(), State: w.gen.State, Used: quota.UsageOf(ctx, w.at.run.Attempts > 0), Draft: w.hold.store()}
	data, err := json.Marshal(c)
	if err == nil {
		err = w.journal.persist(ctx, func() error {
			return w.store.Park(ctx, w.at.run.ID, w.at.run.Epoch, chat.Wait{Until: w.now.Until, Continuation: data, Lasting: w.now.Lasting})
		})
	}
	if err != nil {
		return fmt.Errorf("park %s: %w", w.at.run.ID, err)
	}
	w.journal.Log.Info("a run waits for a person", "run", w.at.run.ID, "until", w.now.Until)
	_, chosen, err := w.chose(ctx, w.now.For)
	decided, failed := w.approvals.Decided(ctx, w.now.For)
	if errors.Join(err, failed) == nil && !chosen && !decided {
		return nil
	}
	return w.journal.persist(ctx, func() error { return chat.Unless(w.store.Wake(ctx, w.at.run.ID, ""), answer.ErrLost) })
}
