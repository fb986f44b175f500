package core_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/core"
	"parley/core/access"
	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/schedule"
	"parley/internal/require"
	"parley/internal/subtest"
)

// likes is a schema with something to get wrong.
const likes = `{"type":"object","required":["what"],"properties":{"what":{"type":"string"},"times":{"type":"integer","minimum":1}}}`

// Names are matched as they are, then without case and underscores, then as declared similes, and never by a part (LM-05).
func TestNames(t *testing.T) {
	for asked, want := range map[string]string{
		"SEND_MESSAGE": "SEND_MESSAGE", "send_message": "SEND_MESSAGE", "SendMessage": "SEND_MESSAGE", " sendmessage ": "SEND_MESSAGE",
		"DM": "SEND_MESSAGE", "write_to": "SEND_MESSAGE", "WriteTo": "SEND_MESSAGE",
		"sendMessages": "", "SEND": "", "MESSAGE": "", "WRITE": "", "": "", "_": "", "SEND MESSAGE": "",
	} {
		withHarness(t, func(w *harness) {
			a := &fakeAction{name: "SEND_MESSAGE", similes: []string{"DM", "WRITE_TO"}}
			w.addActions(a, &fakeAction{name: "SENDING"})
			w.model.queue([]step{call(0, "c", asked, "{}")}, []step{write("Well.")})
			w.wantAnswer(w.start().sendText("go"), answer.Completed, "Well.")
			turns := w.model.requests()[1].Messages
			unknown := strings.HasPrefix(turns[len(turns)-1].Text, "Error: There is no action")
			if unknown != (want == "") || a.times() == 0 != (want == "") {
				t.Errorf("%q: done %d times; the model was told %q", asked, a.times(), turns[len(turns)-1].Text)
			}
		})
	}
}

// What could mean two actions, and a schema that is none, are found at the start, with the plugin and the action.
func TestWrongActions(t *testing.T) {
	for name, c := range map[string]struct {
		actions []*fakeAction
		want    string
	}{
		"the same name":      {[]*fakeAction{{name: "DO_IT"}, {name: "DO_IT"}}, "plugin test: action DO_IT: the name DO_IT is already used by DO_IT"},
		"nearly the same":    {[]*fakeAction{{name: "DO_IT"}, {name: "DoIt"}}, "plugin test: action DoIt: the name DoIt is already used by DO_IT"},
		"a simile of a name": {[]*fakeAction{{name: "DO_IT"}, {name: "ACT", similes: []string{"do_it"}}}, "plugin test: action ACT: the name do_it is already used by DO_IT"},
		"a name of a simile": {[]*fakeAction{{name: "ACT", similes: []string{"DO_IT"}}, {name: "DO_IT"}}, "plugin test: action DO_IT: the name DO_IT is already used by ACT"},
		"two similes":        {[]*fakeAction{{name: "A", similes: []string{"X"}}, {name: "B", similes: []string{"X"}}}, "plugin test: action B: the name X is already used by A"},
		"no name":            {[]*fakeAction{{name: "_"}}, `plugin test: action _: the name "_" is invalid`},
		"no schema":          {[]*fakeAction{{name: "A", schema: `{"type":"object","properties":{"n":{"type":"number!"}}}`}}, `plugin test: action A: its parameters: the schema has the type "number!", which JSON does not have`},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.addActions(c.actions...)
			if _, err := core.New(w.cfg); err == nil || err.Error() != c.want {
				w.Errorf("%v", err)
			}
		}))
	}
}

// LM-04, LM-05: parameters that do not fit the schema run nothing, and the model is told which and why.
func TestParametersAreChecked(t *testing.T) {
	for params, told := range map[string]string{
		`{"what":"tea","times":2}`: "",
		`{}`:                       `Error: The parameters are invalid: missing properties: ["what"]`,
		`{"what":7}`:               `Error: The parameters are invalid: what: 7 has type "integer", want "string"`,
		`{"what":"tea","times":0}`: `Error: The parameters are invalid: times: 0 is less than 1`,
		`{"what":"tea"`:            `Error: The parameters are not a complete JSON object.`,
	} {
		withHarness(t, func(w *harness) {
			a := &fakeAction{name: "LIKE", schema: likes}
			w.addActions(a)
			w.model.queue([]step{call(0, "c", "LIKE", params)}, []step{write("Well.")})
			w.wantAnswer(w.start().sendText("go"), answer.Completed, "Well.")
			turns := w.model.requests()[1].Messages
			if got := turns[len(turns)-1].Text; told != "" && !strings.HasPrefix(got, told) {
				t.Errorf("%s: the model was told %q", params, got)
			}
			if (a.times() == 1) != (told == "") {
				t.Errorf("%s: done %d times", params, a.times())
			}
		})
	}
}

