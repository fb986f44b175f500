package core_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/backends/inmem"
	"parley/backends/sqlite"
	"parley/backends/sqlite/sqlitetest"
	"parley/core"
	"parley/core/access"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/llm"
	"parley/internal/lang"
	"parley/internal/require"
	"parley/internal/subtest"
)

// botRelay hands what one gateway says in a group to another, as platforms do.
type botRelay struct {
	from chat.EntityID
	to   *core.Runtime
	said atomic.Int64
}

func (r *botRelay) Observe(e event.Event) {
	sent, ok := e.(event.MessageSent)
	if !ok {
		return
	}
	id := chat.MemoryID(fmt.Sprintf("%s/%d", r.from, r.said.Add(1)))
	_, _ = r.to.ProcessMessage(context.Background(), chat.Message{
		Memory:  chat.Memory{ID: id, Room: group, Author: r.from, Name: string(r.from), Text: sent.Message.Text, At: time.Now()},
		Place:   chat.Room{ID: group, Kind: chat.Group, Connector: "fake"},
		Address: chat.Address{Connector: "fake", Room: group, ReplyTo: id}, Bot: true, Addressed: true,
	})
}

// IN-05, I13: two gateways in one room, each answering the other. They fall silent by themselves, and what a person says
// then is answered again.
func TestTwoGatewaysInOneRoom(t *testing.T) {
	withHarness(t, func(w *harness) {
		store := require.Value(sqlite.Open(w.Context(), sqlitetest.Path(w), sqlitetest.Audited(w)))(w)
		defer store.Close()
		w.cfg.Access.Bots = access.BotsMention
		w.cfg.Access.Allowed.Accounts = map[chat.EntityID]bool{"ada": true, "other": true, agent: true}
		toOther, back := &botRelay{from: agent}, &botRelay{from: "other"}
		theirs := w.cfg
		theirs.Agent, theirs.Owner = chat.Agent{ID: "other", Name: "Other"}, "other"
		theirs.Store, theirs.Tracker, theirs.Bus = store, inmem.NewTracker(), inmem.NewBus()
		theirs.Models.Large, theirs.Observers = &model{}, []event.Observer{back}
		theirs.Open = func(context.Context, chat.Run) (core.Surface, error) { return nil, nil }
		other := require.Value(core.New(theirs))(w)
		ctx, cancel := context.WithCancel(w.Context())
		ended := make(chan error, 1)
		go func() { ended <- other.Run(ctx) }()
		defer func() { cancel(); w.Must(<-ended) }()
		toOther.to = other
		w.cfg.Observers = []event.Observer{toOther}
		n := w.start()
		back.to = n.Runtime
		n.sendMention("Talk to each other")
		time.Sleep(10 * time.Second)
		said := toOther.said.Load() + back.said.Load()
		if said < 3 || said > 8 {
			w.Errorf("they said %d things; want at least 3 and at most 8", said)
		}
		time.Sleep(time.Hour)
		if more := toOther.said.Load() + back.said.Load() - said; more != 0 {
			w.Errorf("%d more in an hour without a person; want none", more)
		}
		w.waitAnswer(n.sendMention("And again"))
		time.Sleep(10 * time.Second)
		if again := toOther.said.Load() + back.said.Load() - said; again < 3 || again > 8 {
			w.Errorf("then they said %d things; want at least 3 and at most 8", again)
		}
	})
}

// Bots are not answered unless they are allowed, invited, and address the agent in a group.
func TestWhichBotsAreAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		bots    access.BotAccess
		in      chat.RoomID
		author  chat.EntityID
		meant   bool
		answers bool
	}{
		"by default":         {"", group, "robot", true, false},
		"off":                {access.BotsOff, group, "robot", true, false},
		"allowed":            {access.BotsMention, group, "robot", true, true},
		"without an address": {access.BotsMention, group, "robot", false, false},
		"uninvited":          {access.BotsMention, group, "stranger", true, false},
		"in private":         {access.BotsMention, room, "robot", true, false},
		"named, aloud":       {access.BotsMention, group, "robot", false, false},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.listenToGroup()
			w.cfg.Access.Bots, w.cfg.Access.Allowed.Accounts["robot"] = c.bots, true
			n := w.start()
			m := w.message(c.in, c.author, "Agent, hello")
			m.Bot, m.Addressed = true, c.meant
			acc := n.send(m)
			if (acc.Run != "") != c.answers {
				w.Errorf("its run is %q", acc.Run)
			}
			if acc.Run != "" {
				w.waitAnswer(acc)
			}
		}))
	}
}

// IN-05: a bot never hears of a failure, which it might answer; a person does.
func TestNoFailuresForBots(t *testing.T) {
	broken := &llm.Failure{Kind: llm.NoProvider, Err: errors.New("401")}
	for name, script := range map[string][]step{
		"at once": {fails(broken)}, "after words": {write(fox), fails(broken)},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.cfg.Access.Bots, w.cfg.Access.Allowed.Accounts["robot"] = access.BotsMention, true
			n := w.start()
			for author, told := range map[chat.EntityID]bool{"robot": false, "ada": true} {
				w.model.queue(script)
				m := w.message(group, author, "Hello")
				m.Bot, m.Addressed = author == "robot", true
				o, said := w.waitAnswer(n.send(m))
				if o.Status != answer.Failed || strings.Contains(said, llm.NoProvider.Sentence(lang.Voice{})) != told {
					w.Errorf("%s: it is %+v and said %q", author, o, said)
				}
			}
			synctest.Wait()
		}))
	}
}
