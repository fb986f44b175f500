package connectortest

import (
	"strings"
	"sync"
	"time"

	"parley/core/chat"
)

func messagesHaveOneForm(r *suiteRun) {
	direct, group := r.Direct(Ada), r.Group()
	r.Say(Ada, direct, "hello")
	pass(time.Second)
	r.Say(Bob, group, "among us")
	pass(time.Second)
	r.Mention(Ada, group, "you there")
	pass(time.Second)
	got := r.Received()
	r.want(got, "hello", "among us", "you there")
	if r.Failed() {
		return
	}
	for i, want := range []struct {
		who       User
		private   bool
		addressed bool
	}{{Ada, true, false}, {Bob, false, false}, {Ada, false, true}} {
		m := got[i]
		author := chat.EntityID(strings.Replace(r.Account(want.who), ":", "/", 1)) // as the configuration's accounts become ids
		if m.Author != author || m.Name != string(want.who) || m.Bot {
			r.Errorf("%q is by %s (%s), bot %t; want %s", m.Text, m.Author, m.Name, m.Bot, author)
		}
		if m.Place.ID != m.Room || m.Place.Kind.Private() != want.private || m.Place.Connector != r.bot.Name() {
			r.Errorf("%q was said in %+v", m.Text, m.Place)
		}
		if !want.private && m.Addressed != want.addressed {
			r.Errorf("%q is addressed to the bot: %t", m.Text, m.Addressed)
		}
		if a := m.Address; a.Connector != r.bot.Name() || a.Room != m.Room || len(a.ConnectorData) > chat.MaxOwn {
			r.Errorf("%q has the address %+v", m.Text, a)
		}
		if !strings.HasPrefix(string(m.ID), r.bot.Name()+"/") || !strings.HasPrefix(string(m.Room), r.bot.Name()+"/") {
			r.Errorf("%q is %s in %s: ids of other connectors may be the same", m.Text, m.ID, m.Room)
		}
		if m.At.IsZero() || time.Since(m.At).Abs() > time.Minute {
			r.Errorf("%q was said at %v", m.Text, m.At)
		}
	}
	if got[0].Room == got[1].Room || got[1].Room != got[2].Room || got[1].ID == got[2].ID {
		r.Errorf("rooms and ids are %v %v, %v %v, %v %v", got[0].Room, got[0].ID, got[1].Room, got[1].ID, got[2].Room, got[2].ID)
	}
}

// I1, IN-04: a redelivered message keeps its id.
func messageComesTwice(r *suiteRun) {
	direct := r.Direct(Ada)
	r.DeliverTwice(func() { r.Say(Ada, direct, "once") })
	pass(time.Minute)
	got := r.Received()
	if len(got) == 0 {
		r.Fatal("the handler got no message within a minute; want one")
	}
	for _, m := range got {
		if m.ID != got[0].ID || m.Text != "once" {
			r.Errorf("%s %q and %s %q", m.ID, m.Text, got[0].ID, got[0].Text)
		}
	}
}

// I13: messages of bots are marked, including our own.
func botsAreMarked(r *suiteRun) {
	group := r.Group()
	r.Mention(Robot, group, "beep")
	r.Mention(Self, group, "I said")
	r.Say(Self, r.Direct(Ada), "I said to Ada")
	pass(time.Minute)
	for _, m := range r.Received() {
		if !m.Bot {
			r.Errorf("%q by %s is not marked", m.Text, m.Author)
		}
	}
}

func orderWithSlowHandler(r *suiteRun) {
	r.Refuse(func(chat.Inbound) error {
		time.Sleep(3 * time.Second)
		return nil
	})
	r.sayInTwoRooms()
}

// IN-01, IN-02: a refused message is redelivered, and nothing overtakes it.
func orderWithRefusals(r *suiteRun) {
	var mu sync.Mutex
	calls := 0
	r.Refuse(func(chat.Inbound) error {
		mu.Lock()
		defer mu.Unlock()
		if calls++; calls%4 != 0 {
			return errFull
		}
		return nil
	})
	r.sayInTwoRooms()
}

func (r *suiteRun) sayInTwoRooms() {
	direct, group := r.Direct(Ada), r.Group()
	want := lines(12)
	for _, line := range want {
		r.Say(Ada, direct, line)
		r.Say(Bob, group, line)
		pass(300 * time.Millisecond)
	}
	pass(time.Hour)
	rooms := map[chat.RoomID][]chat.Message{}
	seen := map[chat.MemoryID]bool{}
	for _, m := range r.Received() {
		if !seen[m.ID] { // only first deliveries are ordered
			rooms[m.Room] = append(rooms[m.Room], m)
		}
		seen[m.ID] = true
	}
	if len(rooms) != 2 {
		r.Errorf("%d rooms; want 2", len(rooms))
	}
	for _, got := range rooms {
		r.want(got, want...)
	}
}

// Any replica can open an address at any time.
func addressOpensElsewhere(r *suiteRun) {
	group := r.Group()
	m := r.ask(group, "hello")
	another := r.connect()
	here := r.bot
	r.bot = another
	id, err := r.open(m).Post(r.Context(), r.open(m).Render(view("good day"))[0], "nonce")
	r.must(err)
	all := r.Messages(group)
	if last := all[len(all)-1]; last.ID != id || last.Text != "good day" || !last.ByBot {
		r.Errorf("posted %s, the last message is %+v", id, last)
	}
	r.bot = here
	r.must(another.Close())
}
