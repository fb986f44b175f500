package storagetest

import (
	"fmt"
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/require"
)

func questionChecks() []storeCheck {
	return []storeCheck{
		{"a question is answered once in the messages of its run (SE-07)", chooseOnce},
		{"words are the last option of a question that permits them, and no option of another", chooseWords},
		{"an expired or answered question can't be chosen (SE-07)", chooseLate},
		{"a duplicate message is no choice and stays the input of its run (IN-16)", chooseKnown},
		{"an unanswered question is closed once and its run continues without a choice", retireOnce},
		{"a run's newest question replaces its unanswered one", askAgain},
		{"a running question keeps its messages", chooseEarly},
		{"a choice for an expired run is refused and opens no run", chooseExpired},
		{"a notice is stored with its question", askWith},
		{"a choice runs apart from the room's turns, and its result is stored although the room was cleared", carryOn},
	}
}

// question is open for a minute.
func question(r chat.Run, id string) chat.Question {
	return chat.Question{
		ID: id, Run: r.ID, Room: r.Room, Options: []string{"Yes", "No"}, For: []chat.EntityID{"ada", "bob"},
		Expires: time.Now().UTC().Add(time.Minute), Handler: "chooser", Payload: "payload",
	}
}

func pick(id chat.MemoryID) chat.Memory {
	return chat.Memory{ID: id, Room: "room", Kind: chat.KindCommand, Author: "ada", Name: "Ada", Text: "No"}
}

func chooseOnce(t *testing.T, s store) {
	r := s.start(s.opened("room", 1).ID, "owner")
	s.note(r, chat.Note{Shown: []chat.Shown{{Part: 0, ID: "m0"}}})
	q := question(r, "q")
	s.must(s.Ask(t.Context(), q))
	s.finish(r, answerOf(r, "which?"))
	got, err := s.Question(t.Context(), "q")
	s.must(err)
	s.same("the question", got, q)
	open, err := s.OpenQuestions(t.Context(), "room")
	s.must(err)
	s.same("the open runs", open, []chat.Question{q})

	elsewhere := pick("press")
	elsewhere.Room = "elsewhere"
	_, err = s.Choose(t.Context(), "q", 1, elsewhere, "ada")
	s.fails(err, answer.ErrLost)
	acc, err := s.Choose(t.Context(), "q", 1, pick("press"), "payer")
	s.must(err)
	run := s.runOf(acc)
	if run.Kind != chat.RunChoiceResult || len(run.Shown) != 1 || run.Shown[0].ID != "m0" || len(run.Inputs) != 1 || run.Inputs[0] != "press" {
		t.Errorf("the run of the choice is %+v; want one that edits m0 and has the choice as its input", run)
	}
	want := r.Address
	want.BilledTo = "payer"
	s.same("its address", run.Address, want)
	q.ResultRun, q.Choice, q.By, q.Name, q.BilledTo = acc.Run, 1, "ada", "Ada", "payer"
	for _, id := range []chat.RunID{r.ID, acc.Run} {
		got := require.Value(s.QuestionOf(t.Context(), id))(s.t)
		s.same("the question of "+string(id), got, q)
	}
	_, err = s.Choose(t.Context(), "q", 0, pick("again"), "ada")
	s.fails(err, answer.ErrLost)
	open, err = s.OpenQuestions(t.Context(), "room")
	s.must(err)
	s.same("the open runs after that", open, []chat.Question(nil))
	s.must(s.Withdraw(t.Context(), "room", ""))
	got, err = s.Question(t.Context(), "q")
	s.must(err)
	s.same("the question that was answered", got, q)
}

func chooseWords(t *testing.T, s store) {
	r := s.start(s.opened("room", 1).ID, "owner")
	for other, want := range map[string]int{"": 2, "Something else": 3} {
		q := question(r, "q"+other)
		q.Other, q.Details = other, "more"
		s.must(s.Ask(t.Context(), q))
		in := pick(chat.MemoryID("press" + other))
		in.Text = "neither"
		acc := require.Value(s.Choose(t.Context(), q.ID, 2, in, "ada"))(s.t)
		got := require.Value(s.QuestionOf(t.Context(), acc.Run))(s.t)
		if len(got.Options) != want || want == 3 && got.Options[2] != "neither" || got.Choice != 2 || got.Details != "more" {
			t.Errorf("chosen: %+v; want %d options", got, want)
		}
	}
}

