package turn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/attachment"
	"parley/core/chat"
	"parley/core/generate"
	"parley/core/llm"
	"parley/core/prompt"
	"parley/core/quota"
	"parley/core/schedule"
	"parley/core/text"
)

// Limits of the request that decides whether to answer. It is made for every message of a busy group, so it is short.
const (
	decideLimit = 20 * time.Second // the maximum delay of a room
	overhear    = 10               // messages in its prompt
	excerpt     = 500              // characters of each
)

// Decider asks the model whether messages of a group are answered. Its fields are set before use. It is safe for concurrent use.
type Decider struct {
	Recaller *Recaller
	Tools    *Tools
	Composer *prompt.Composer
	Counters *schedule.Counters
	Log      *slog.Logger
}

// deciding decides whether a turn is answered.
type deciding struct {
	*Decider
	at      *attempt
	journal *journal
	gen     *generate.Writer
	reading *attachment.Reading
}

// decide reports whether the run's message is answered, and asks the model if rules don't decide. Users see nothing of
// it, and it does not claim the room: it interrupts no answer in progress before the decision is yes. An error leaves
// the run to the next attempt.
func (dg *deciding) decide() (bool, error) {
	if dg.journal.Settle() != nil {
		return true, nil // stopped, or a later turn has the room: the claim reports which
	}
	ctx, cancel := context.WithTimeoutCause(dg.at.life, decideLimit, chat.ErrTimeout)
	defer cancel()
	turn, err := dg.Recaller.recall(ctx, dg.journal)
	if err != nil {
		return false, fmt.Errorf("recall %s: %w", dg.at.run.Room, err)
	}
	dg.at.turn = turn
	claimed, err := dg.consider(ctx, &turn)
	if claimed {
		return true, nil
	}
	var text string
	if err == nil {
		text, err = dg.decision(ctx, turn)
	}
	if dg.at.life.Err() != nil {
		return false, context.Cause(dg.at.life)
	}
	return dg.conclude(prompt.Decisive(text), err)
}

// decision returns the small model's answer to the question whether to answer. It fails with the error of the model.
func (dg *deciding) decision(ctx context.Context, s action.TurnContext) (string, error) {
	req, err := dg.question(ctx, s)
	if err != nil {
		return "", err
	}
	return dg.Recaller.Asker.askSmall(ctx, req)
}

// consider counts the message before it causes costs, and transcribes voice messages. It reports whether an action
// claims the turn: then no model is called. It fails with a limit that is reached, and with the error of the store.
func (dg *deciding) consider(ctx context.Context, s *action.TurnContext) (claimed bool, err error) {
	voices := dg.reading.HasUnread(*s, attachment.Voice)
	if _, _, claimed = dg.Tools.claim(&dg.at.run, *s); claimed && !voices {
		return true, nil
	}
	if err := dg.journal.countMessage(ctx); err != nil {
		return false, err
	}
	if err := dg.journal.risk.During("media", voices, func() { dg.reading.Read(ctx, s, attachment.Voice) }); err != nil {
		return false, err
	}
	dg.at.turn = *s
	_, _, claimed = dg.Tools.claim(&dg.at.run, *s)
	return claimed, nil
}

// conclude carries out the model's decision. Without one, the agent stays silent: for a group, a missing answer is
// better than an unwanted one. It fails with the error of the store.
func (dg *deciding) conclude(word string, err error) (bool, error) {
	var over *quota.LimitError
	switch {
	case errors.As(err, &over): // not reported to the author, who did not address the agent
		dg.Log.Info("a limit is reached; the message is ignored", "run", dg.at.run.ID, "limit", over.Bucket)
		return false, nil
	case err != nil || word == "":
		dg.Counters.Undecided.Add(1)
		dg.Log.Warn("the model did not decide whether to answer; not answering", "run", dg.at.run.ID, "err", err)
		return false, nil
	case word == "RESPOND":
		return true, nil
	}
	dg.gen.Trace.Actions = []string{word}
	if word != generate.Stop {
		return false, nil
	}
	return false, dg.journal.unfollow()
}

// rememberSilence stores the decision to stay silent, and its reason. It is a memory of a kind of its own, which
// prompts don't contain as a message. It fails with the error of the store.
func (dg *deciding) rememberSilence(v chat.Verdict) error {
	n := len(v.Actions)
	if v.Outcome.Status != answer.Ignored || n == 0 || !slices.Contains([]string{generate.Ignore, generate.None, generate.Stop}, v.Actions[n-1]) {
		return nil
	}
	m := chat.Memory{
		ID: chat.MemoryID(dg.at.run.ID) + "/ignored", Room: dg.at.run.Room, Kind: chat.IgnoredKind, Author: dg.Recaller.Agent.Entity(), Name: dg.Recaller.Agent.Name,
		Thought: cmp.Or(v.Thought, "The message does not need an answer."), Actions: v.Actions, Providers: v.Providers, At: time.Now(),
	}
	if n := len(dg.at.run.Inputs); n > 0 {
		m.InReplyTo = dg.at.run.Inputs[n-1]
	}
	return chat.Unless(dg.journal.Store.Remember(dg.at.life, dg.at.run.ID, m), chat.ErrNotFound) // the question was deleted
}

// question returns the request for the decision, with the end of the conversation. It fails with the error of the store
// or the template.
func (dg *deciding) question(ctx context.Context, s action.TurnContext) (llm.Request, error) {
	var end []chat.Memory
	for _, m := range s.Recent[max(0, len(s.Recent)-overhear):] {
		if m.InTranscript() {
			end = append(end, prompt.WithTexts(m, func(t string) string { return text.Excerpt(t, excerpt) }))
		}
	}
	s.Recent = end
	return dg.Composer.Turn(s).Prompt(ctx, prompt.ShouldRespond, nil)
}