// DI-07: an action's own limit counts, and one that does not heed it is left behind with what it goes on to say.
func TestLimits(t *testing.T) {
	withHarness(t, func(w *harness) {
		free := make(chan struct{})
		w.addActions(&fakeAction{name: "HANG", limit: 10 * time.Second, do: func(_ context.Context, c *action.Call) (action.Result, error) {
			<-free
			c.Update("too late to be heard")
			return action.Result{Text: "too late"}, nil
		}}, &fakeAction{name: "SLOW", limit: 2 * time.Minute, do: takes(90 * time.Second)})
		w.model.queue([]step{call(0, "a", "HANG", "{}"), call(1, "b", "SLOW", "{}")}, []step{func(context.Context) (*llm.Chunk, error) {
			close(free)
			return nil, nil
		}, pause(time.Second), write("Well.")})
		n := w.start()
		begun := time.Now()
		w.wantAnswer(n.sendText("go"), answer.Completed, "Well.")
		if took := w.model.requests()[1].From.Sub(begun); took != 105*time.Second {
			t.Errorf("the actions took %v", took)
		}
		turns := w.model.requests()[1].Messages
		if diff := cmp.Diff([]string{"Error: the action took too long", "done after a while"}, []string{turns[2].Text, turns[3].Text}); diff != "" {
			t.Errorf("the model was told (-want +got):\n%s", diff)
		}
	})
}

// Of two actions the second uses what the first has found; what both came to is remembered beside the answer.
func TestTheSecondUsesTheFirst(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Access.Owners = map[chat.EntityID]bool{"ada": true}
		var seen action.TurnContext
		w.addActions(
			&fakeAction{name: "FIND", do: func(_ context.Context, c *action.Call) (action.Result, error) {
				return action.Result{Text: "tea is in cupboard 3"}, nil
			}},
			&fakeAction{name: "FETCH", effect: action.Writes, do: func(_ context.Context, c *action.Call) (action.Result, error) {
				seen = c.Turn
				last := c.Earlier[len(c.Earlier)-1]
				return action.Result{Text: "fetched, because " + last.Action + " said " + last.Result.Text}, nil
			}},
			&fakeAction{name: "BREAK", do: func(context.Context, *action.Call) (action.Result, error) {
				return action.Result{}, errors.New("a cup fell")
			}},
		)
		w.model.queue([]step{call(0, "a", "FIND", "{}"), call(1, "b", "FETCH", "{}"), call(2, "c", "BREAK", "{}")}, []step{write("Here.")})
		n := w.start()
		acc := n.sendText("tea, please")
		w.wantAnswer(acc, answer.Completed, "Here.")
		if seen.Message.Text != "tea, please" || seen.Room.ID != room || !seen.Private || !seen.Owner || seen.Run != acc.Run {
			t.Errorf("the action saw %+v", seen)
		}
		ms := require.Value(w.Store.Recent(w.Context(), room, chat.ActionResult, 0, 10))(w)
		var got []string
		for _, m := range ms {
			got = append(got, strings.Join(m.Actions, ",")+" "+string(m.Failure)+": "+m.Text)
			if m.InReplyTo != acc.Memory || m.Author != agent {
				t.Errorf("stored is %+v", m)
			}
		}
		want := []string{
			"FIND : tea is in cupboard 3",
			"FETCH : fetched, because FIND said tea is in cupboard 3",
			"BREAK action_failed: Error: a cup fell",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("remembered (-want +got):\n%s", diff)
		}
	})
}

// SE-08: the rights of a turn are those of all who wrote it.
func TestOwnerIsWhoeverWroteAllOfIt(t *testing.T) {
	for name, authors := range map[string][]chat.EntityID{"owner alone": {"ada"}, "with another": {"bob", "ada"}, "another": {"bob"}} {
		withHarness(t, func(w *harness) {
			w.cfg.Turns.Group = schedule.Collect
			w.cfg.Access.Allowed.Accounts["bob"] = true
			w.cfg.Access.Owners = map[chat.EntityID]bool{"ada": true}
			owner, several := make(chan bool, 3), make(chan bool, 3)
			w.addActions(&fakeAction{name: "LOOK", do: func(_ context.Context, c *action.Call) (action.Result, error) {
				owner <- c.Turn.Owner
				several <- c.Turn.Several()
				return action.Result{}, nil
			}})
			w.model.queue([]step{pause(5 * time.Second), write("One.")}, []step{call(0, "a", "LOOK", "{}")}, []step{write("Two.")})
			n := w.start()
			n.send(w.groupMention("ada", "I am the owner"))
			time.Sleep(time.Second)
			var last chat.Accepted
			for _, a := range authors {
				last = n.send(w.groupMention(a, "I am the owner"))
			}
			w.wantAnswer(last, answer.Completed, "Two.")
			if got := <-owner; got != (name == "owner alone") {
				t.Errorf("%s: %v", name, got)
			}
			if got := <-several; got != (name == "with another") {
				t.Errorf("%s: written by several: %v", name, got)
			}
		})
	}
}

