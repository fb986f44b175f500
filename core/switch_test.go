package core_test

import (
	"strings"
	"testing"

	"parley/core/access"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/turn"
	"parley/internal/golden"
	"parley/internal/lang"
)

// severalModels gives the next processes three models that say who they are. Ada can switch in direct chats.
func (w *harness) severalModels() {
	as := func(name string) llm.Model {
		return &model{respond: func(llm.Request) []step { return []step{write("I am " + name + ".")} }}
	}
	w.cfg.Models.Chat = []llm.Named{
		{Name: "main", Model: as("main"), Label: "big-1"}, {Name: "fast", Model: as("fast"), Label: "small-1"}, {Name: "local", Model: as("local")},
	}
	w.cfg.Access.Switch.Direct = true
	w.cfg.About = turn.Program{Models: []turn.Model{{Work: "answers", Name: "big-1"}, {Work: "pictures", Name: "eye-2"}}}
}

// /model shows the models with a button for each; a press switches for this room, also after a restart, and Default takes it back.
func TestModelPicker(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.severalModels()
		w.cfg.Access.Owners = map[chat.EntityID]bool{"ada": true}
		n := w.start()
		w.wantAnswer(n.sendText("Who?"), answer.Completed, "I am main.")
		acc := n.sendText("/model")
		_, said := w.waitAnswer(acc)
		golden.Check(w, "testdata/models.txt", said+"\n")
		w.wantAnswer(n.deliver(chat.Choice(pressed(w.question(acc), 1))), answer.Completed, said+"\n\n→ **fast**\n\nFrom now on **fast** answers in this chat.")
		w.chat.forgetSeen()
		w.wantAnswer(n.sendText("Who?"), answer.Completed, "I am fast.")
		n.shutdown()
		n = w.start()
		w.wantAnswer(n.sendText("Who?"), answer.Completed, "I am fast.")
		if _, said := w.waitAnswer(n.sendText("/status")); !strings.Contains(said, "- Model: `small-1`\n") {
			w.Errorf("/status says %q; want it to contain \"- Model: `small-1`\\n\"", said)
		}
		again := n.sendText("/model")
		if _, said := w.waitAnswer(again); !strings.Contains(said, "2. **fast**: `small-1` (answers here)\n") {
			w.Errorf("/model says %q; want it to contain \"2. **fast**: `small-1` (answers here)\\n\"", said)
		}
		w.waitAnswer(n.deliver(chat.Choice(pressed(w.question(again), 3))))
		w.chat.forgetSeen()
		w.wantAnswer(n.sendText("Who?"), answer.Completed, "I am main.")
	})
}

// A model can be named in writing, by its name or its number, by those who can switch.
func TestModelByName(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.severalModels()
		w.cfg.Access.Allowed.Accounts["bob"] = true
		w.cfg.Access.Staff.Accounts = map[chat.EntityID]bool{"bob": true}
		n := w.start()
		for _, c := range []struct{ wrote, said, answers string }{
			{"/model fast", "From now on **fast** answers in this chat.", "fast"},
			{"/model 3", "From now on **local** answers in this chat.", "local"},
			{"/MODEL Main", "From now on **main** answers in this chat.", "main"},
			{"/model slow", `There is no model called "slow". The models are main, fast, local.`, "main"},
			{"/model 4", `There is no model called "4". The models are main, fast, local.`, "main"},
			{"/model fast", "From now on **fast** answers in this chat.", "fast"},
			{"/model default", "The default model, **main**, answers in this chat again.", "main"},
		} {
			w.wantAnswer(n.sendText(c.wrote), answer.Completed, c.said)
			w.wantAnswer(n.sendText("Who?"), answer.Completed, "I am "+c.answers+".")
		}
		const refused = "Only my owner, and people they allow, can switch the model here."
		for _, c := range []struct {
			author chat.EntityID
			said   string
		}{{"ada", refused}, {"bob", "From now on **fast** answers in this chat."}} {
			m := w.message(group, c.author, "/model fast")
			m.Addressed = true
			w.wantAnswer(n.send(m), answer.Completed, c.said)
		}
		m := w.message(group, "ada", "/model")
		m.Addressed = true
		if _, said := w.waitAnswer(n.send(m)); strings.Contains(said, "Which one") {
			w.Errorf("one who can't switch is asked: %q", said)
		}
	})
}

