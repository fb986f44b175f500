package telegram

import (
	"context"
	"errors"
	"testing"
	"time"

	"parley/connectors/telegram/telegramfake"
	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/lang"
	"parley/internal/require"
	"parley/internal/subtest"
	"parley/progressive"
)

var offer = &answer.Choices{ID: "ABCDEFGHIJKLMNOPQRSTUVWXYZ", Options: []string{"Yes", "No"}}

// Buttons come with the last word and its last message, and go with the next edit.
func TestButtons(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		chat, s := r.private()
		v := view("Let Eve in?")
		v.Choices, v.Outcome = offer, answer.Outcome{Status: answer.Completed, Offer: offer}
		parts := s.Render(v)
		id := require.Value(s.Post(t.Context(), parts[0], ""))(t)
		want := []telegramfake.Button{{Text: "Yes", Data: offer.ID + ":0"}, {Text: "No", Data: offer.ID + ":1"}}
		if got := r.Messages(chat)[0].Buttons(); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
			t.Errorf("buttons %+v", got)
		}
		require.NoError(t, s.Edit(t.Context(), id, progressive.Part{Plain: "Let Eve in? Yes."}))
		if got := r.Messages(chat)[0].Buttons(); len(got) != 0 {
			t.Errorf("buttons %+v; want none", got)
		}
	})
}

// Options that approve something are green, and the one that refuses it is red; others have no color.
func TestApprovalColors(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		chat, s := r.private()
		v := view("May I order?")
		v.Choices = &answer.Choices{ID: offer.ID, Options: []string{"Once", "Always here", "Deny"}, Approval: true}
		v = v.Copied()
		require.Value(s.Post(t.Context(), s.Render(v)[0], ""))(t)
		var got string
		for _, b := range r.Messages(chat)[0].Buttons() {
			got += b.Text + " " + b.Style + "; "
		}
		if got != "Once success; Always here success; Deny danger; " {
			t.Errorf("the buttons are %s", got)
		}
	})
}

// In a private chat, a question that permits words opens the field for them, once, and stays editable. One that wants only words shows
// their label, which can't be pressed.
func TestQuestionsForWordsForceAReply(t *testing.T) {
	for name, c := range map[string]struct {
		asked  answer.Choices
		group  bool
		force  bool
		button string
	}{
		"words only":    {answer.Choices{ID: "q", Other: "Your name…"}, false, true, "Your name…"},
		"options":       {answer.Choices{ID: "q", Options: []string{"Tea"}, Other: "Something else…"}, false, true, "Tea"},
		"no words":      {answer.Choices{ID: "q", Options: []string{"Tea"}}, false, false, "Tea"},
		"chosen before": {answer.Choices{ID: "q", Options: []string{"Tea"}, Other: "Something else…", Chosen: 1}, false, false, "Tea"},
		"in a group":    {answer.Choices{ID: "q", Other: "Your name…"}, true, false, "Your name…"},
	} {
		t.Run(name, subtest.Plain(withBot, func(t *testing.T, r *botHarness) {
			chat, s := r.private()
			if c.group {
				chat = r.AddSupergroup("Crew", false)
				s = newSink(r.bot, address{Chat: chat.ID, Kind: chat.Type})
			}
			id := require.Value(s.Post(t.Context(), progressive.Part{Plain: "What shall I write?", Offer: &c.asked}, ""))(t)
			m := r.Messages(chat)[0]
			if b := m.Buttons(); m.ForcesReply != c.force || len(b) != 1 || b[0].Text != c.button {
				t.Errorf("force %v, buttons %+v", m.ForcesReply, b)
			}
			require.NoError(t, s.Edit(t.Context(), id, progressive.Part{Plain: "What shall I write? Ada."}))
			if got := r.final("editMessageText").Params["reply_markup"]; got != "" {
				t.Errorf("the edit has the keyboard %s", got)
			}
		}))
	}
}