func chooseKnown(t *testing.T, s store) {
	in := message("room", 1)
	acc := s.accept(in, alone)
	r := s.start(acc.Run, "owner")
	s.must(s.Ask(t.Context(), question(r, "q")))
	again := in.Memory
	again.Kind = chat.KindCommand
	got := require.Value(s.Choose(t.Context(), "q", 0, again, "ada"))(s.t)
	want := acc
	want.Duplicate = true
	s.same("the choice", got, want)
	open := require.Value(s.OpenQuestions(t.Context(), "room"))(s.t)
	s.same("the number of open questions", len(open), 1)
	s.same("the inputs", s.runOf(acc).Inputs, []chat.MemoryID{in.ID})
	s.same("the message", s.memory(in.ID), in.Memory)

	first := require.Value(s.Choose(t.Context(), "q", 1, pick("press"), "ada"))(s.t)
	first.Duplicate, first.Chosen = true, true
	for range 2 {
		got = require.Value(s.Choose(t.Context(), "q", 1, pick("press"), "ada"))(s.t)
		s.same("chosen again", got, first)
	}
	got = require.Value(s.Known(t.Context(), pick("press")))(s.t)
	s.same("the choice", got, first)
}

func chooseEarly(t *testing.T, s store) {
	r := s.start(s.opened("room", 1).ID, "owner")
	s.note(r, chat.Note{Shown: []chat.Shown{{Part: 0, ID: "m0"}}})
	for n, verdict := range []*chat.Verdict{nil, {Outcome: done, Text: "which?"}} {
		id := fmt.Sprint(n)
		s.must(s.Ask(t.Context(), question(r, id)))
		s.note(r, chat.Note{Verdict: verdict})
		acc := require.Value(s.Choose(t.Context(), id, 1, pick(chat.MemoryID(id)), "ada"))(s.t)
		if run := s.runOf(acc); len(run.Shown) != n {
			t.Errorf("with the verdict %v the run continues in %+v; want %d messages", verdict, run.Shown, n)
		}
	}
}

func chooseLate(t *testing.T, s store) {
	r, other := s.opened("room", 1), s.opened("room", 2)
	ask := func(id string) { s.must(s.Ask(t.Context(), question(r, id))) }
	for name, over := range map[string]func(){
		"never asked":        func() {},
		"expired":            func() { ask("expired"); time.Sleep(time.Minute) },
		"withdrawn":          func() { ask("withdrawn"); s.must(s.Withdraw(t.Context(), "room", r.ID)) },
		"withdrawn with all": func() { ask("withdrawn with all"); s.must(s.Withdraw(t.Context(), "room", "")) },
		"of a cleared room":  func() { ask("of a cleared room"); _, err := s.Clear(t.Context(), "room"); s.must(err) },
	} {
		over()
		_, err := s.Choose(t.Context(), name, 0, pick("press"), "ada")
		s.fails(err, answer.ErrLost)
		open := require.Value(s.OpenQuestions(t.Context(), "room"))(s.t)
		s.same("the open runs", open, []chat.Question(nil))
	}
	ask("one")
	s.must(s.Ask(t.Context(), question(other, "two")))
	s.must(s.Withdraw(t.Context(), "room", r.ID))
	s.must(s.Withdraw(t.Context(), "elsewhere", ""))
	require.Value(s.Choose(t.Context(), "two", 0, pick("press"), "ada"))(s.t)
}

// The run that asked can be deleted by upkeep before its question is over. Then a choice has nothing to go on with, and
// must not name a run that does not exist.
func chooseExpired(t *testing.T, s store) {
	r := s.start(s.opened("room", 1).ID, "owner")
	s.must(s.Ask(t.Context(), question(r, "q")))
	s.finish(r, answerOf(r, "which?"))
	time.Sleep(30 * time.Second)
	for more := true; more; {
		var err error
		more, err = s.Expire(t.Context(), chat.Expiry{Rest: time.Now().Add(-time.Second)})
		s.must(err)
	}
	_, err := s.Run(t.Context(), r.ID)
	s.fails(err, chat.ErrNotFound)
	before := require.Value(s.Question(t.Context(), "q"))(s.t)
	acc, err := s.Choose(t.Context(), "q", 0, pick("press"), "ada")
	s.fails(err, answer.ErrLost)
	s.same("the accepted message", acc, chat.Accepted{})
	acc, err = s.Retire(t.Context(), "q")
	s.fails(err, answer.ErrLost)
	s.same("the closed questions", acc, chat.Accepted{})
	after := require.Value(s.Question(t.Context(), "q"))(s.t)
	s.same("the question", after, before)
	_, err = s.Memory(t.Context(), "press")
	s.fails(err, chat.ErrNotFound)
	s.same("the turn of the next message", s.opened("room", 2).Response, chat.ResponseID(2))
}

