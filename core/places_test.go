package core_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/core"
	"parley/core/access"
	"parley/core/action"
	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/require"
	"parley/internal/subtest"
)

// placed runs tests in which one answer is written at a time, in total and for each person, and which use every way in which a run can
// wait for people.
type placed struct {
	*harness
	n     *process
	room  chat.RoomID // of the current test, new each time
	acc   chat.Accepted
	m     chat.Message
	count int
	gone  bool // the next conversation can't be opened
}

// The kinds of runs, by how people or programs begin them. Those that ask a model are told how the run is to end by the question's text.
var beginnings = map[string]func(p *placed, end string){
	"a question": func(p *placed, end string) { p.says(end) },
	"a decision": func(p *placed, end string) {
		p.m = p.message(p.room, "ada", end)
		p.m.Place.Kind = chat.Group
		p.acc = p.n.send(p.m)
	},
	"a retry": func(p *placed, end string) {
		p.says("Answer")
		p.waitAnswer(p.acc)
		p.says("/retry")
		p.says(end)
	},
	"an edited question": func(p *placed, end string) {
		p.says("Answer")
		p.waitAnswer(p.acc)
		p.n.edit(p.m, end)
	},
	"a task": func(p *placed, end string) {
		p.acc = p.n.startTask(chat.Task{Room: p.room, Text: end, Key: string(p.room)})
	},
	"a notice": func(p *placed, _ string) {
		p.acc = p.n.sendNotice(chat.Notice{To: chat.Address{Room: p.room}, Text: "It rains.", Ask: &chat.Question{
			Options: []string{"Yes", "No"}, For: []chat.EntityID{"ada"}, Handler: "test"}})
	},
	"/new":    func(p *placed, _ string) { p.says("/new") },
	"/model":  func(p *placed, _ string) { p.says("/model") },
	"/status": func(p *placed, _ string) { p.says("/status") },
}

// modelless are the endings of runs that ask no model; the others would be the same again.
var modelless = map[string]bool{"Answer": true, "Choose": true, "Offer": true, "Stop": true, "Supersede": true, "Delete": true, "Clear": true, "Unreachable": true}

// The ways in which a run can end, by what happens after it has begun.
var endings = map[string]func(p *placed){
	"Answer":      nil,
	"Fail":        nil,
	"Hang":        func(p *placed) { time.Sleep(6 * time.Minute) },
	"Choose":      func(p *placed) { p.presses(0) },
	"Unanswered":  func(p *placed) { time.Sleep(6 * time.Minute) },
	"Offer":       func(p *placed) { p.presses(1) },
	"Ask aside":   func(p *placed) { p.presses(1) },
	"Approve":     func(p *placed) { p.presses(0) },
	"Deny":        func(p *placed) { p.presses(1) },
	"Expire":      func(p *placed) { time.Sleep(6 * time.Minute) },
	"Stop":        func(p *placed) { p.n.stopAnswer(p.room) },
	"Wait, stop":  func(p *placed) { p.n.stopAnswer(p.room) },
	"Supersede":   func(p *placed) { p.says("Answer") },
	"Edit":        func(p *placed) { p.n.edit(p.m, "Answer") },
	"Delete":      func(p *placed) { p.n.remove(p.m) },
	"Clear":       func(p *placed) { p.n.deliver(chat.Cleared{Room: p.room}) },
	"Unreachable": nil,
}

func (p *placed) says(text string) {
	p.m = p.message(p.room, "ada", text)
	p.acc = p.n.send(p.m)
	synctest.Wait()
}

// presses chooses an option of each open question in the room.
func (p *placed) presses(option int) {
	time.Sleep(5 * time.Second)
	synctest.Wait()
	open := require.Value(p.Store.OpenQuestions(p.Context(), p.room))(p)
	for _, q := range open {
		p.n.deliver(chat.Choice(pressed(q, option)))
	}
}

