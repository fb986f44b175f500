package telegram

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"parley/connectors/telegram/telegramfake"
	"parley/core/chat"
	"parley/internal/lang"
	"parley/internal/require"
	"parley/internal/subtest"
	"parley/progressive"
)

// The answer to an ephemeral command is one, also when it is edited, and by another process; it can be deleted.
func TestEphemeralAnswer(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		r.HandleAs(func(context.Context, chat.Inbound) (chat.Accepted, error) { return chat.Accepted{Run: "r"}, nil })
		r.run(r.bot)
		ada, g := r.AddUser("Ada", "ada"), r.AddSupergroup("Team", false)
		r.SayEphemeral(g, ada, "/usage@"+r.Bot().Username)
		wait(time.Second)
		first := r.last()
		if first.Text != "/usage" || !first.Addressed || len(first.Address.Response) == 0 {
			t.Errorf("handed over %+v", first)
		}
		id := r.post(r.open(first.Address), "3 messages")
		require.NoError(t, r.open(first.Address.Later()).Edit(t.Context(), id, part("4 messages")))
		all := r.Messages(g)
		if m := all[len(all)-1]; m.Receiver != ada.ID || m.Text != "4 messages" || m.ReplyTo != 0 {
			t.Errorf("the answer is %+v", m)
		}
		if _, err := r.open(first.Address).Typing(t.Context()); err != nil || r.count("sendChatAction") != 0 {
			t.Errorf("everyone sees that the bot is typing, %v", err)
		}
		require.NoError(t, r.open(first.Address).Delete(t.Context(), id))
		if got := r.Messages(g); len(got) != len(all)-1 {
			t.Errorf("%d messages are left", len(got))
		}
		r.SayEphemeral(g, ada, "/usage")
		wait(time.Second)
		if again := r.last(); again.ID == first.ID {
			t.Errorf("both commands have the id %s", again.ID)
		}
	})
}

// After 15 seconds only an administrator can answer by an ephemeral message. Otherwise the group reads no answer, but a line.
func TestEphemeralAnswerTooLate(t *testing.T) {
	for name, admin := range map[string]bool{"member": false, "administrator": true} {
		t.Run(name, subtest.Plain(withBot, func(t *testing.T, r *botHarness) {
			r.run(r.bot)
			ada, g := r.AddUser("Ada", "ada"), r.AddGroup("Team")
			if admin {
				r.SetBotAdmin(g)
			}
			r.SayEphemeral(g, ada, "/memory")
			wait(20 * time.Second)
			s := r.open(r.last().Address)
			for range 3 {
				_, err := s.Post(t.Context(), s.Render(view("A secret"))[0], "")
				if err == nil {
					break
				}
				if !errors.Is(err, progressive.ErrUnsent) {
					t.Fatal(err)
				}
			}
			all := r.Messages(g)
			m := all[len(all)-1]
			if got, want := m.Text, map[bool]string{true: "A secret", false: lang.Voice{}.Say("message.late")}[admin]; got != want || (m.Receiver != 0) != admin {
				t.Errorf("the group has %+v; want %q", m, want)
			}
		}))
	}
}

// What gets no answer by a run is told at once, to its author alone.
func TestEphemeralRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		says string
		acc  chat.Accepted
		want string
		took int
	}{
		"refused":    {"/usage", chat.Accepted{Refused: "Not for you."}, "Not for you.", 1},
		"done":       {"/usage", chat.Accepted{}, "Done.", 1},
		"no command": {"a secret", chat.Accepted{}, lang.Voice{}.Say("message.commands_only"), 0},
		"blocked":    {"/usage", chat.Accepted{Blocked: true}, "", 1},
	} {
		t.Run(name, subtest.Plain(withBot, func(t *testing.T, r *botHarness) {
			r.HandleAs(func(context.Context, chat.Inbound) (chat.Accepted, error) { return c.acc, nil })
			r.run(r.bot)
			ada, g := r.AddUser("Ada", "ada"), r.AddGroup("Team")
			r.SayEphemeral(g, ada, c.says)
			wait(time.Second)
			if got := len(r.Events()); got != c.took {
				t.Errorf("%d events were handed over; want %d", got, c.took)
			}
			var got string
			for _, m := range r.Messages(g)[1:] {
				if got += m.Text; m.Receiver != ada.ID {
					t.Errorf("everyone reads %+v", m)
				}
			}
			if got != c.want {
				t.Errorf("the user reads %q; want %q", got, c.want)
			}
		}))
	}
}

// Commands are ephemeral in groups alone, and those for direct chats are not in the menus of groups.
func TestCommandScopes(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		r.run(r.bot)
		wait(time.Second)
		for _, scope := range []string{"", groups} {
			params := map[string]string{}
			if scope != "" {
				params["scope"] = scope
			}
			var all []telegramfake.Command
			require.NoError(t, r.bot.client.call(t.Context(), "getMyCommands", params, &all))
			byName := map[string]telegramfake.Command{}
			for _, c := range all {
				byName[c.Command] = c
			}
			inGroup := scope == groups
			if usage := byName["usage"]; usage.Ephemeral != inGroup || byName["new"].Ephemeral || usage.Description == "" {
				t.Errorf("in scope %q: %+v", scope, byName)
			}
			params["language_code"] = "de"
			require.NoError(t, r.bot.client.call(t.Context(), "getMyCommands", params, &all))
			if i := slices.IndexFunc(all, func(c telegramfake.Command) bool { return c.Command == "help" }); i < 0 || all[i].Description == byName["help"].Description {
				t.Errorf("in scope %q, German clients have %+v", scope, all)
			}
			if _, link := byName["link"]; link == inGroup {
				t.Errorf("in scope %q there is /link: %t", scope, link)
			}
		}
	})
}