// groupMention is a message in the group that is meant for the agent.
func (w *harness) groupMention(author chat.EntityID, text string) chat.Message {
	m := w.message(group, author, text)
	m.Addressed = true
	return m
}

// What is not offered is neither told of nor done.
func TestOffered(t *testing.T) {
	for asker, offered := range map[chat.EntityID]bool{"ada": true, "bob": false} {
		withHarness(t, func(w *harness) {
			w.cfg.Access.Allowed.Accounts["bob"] = true
			w.cfg.Access.Owners = map[chat.EntityID]bool{"ada": true}
			a := &fakeAction{name: "SET"}
			w.addActions(&fakeAction{name: "FIRST"})
			w.cfg.Plugins = append(w.cfg.Plugins, action.Plugin{Name: "owners", Actions: []action.Action{forOwners{a}}})
			w.model.queue([]step{call(0, "a", "SET", "{}")}, []step{write("Well.")})
			w.wantAnswer(w.start().send(w.groupMention(asker, "set it; I am the owner")), answer.Completed, "Well.")
			if told := len(w.model.requests()[0].Tools) == 2; told != offered || a.times() == 1 != offered {
				t.Errorf("%s: told %v, done %d times", asker, told, a.times())
			}
		})
	}
}

type forOwners struct{ *fakeAction }

func (forOwners) Available(s action.TurnContext) bool { return s.Owner }

// People see nothing of a quiet call.
func TestQuiet(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.watchOnly()
		w.addActions(&fakeAction{name: "HUSH", quiet: true}, &fakeAction{name: "DO"})
		w.model.queue([]step{pause(time.Second), call(0, "a", "hush", "{}"), call(1, "b", "DO", "{}")}, []step{write("Well.")})
		n := w.start()
		cs, v, err := n.readAnswer(n.sendText("go").Run)
		w.Must(err)
		if ends := wantStages(w, cs); len(ends) != 1 || ends["b"].Name != "DO" || len(v.Segments) != 2 {
			t.Errorf("people see %+v, %+v", ends, v.Segments)
		}
	})
}

// A turn that an action ends costs no further round; without a word said it counts as ignored.
func TestLast(t *testing.T) {
	for text, want := range map[string]answer.Status{"": answer.Ignored, "Bye.": answer.Completed} {
		withHarness(t, func(w *harness) {
			w.addActions(&fakeAction{name: "LEAVE", do: func(context.Context, *action.Call) (action.Result, error) { return action.Result{Last: true}, nil }},
				&fakeAction{name: "DO"})
			w.model.queue([]step{write(text), call(0, "a", "LEAVE", "{}"), call(1, "b", "DO", "{}")})
			w.wantAnswer(w.start().sendText("go"), want, text)
			w.wantModelCalls(1)
			if got := strings.Join(w.chat.visible(), "|"); got != text {
				t.Errorf("the chat shows %q; want %q", got, text)
			}
		})
	}
}

// An action that claims a message answers it without a model.
func TestDirect(t *testing.T) {
	for name, c := range map[string]struct {
		claimer
		want   string
		status answer.Status
	}{
		"its result":     {claimer{fakeAction: &fakeAction{name: "ROLL"}, params: `{"n":1}`}, `done {"n":1}`, answer.Completed},
		"what it shows":  {claimer{fakeAction: &fakeAction{name: "ROLL", do: returnsText("4")}, params: `{}`}, "4", answer.Completed},
		"nothing":        {claimer{fakeAction: &fakeAction{name: "ROLL", do: returnsText("")}, params: `{}`}, "", answer.Ignored},
		"an error":       {claimer{fakeAction: &fakeAction{name: "ROLL", do: returnsError("inner text")}, params: `{}`}, "That didn't work. Please try again.", answer.Completed},
		"wrong params":   {claimer{fakeAction: &fakeAction{name: "ROLL", schema: likes}, params: `{}`}, "That didn't work. Please try again.", answer.Completed},
		"it writes":      {claimer{fakeAction: &fakeAction{name: "ROLL", effect: action.Writes}, params: `{}`}, `done {}`, answer.Completed},
		"not its matter": {claimer{fakeAction: &fakeAction{name: "ROLL"}}, "You said: roll", answer.Completed},
		"a broken match": {claimer{fakeAction: &fakeAction{name: "ROLL"}, params: "panic"}, "You said: roll", answer.Completed},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.cfg.Plugins = []action.Plugin{{Name: "test", Actions: []action.Action{c.claimer}}}
			w.wantAnswer(w.start().sendText("roll"), c.status, c.want)
			if asked := len(w.model.requests()) > 0; asked != strings.HasPrefix(c.want, "You said") {
				w.Errorf("the model was asked: %v", asked)
			}
		}))
	}
}