// answers is what the model does for a question: the text decides.
func (p *placed) answers(r llm.Request) []step {
	last := r.Messages[len(r.Messages)-1]
	act := map[string]string{"Choose": "CHOOSE", "Unanswered": "CHOOSE", "Offer": "OFFER", "Ask aside": "ASIDE",
		"Approve": "ORDER", "Deny": "ORDER", "Expire": "ORDER", "Wait, stop": "ORDER"}
	for text, name := range act {
		if strings.HasSuffix(last.Text, text) && last.Call == "" {
			return []step{write(fox), call(0, "a", name, fmt.Sprintf(`{"in":%q}`, p.room))}
		}
	}
	switch {
	case strings.Contains(r.System, "RESPOND") || strings.Contains(last.Text, "RESPOND"):
		return []step{write("RESPOND")}
	case strings.HasSuffix(last.Text, "Fail"):
		return []step{fails(errors.New("the model is away"))}
	case strings.HasSuffix(last.Text, "Hang"):
		return []step{write(fox), pause(time.Hour)}
	}
	return []step{write(fox), pause(4 * time.Second), write(" Done.")}
}

// rests waits until no run of the current test is open.
func (p *placed) rests() {
	for range 600 {
		time.Sleep(time.Second)
		synctest.Wait()
		if open, err := p.Store.OpenRuns(p.Context(), p.room); err == nil && len(open) == 0 {
			return
		}
	}
	p.Fatalf("runs of %s are still open", p.room)
}

// probe fails unless exactly one of two answers is written at a time, as before.
func (p *placed) probe(story string) {
	p.count++
	before := len(p.model.requests())
	first, second := p.n.askIn(fmt.Sprintf("fake/probe%d", p.count), "ada"), p.n.askIn(fmt.Sprintf("fake/other%d", p.count), "ada")
	if asked := len(p.model.requests()) - before; asked != 1 {
		p.Fatalf("after %s %d answers are written at the same time; want 1", story, asked)
	}
	p.waitAnswer(first)
	p.waitAnswer(second)
}

// Every kind of run, however it ends, takes at most one place of the limits on parallel answers, once, and gives it back, once.
func TestEveryPlaceIsGivenBack(t *testing.T) {
	for kind, begin := range beginnings {
		t.Run(kind, subtest.Of(withHarness, func(w *harness) {
			p := &placed{harness: w}
			p.prepare()
			for end, happens := range endings {
				if !modelless[end] && (kind == "a notice" || strings.HasPrefix(kind, "/")) {
					continue
				}
				p.count++
				p.room, p.gone = chat.RoomID(fmt.Sprint("fake/", p.count)), false
				p.says("/help") // it is known from now on
				p.gone = end == "Unreachable"
				begin(p, end)
				time.Sleep(time.Second)
				if happens != nil {
					happens(p)
				}
				p.rests()
				p.probe(kind + " with " + end)
			}
			w.chat.forgetSeen()
			w.accepted = nil // some were deleted
		}))
	}
}

// prepare starts a process whose actions ask people in every way.
func (p *placed) prepare() {
	ask := func(c string) func(context.Context, *action.Call) (action.Result, error) {
		return func(ctx context.Context, call *action.Call) (action.Result, error) {
			q := chat.Question{Options: []string{"Yes", "No"}, Handler: c}
			if c != "" {
				return action.Result{Text: "asked", Last: c == action.AsMessage}, call.Ask(ctx, q)
			}
			chosen, err := call.Choose(ctx, "Which?", q)
			return action.Result{Text: fmt.Sprint(chosen.Choice)}, err
		}
	}
	p.addActions(&fakeAction{name: "CHOOSE", do: ask("")}, &fakeAction{name: "OFFER", do: ask(action.AsMessage)}, &fakeAction{name: "ASIDE", do: ask("test")})
	p.cfg.Plugins = append(p.cfg.Plugins, action.Plugin{Name: "choosers", ChoiceHandlers: []action.ChoiceHandler{&chooser{says: "Skipped."}}})
	p.withShop()
	p.cfg.Models.Chat = []llm.Named{{Name: "main", Model: p.model}, {Name: "fast", Model: p.model}}
	p.cfg.Access.Switch.Direct = true
	p.listenToGroup()
	p.cfg.Access.Direct, p.cfg.Parallel, p.cfg.Total = access.DirectOpen, 1, 1
	p.cfg.Turns.Limit, p.cfg.Approval = 5*time.Minute, 5*time.Minute
	p.model.respond = p.answers
	open := p.cfg.Open
	p.cfg.Open = func(ctx context.Context, r chat.Run) (core.Surface, error) {
		if p.gone && r.Room == p.room && r.Kind != chat.RunCommand {
			return nil, chat.ErrUnreached
		}
		return open(ctx, r)
	}
	p.n = p.start()
}