// The chosen option stays, disabled and colored. A server that has no disabled buttons costs one request, once.
func TestChosenOption(t *testing.T) {
	for name, c := range map[string]struct {
		chosen answer.Choices
		old    bool
		want   string
	}{
		"approved": {answer.Choices{ID: "q", Options: []string{"Once", "Always", "Deny"}, Approval: true, Chosen: 2}, false, "Always success; "},
		"denied":   {answer.Choices{ID: "q", Options: []string{"Once", "Always", "Deny"}, Approval: true, Chosen: 3}, false, "Deny danger; "},
		"a choice": {answer.Choices{ID: "q", Options: []string{"Tea", "Coffee"}, Chosen: 1}, false, "Tea primary; "},
		"older":    {answer.Choices{ID: "q", Options: []string{"Tea", "Coffee"}, Chosen: 1}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			withBot(t, func(t *testing.T, r *botHarness) {
				chat, s := r.private()
				open := c.chosen
				open.Chosen = 0
				v := view("Which?")
				v.Choices = &open
				id := require.Value(s.Post(t.Context(), s.Render(v)[0], ""))(t)
				v.Choices, v.Chosen = nil, &c.chosen
				if c.old {
					r.Fault(telegramfake.Fault{Method: "editMessageText", Status: 400, Body: `{"ok":false,"error_code":400,` +
						`"description":"Bad Request: can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard"}`})
					if err := s.Edit(t.Context(), id, s.Render(v)[0]); !errors.Is(err, progressive.ErrUnsent) {
						t.Errorf("the first refusal is %v", err)
					}
				}
				require.NoError(t, s.Edit(t.Context(), id, s.Render(v)[0]))
				var got string
				for _, b := range r.Messages(chat)[0].Buttons() {
					if b.Disabled == nil {
						t.Error("the chosen option can be pressed")
					}
					got += b.Text + " " + b.Style + "; "
				}
				if got != c.want {
					t.Errorf("the buttons are %q; want %q", got, c.want)
				}
			})
		})
	}
}

// A code can be copied by a button.
func TestCodeToCopy(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		chat, s := r.private()
		for text, want := range map[string]string{
			"Send them this code within an hour: ABCD-2345": "ABCD-2345",
			"Send me `/link ABCD-2345` in a direct chat":    "/link ABCD-2345",
			"From 2024-2026, ABCD-23456 and abcd-2345":      "",
		} {
			r.post(s, text)
			all := r.Messages(chat)
			var got string
			for _, b := range all[len(all)-1].Buttons() {
				got += b.Copy.Text
			}
			if got != want {
				t.Errorf("%q has a button for %q; want %q", text, got, want)
			}
		}
	})
}

// SE-07: a press is handed over as whose it is, and answered in every case, with an alert if it changed nothing.
func TestPresses(t *testing.T) {
	for name, c := range map[string]struct {
		data  string
		take  func(context.Context, chat.Choice) (chat.Accepted, error)
		want  string
		after time.Duration
	}{
		"taken": {offer.ID + ":1", nil, "", 0},
		"refused": {offer.ID + ":1", func(context.Context, chat.Choice) (chat.Accepted, error) {
			return chat.Accepted{Refused: "Not yours."}, nil
		}, "Not yours.", 0},
		"not safe":  {offer.ID + ":1", func(context.Context, chat.Choice) (chat.Accepted, error) { return chat.Accepted{}, errDown }, lang.Voice{}.Say("turn.not_done"), 0},
		"not ours":  {"something else", nil, lang.Voice{}.Say("turn.not_done"), 0},
		"no number": {offer.ID + ":x", nil, lang.Voice{}.Say("turn.not_done"), 0},
		"too slow": {offer.ID + ":1", func(ctx context.Context, _ chat.Choice) (chat.Accepted, error) {
			<-ctx.Done()
			return chat.Accepted{}, ctx.Err()
		}, lang.Voice{}.Say("turn.not_done"), chooseTime},
	} {
		t.Run(name, func(t *testing.T) {
			withBot(t, func(t *testing.T, r *botHarness) {
				ada := r.AddUser("Ada", "ada")
				forum := r.AddSupergroup("Forum", true)
				topic := r.AddTopic(forum, "One")
				r.run(r.bot)
				s := r.ask(forum, ada, "hello", telegramfake.InTopic(topic))
				room := r.last().Room
				v := view("Let Eve in?")
				v.Choices, v.Outcome = offer, answer.Outcome{Status: answer.Completed, Offer: offer}
				require.Value(s.Post(t.Context(), s.Render(v)[0], ""))(t)
				var got []chat.Choice
				r.Choose = func(ctx context.Context, in chat.Choice) (chat.Accepted, error) {
					got = append(got, in)
					if c.take == nil {
						return chat.Accepted{}, nil
					}
					return c.take(ctx, in)
				}
				all := r.Messages(forum)
				pressed := time.Now()
				r.Press(all[len(all)-1], ada, c.data)
				wait(c.after + time.Second)
				answers := r.CallbackAnswers()
				if len(answers) != 1 || answers[0].Text != c.want || answers[0].Alert != (c.want != "") {
					t.Errorf("after %v answered %+v", time.Since(pressed), answers)
				}
				want := chat.Choice{Question: offer.ID, Option: 1, Room: room, Author: entity(ada.ID), Name: "Ada"}
				if c.data == offer.ID+":1" && (len(got) != 1 || got[0].Question != want.Question || got[0].Option != 1 ||
					got[0].Room != room || got[0].Author != want.Author || got[0].Name != want.Name) {
					t.Errorf("handed over %+v, want %+v", got, want)
				}
			}, telegramfake.WithReadAllGroupMessages())
		})
	}
}