func retireOnce(t *testing.T, s store) {
	r := s.start(s.opened("room", 1).ID, "owner")
	s.note(r, chat.Note{Shown: []chat.Shown{{Part: 0, ID: "m0"}}})
	q := question(r, "q")
	s.must(s.Ask(t.Context(), q))
	s.finish(r, answerOf(r, "which?"))
	s.must(s.Withdraw(t.Context(), "room", ""))
	acc, err := s.Retire(t.Context(), "q")
	s.must(err)
	run := s.runOf(acc)
	if run.Kind != chat.RunChoiceResult || len(run.Shown) != 1 || run.Shown[0].ID != "m0" || len(run.Inputs) != 0 || acc.Memory != "" {
		t.Errorf("the run is %+v; want one that edits m0 without an input", run)
	}
	got, err := s.QuestionOf(t.Context(), acc.Run)
	s.must(err)
	if got.ResultRun != acc.Run || got.By != "" {
		t.Errorf("the question is %+v; want it closed by the run, and by no one", got)
	}
	for _, id := range []string{"q", "unknown"} {
		_, err = s.Retire(t.Context(), id)
		s.fails(err, answer.ErrLost)
	}
	_, err = s.Choose(t.Context(), "q", 0, pick("press"), "ada")
	s.fails(err, answer.ErrLost)
	s.must(s.Ask(t.Context(), question(s.opened("room", 2), "chosen")))
	_, err = s.Choose(t.Context(), "chosen", 0, pick("press"), "ada")
	s.must(err)
	_, err = s.Retire(t.Context(), "chosen")
	s.fails(err, answer.ErrLost)
}

func askAgain(t *testing.T, s store) {
	r := s.opened("room", 1)
	s.must(s.Ask(t.Context(), question(r, "first")))
	s.must(s.Ask(t.Context(), question(r, "second")))
	_, err := s.Question(t.Context(), "first")
	s.fails(err, chat.ErrNotFound)
	_, err = s.Choose(t.Context(), "second", 0, pick("press"), "ada")
	s.must(err)
	s.must(s.Ask(t.Context(), question(r, "third")))
	newest, err := s.QuestionOf(t.Context(), r.ID)
	s.must(err)
	s.same("the newest question", newest.ID, "third")
	second, err := s.Question(t.Context(), "second")
	s.must(err)
	carried, err := s.QuestionOf(t.Context(), second.ResultRun)
	s.must(err)
	s.same("the question's options", carried, second)
	_, err = s.Choose(t.Context(), "third", 0, pick("press again"), "ada")
	s.must(err)
	_, err = s.QuestionOf(t.Context(), "no run")
	s.fails(err, chat.ErrNotFound)
}

func askWith(t *testing.T, s store) {
	q := question(chat.Run{}, "q")
	acc := s.accept(message("room", 1), chat.JoinRule{Kind: chat.RunNotify, Ask: &q})
	q.Run, q.Room = acc.Run, "room"
	got := require.Value(s.QuestionOf(t.Context(), acc.Run))(s.t)
	s.same("the question", got, q)
}

func carryOn(t *testing.T, s store) {
	r := s.start(s.opened("room", 1).ID, "owner")
	s.must(s.Ask(t.Context(), question(r, "q")))
	acc := require.Value(s.Choose(t.Context(), "q", 0, pick("press"), "ada"))(s.t)
	carrier := s.start(acc.Run, "owner") // though another run was started
	require.Value(s.Clear(t.Context(), "room"))(s.t)
	s.finish(carrier, answerOf(carrier, "done"))
	s.same("the memories", s.texts("room", 0, 10), []string{"done"})
}