// The owner can switch everywhere; a right that is gone when the button is pressed counts no more.
func TestOwnersSwitchEverywhere(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.severalModels()
		w.cfg.Access.Switch = access.SwitchPolicy{}
		w.cfg.Access.Owners = map[chat.EntityID]bool{"ada": true}
		n := w.start()
		m := w.message(group, "ada", "/model")
		m.Addressed = true
		acc := n.send(m)
		w.waitAnswer(acc)
		n.shutdown()
		w.cfg.Access.Owners = map[chat.EntityID]bool{"bob": true}
		n = w.start()
		if _, said := w.waitAnswer(n.deliver(chat.Choice(pressed(w.question(acc), 1)))); !strings.Contains(said, "Only my owner") {
			w.Errorf("who is owner no more is told %q", said)
		}
		w.chat.forgetSeen()
	})
}

// A chosen model that was removed is replaced by the default one, and people are told so once, not the next model.
func TestRemovedModel(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.severalModels()
		n := w.start()
		w.waitAnswer(n.sendText("/model local"))
		n.shutdown()
		w.cfg.Models.Chat = w.cfg.Models.Chat[:2]
		n = w.start()
		if _, said := w.waitAnswer(n.sendText("/model")); !strings.HasPrefix(said, "The model chosen for this chat, local, was removed. The default one answers.\n\n1. **main**") {
			w.Errorf(`/model says %q; want it to begin with "The model chosen for this chat, local, was removed. The default one answers.\n\n1. **main**"`, said)
		}
		w.wantAnswer(n.sendText("Who?"), answer.Completed, "I am main.")
		w.wantAnswer(n.sendText("Who?"), answer.Completed, "I am main.")
		told := 0
		for _, text := range w.chat.visible() {
			told += strings.Count(text, "_("+lang.Voice{}.Say("notice.removed_model")+")_")
		}
		if told != 1 {
			w.Errorf("people are told %d times: %q; want 1", told, w.chat.visible())
		}
	})
}

// The configuration gives models to rooms and to people; what was chosen in a room comes first.
func TestModelsOfRoomsAndPeople(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.severalModels()
		w.cfg.Access.Allowed.Accounts["bob"] = true
		w.cfg.Access.Overrides = []access.Override{
			{RoomSet: access.RoomSet{Chats: map[string]bool{"fake:g": true}}, Model: "fast"},
			{Users: map[chat.EntityID]bool{"bob": true}, Model: "local"},
		}
		w.cfg.Access.Staff.Accounts = map[chat.EntityID]bool{"ada": true}
		n := w.start()
		ask := func(author chat.EntityID, text, want string) {
			m := w.message(group, author, text)
			m.Addressed, m.Place.Chats = true, []string{"g"}
			w.wantAnswer(n.send(m), answer.Completed, want)
		}
		ask("ada", "Who?", "I am fast.")
		ask("bob", "Who?", "I am local.")
		w.wantAnswer(n.sendText("Who?"), answer.Completed, "I am main.")
		ask("ada", "/model main", "From now on **main** answers in this chat.")
		ask("bob", "Who?", "I am main.")
		ask("ada", "/model default", "The default model, **fast**, answers in this chat again.")
		ask("ada", "Who?", "I am fast.")
	})
}

// Images and the length of prompts follow the model of the room.
func TestModelsOfRoomsDiffer(t *testing.T) {
	withReader(t, func(w *harness, r *fakeReader) {
		w.severalModels()
		w.cfg.Models.Chat[0].Vision, w.cfg.Models.Chat[1].Prompt = true, 1500
		n := w.start()
		images := func(m llm.Model) (all int) {
			for _, turn := range m.(*model).requests()[len(m.(*model).requests())-1].Messages {
				all += len(turn.Images)
			}
			return all
		}
		sees, blind := w.cfg.Models.Chat[0].Model, w.cfg.Models.Chat[1].Model
		w.waitAnswer(n.send(with(w.message(room, "ada", "One"), pic("a"))))
		if got := images(sees); got != 1 || r.was() != "" {
			t.Errorf("one that sees is shown %d images; read are %q; want 1 and none", got, r.was())
		}
		w.waitAnswer(n.sendText("/model fast"))
		w.waitAnswer(n.send(with(w.message(room, "ada", "Two "+strings.Repeat("word ", 5000)), pic("b"))))
		if got := images(blind); got != 0 || !strings.Contains(r.was(), "b") {
			t.Errorf("one that doesn't see is shown %d images; read are %q", got, r.was())
		}
		if got := llm.EstimateTokens(blind.(*model).requests()[0].Request); got > 1500 {
			t.Errorf("its prompt has %d tokens; want at most 1500", got)
		}
		w.waitAnswer(n.sendText("/model main"))
		w.waitAnswer(n.sendText("Three " + strings.Repeat("word ", 5000)))
		if got := llm.EstimateTokens(sees.(*model).requests()[1].Request); got < 3000 {
			t.Errorf("the other's prompt has %d tokens; want at least 3000", got)
		}
	})
}