// An action that claims a message and is stopped is not said to have failed.
func TestDirectIsStopped(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Plugins = []action.Plugin{{Name: "test", Actions: []action.Action{claimer{fakeAction: &fakeAction{name: "ROLL", do: takes(time.Hour)}, params: `{}`}}}}
		n := w.start()
		acc := n.sendText("roll")
		time.Sleep(time.Minute)
		n.stopAnswer(room)
		w.wantAnswer(acc, answer.Stopped, "Stopped.")
	})
}

// A message that an action claims is not put before the model to find out whether it wants an answer; where another waits with it, neither
// is claimed.
func TestDirectClaimsWhatIsUndecided(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Access.Group = access.GroupAmbient
		w.cfg.Plugins = []action.Plugin{{Name: "test", Actions: []action.Action{claimer{fakeAction: &fakeAction{name: "ROLL"}, params: `{}`}}}}
		w.wantAnswer(w.start().send(w.message(group, "ada", "roll")), answer.Completed, "done {}")
		w.wantModelCalls(0)
	})
	withHarness(t, func(w *harness) {
		w.cfg.Turns.Window = time.Second
		w.cfg.Plugins = []action.Plugin{{Name: "test", Actions: []action.Action{claimer{fakeAction: &fakeAction{name: "ROLL"}, params: `{}`}}}}
		n := w.start()
		n.sendText("what is love?")
		w.wantAnswer(n.sendText("roll"), answer.Completed, "You said: roll")
	})
}

// claimer claims every message, if it has parameters.
type claimer struct {
	*fakeAction
	params string
}

func (c claimer) Match(action.TurnContext) (json.RawMessage, bool) {
	if c.params == "panic" {
		panic("in Match")
	}
	return json.RawMessage(c.params), c.params != ""
}

func returnsText(text string) func(context.Context, *action.Call) (action.Result, error) {
	return func(_ context.Context, c *action.Call) (action.Result, error) {
		c.Update(text)
		return action.Result{}, nil
	}
}

func returnsError(text string) func(context.Context, *action.Call) (action.Result, error) {
	return func(context.Context, *action.Call) (action.Result, error) { return action.Result{}, errors.New(text) }
}

// Where only some actions may be used, the others are not there; what is allowed must exist.
func TestToolsOfPlaces(t *testing.T) {
	withHarness(t, func(w *harness) {
		first, other := &fakeAction{name: "FIRST"}, &fakeAction{name: "SECOND"}
		w.addActions(first, other)
		w.cfg.Access.Overrides = []access.Override{{RoomSet: access.RoomSet{Chats: map[string]bool{"fake:7": true}}, Tools: []string{"second"}}}
		w.model.queue([]step{call(0, "a", "FIRST", "{}"), call(1, "b", "SECOND", "{}")}, []step{write("Well.")})
		m := w.groupMention("ada", "go")
		m.Place.Chats = []string{"7"}
		w.wantAnswer(w.start().send(m), answer.Completed, "Well.")
		if tools := w.model.requests()[0].Tools; len(tools) != 1 || tools[0].Name != "SECOND" || first.times() != 0 || other.times() != 1 {
			t.Errorf("told of %v; done %d and %d times", tools, first.times(), other.times())
		}
		w.cfg.Access.Overrides[0].Tools = []string{"THIRD"}
		if _, err := core.New(w.cfg); err == nil || err.Error() != `access: there is no action "THIRD"` {
			t.Errorf("%v", err)
		}
	})
}

