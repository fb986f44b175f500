package core_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/core/access"
	"parley/core/action"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/recall"
	"parley/internal/subtest"
	"parley/plugins/essentials"
)

// Actions of users without access in a group reach no prompt: not the answer's, and not those of summaries, facts, recalled messages and
// the question whether to answer. A reply by a user with access shows the message that it replies to.
func TestOverheard(t *testing.T) {
	by := func(author chat.EntityID, change func(m *chat.Message)) func(w *harness, n *process) {
		return func(w *harness, n *process) {
			m := w.message(group, author, "Zebras eat grass.")
			m.Name, m.Place.World = "Zed", "fake/world"
			if change != nil {
				change(&m)
			}
			n.send(m)
		}
	}
	for name, c := range map[string]struct {
		allow func(p *access.Policy)
		does  func(w *harness, n *process)
		seen  bool
	}{
		"a message": {does: by("bob", nil)},
		"a mention": {does: by("bob", func(m *chat.Message) { m.Addressed = true })},
		"a file": {does: by("bob", func(m *chat.Message) {
			m.Text, m.Files = "Look", []chat.Attachment{{Name: "Zebras.txt", Text: "Zebras"}}
		})},
		"a bot": {does: by("bot", func(m *chat.Message) { m.Bot = true })},
		"an edit": {does: func(w *harness, n *process) {
			m := w.message(group, "bob", "Hm.")
			m.Name = "Zed"
			n.send(m)
			m.Text = "Zebras eat grass."
			n.deliver(chat.Edited{Message: m})
		}},
		"a reaction": {does: func(w *harness, n *process) {
			m := w.message(group, "ada", "Hello")
			n.send(m)
			n.deliver(chat.Reaction{Room: group, Author: "bob", Name: "Zed", On: m.ID, Emoji: "🦓", Added: true, At: time.Now()})
		}},
		"someone with access": {does: by("ada", nil), seen: true},
		"a reaction of theirs": {does: func(w *harness, n *process) {
			m := w.message(group, "ada", "Hello")
			n.send(m)
			n.deliver(chat.Reaction{Room: group, Author: "ada", Name: "Ada", On: m.ID, Emoji: "🦓", Added: true, At: time.Now()})
		}, seen: true},
		"an approved person": {does: func(w *harness, n *process) {
			w.Must(w.Store.Approve(w.Context(), chat.Person{ID: "bob", Name: "Zed"}))
			by("bob", nil)(w, n)
		}, seen: true},
		"someone who is approved later": {does: func(w *harness, n *process) {
			by("bob", nil)(w, n)
			w.Must(w.Store.Approve(w.Context(), chat.Person{ID: "bob", Name: "Zed"}))
		}},
		"a role":            {allow: func(p *access.Policy) { p.Allowed.Roles = map[string]bool{"fake:r": true} }, does: by("bob", func(m *chat.Message) { m.Roles = []string{"r"} }), seen: true},
		"an open group":     {allow: func(p *access.Policy) { p.Guests.Worlds = map[chat.WorldID]bool{"fake/world": true} }, does: by("bob", nil), seen: true},
		"a bot with access": {allow: func(p *access.Policy) { p.Allowed.Accounts = map[chat.EntityID]bool{"ada": true, "bot": true} }, does: by("bot", func(m *chat.Message) { m.Bot = true }), seen: true},
		"a reply": {does: func(w *harness, n *process) {
			by("bob", nil)(w, n)
			m := w.message(group, "ada", "See?")
			m.Quoted = chat.Quoted{Name: "Zed", Text: "Zebras eat grass."}
			n.send(m)
		}, seen: true},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			if c.allow != nil {
				c.allow(&w.cfg.Access)
			}
			w.cfg.Access.Group = access.GroupAmbient
			w.cfg.Recall.Summaries, w.cfg.Recall.History = true, 200
			w.cfg.Plugins = []action.Plugin{essentials.New(essentials.Deps{Store: w.Store, Reflection: true}), recall.New(recall.Deps{Store: w.Store, Log: w.cfg.Log})}
			w.model.respond = func(llm.Request) []step { return []step{write("RESPOND")} }
			n := w.start()
			c.does(w, n)
			time.Sleep(time.Minute)
			for i := range 6 {
				m := w.message(group, "ada", fmt.Sprintf("Question %d. %s", i, strings.Repeat("What do zebras eat? ", 10)))
				m.Addressed, m.Place.World = i%2 == 0, "fake/world"
				n.send(m)
				time.Sleep(time.Minute)
			}
			seen := slices.ContainsFunc(w.model.requests(), func(c modelCall) bool {
				all := promptText(c.Request)
				return strings.Contains(all, "Zebras") || strings.Contains(all, "Zed") || strings.Contains(all, "🦓")
			})
			if seen != c.seen {
				w.Errorf("a prompt has it: %v; want %v", seen, c.seen)
			}
		}))
	}
}