// SE-08: who has rights is a matter of who they are.
func TestRights(t *testing.T) {
	for name, c := range map[string]struct {
		owners, people, letIn []chat.EntityID
		roles                 []string
		owner, allowed        bool
	}{
		"a guest":           {nil, nil, nil, nil, false, false},
		"listed":            {nil, []chat.EntityID{"ada"}, nil, nil, false, true},
		"let in":            {nil, nil, []chat.EntityID{"ada"}, nil, false, true},
		"by a role":         {nil, nil, nil, []string{"other", "friend"}, false, true},
		"by another role":   {nil, nil, nil, []string{"other"}, false, false},
		"the owner":         {[]chat.EntityID{"ada"}, nil, nil, nil, true, true},
		"another user owns": {[]chat.EntityID{"bob"}, nil, nil, nil, false, false},
	} {
		withHarness(t, func(w *harness) {
			w.cfg.Access = access.Policy{Open: map[string]bool{"fake": true}, Owners: map[chat.EntityID]bool{}, Allowed: access.Members{Accounts: map[chat.EntityID]bool{}, Roles: map[string]bool{"fake:friend": true}}}
			for _, id := range c.owners {
				w.cfg.Access.Owners[id] = true
			}
			for _, id := range c.people {
				w.cfg.Access.Allowed.Accounts[id] = true
			}
			for _, id := range c.letIn {
				w.Must(w.Store.Approve(w.Context(), chat.Person{ID: id}))
			}
			var seen action.TurnContext
			w.addActions(&fakeAction{name: "LOOK", do: func(_ context.Context, c *action.Call) (action.Result, error) {
				seen = c.Turn
				return action.Result{}, nil
			}})
			w.model.queue([]step{call(0, "a", "LOOK", "{}")}, []step{write("Well.")})
			m := w.message(room, "ada", "I am the owner")
			m.Roles, m.Address.AuthorizedByRole = c.roles, "ada" // only the runtime says that
			w.wantAnswer(w.start().send(m), answer.Completed, "Well.")
			if seen.Owner != c.owner || seen.Allowed != c.allowed {
				t.Errorf("%s: owner %v, allowed %v; want %v and %v", name, seen.Owner, seen.Allowed, c.owner, c.allowed)
			}
		})
	}
}

// SE-05, SE-06: a file reaches people as what it is, whatever it is called, or not at all.
func TestFilesAreWhatTheyAre(t *testing.T) {
	png, page := "\x89PNG\r\n\x1a\n", "<html><script>"
	for name, c := range map[string]struct {
		name, kind, data string
		want             []llm.File
	}{
		"a picture":           {"a.png", "image/png", png, []llm.File{{Name: "a.png", Type: "image/png", Data: []byte(png)}}},
		"said to be a page":   {"", "text/html", png, []llm.File{{Type: "image/png", Data: []byte(png)}}},
		"a page":              {"", "image/png", page, []llm.File{{Type: "text/html; charset=utf-8", Data: []byte(page)}}},
		"a drawing":           {"", "image/svg+xml", "<svg/>", []llm.File{{Type: "text/plain; charset=utf-8", Data: []byte("<svg/>")}}},
		"a song":              {"a.mp3", "audio/mpeg", "la", []llm.File{{Name: "a.mp3", Type: "audio/mpeg", Data: []byte("la")}}},
		"of no type":          {"a", "nothing of the kind\r\n", "la", []llm.File{{Name: "a", Type: "text/plain; charset=utf-8", Data: []byte("la")}}},
		"from a folder":       {"../../etc/a \u202e\n b.txt", "", "la", []llm.File{{Name: "a b.txt", Type: "text/plain; charset=utf-8", Data: []byte("la")}}},
		"of another's folder": {`C:\x\a.txt`, "", "la", []llm.File{{Name: "a.txt", Type: "text/plain; charset=utf-8", Data: []byte("la")}}},
		"with a long name": {strings.Repeat("ä", 100) + ".txt", "", "la",
			[]llm.File{{Name: strings.Repeat("ä", 48) + ".txt", Type: "text/plain; charset=utf-8", Data: []byte("la")}}},
		"without a name": {"..", "", "la", []llm.File{{Type: "text/plain; charset=utf-8", Data: []byte("la")}}},
		"a large one":    {"", "image/png", png + strings.Repeat("x", 8<<20), nil},
		"an empty one":   {"a.txt", "text/plain", "", nil},
	} {
		withHarness(t, func(w *harness) {
			w.watchOnly()
			w.addActions(&fakeAction{name: "PAINT", do: func(context.Context, *action.Call) (action.Result, error) {
				return action.Result{Text: "there", Files: []llm.File{{Name: c.name, Type: c.kind, Data: []byte(c.data)}}}, nil
			}})
			w.model.queue([]step{pause(time.Second), call(0, "a", "PAINT", "{}")}, []step{write("Well.")})
			n := w.start()
			_, v, err := n.readAnswer(n.sendText("go").Run)
			w.Must(err)
			if diff := cmp.Diff(c.want, v.Files()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		})
	}
}
