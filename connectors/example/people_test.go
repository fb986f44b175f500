package example_test

import (
	"maps"
	"slices"
	"strings"
	"time"

	"parley/connectors/connectortest"
	"parley/sim"
)

const lounge connectortest.Room = "lounge"

func (w *fakeServer) Account(who connectortest.User) string {
	return "example:" + strings.ToLower(string(who))
}

func (w *fakeServer) Direct(who connectortest.User) connectortest.Room {
	return connectortest.Room(strings.ToLower(string(who)))
}

func (w *fakeServer) Group() connectortest.Room { return lounge }

func (w *fakeServer) Say(from connectortest.User, in connectortest.Room, text string) {
	w.say(from, in, text, false)
}

func (w *fakeServer) Mention(from connectortest.User, in connectortest.Room, text string) {
	w.say(from, in, text, true)
}

func (w *fakeServer) say(from connectortest.User, in connectortest.Room, text string, mention bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.add(in, connectortest.Message{ByBot: from == connectortest.Self})
	m.set(content{Text: text})
	w.tell(map[string]any{
		"id": m.ID, "room": in, "private": in != lounge, "author": strings.ToLower(string(from)), "name": from, "bot": from == connectortest.Self || from == connectortest.Robot,
		"mention": mention, "text": text, "at": time.Now(),
	})
}

// tell adds an event. The lock is held.
func (w *fakeServer) tell(e map[string]any) {
	w.number++
	e["number"] = w.number
	w.events = append(w.events, e)
	close(w.news)
	w.news = make(chan struct{})
}

func (w *fakeServer) DeliverTwice(say func()) {
	say()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tell(maps.Clone(w.events[len(w.events)-1]))
}

// Example tells its bots of messages only.
func (w *fakeServer) SendFile(connectortest.User, connectortest.Room, string, connectortest.File) {}
func (w *fakeServer) Reply(connectortest.User, connectortest.Room, connectortest.Message, string) {}
func (w *fakeServer) Edit(connectortest.Room, connectortest.Message, string)                      {}
func (w *fakeServer) React(connectortest.User, connectortest.Room, connectortest.Message, string, bool) {
}
func (w *fakeServer) Remove(connectortest.Room, connectortest.Message) {}
func (w *fakeServer) LoseFiles()                                       {}
func (w *fakeServer) SlowFiles(time.Duration)                          {}
func (w *fakeServer) Pings() []string                                  { return nil }
func (w *fakeServer) Notified(connectortest.Room) []string             { return nil }

func (w *fakeServer) InjectFault(f connectortest.Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, f)
}

func (w *fakeServer) ClearFaults() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = nil
}

func (w *fakeServer) Rooms() []connectortest.Room {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.rooms))
}

func (w *fakeServer) Messages(in connectortest.Room) (all []connectortest.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.rooms[in] {
		l := m.Message
		l.Versions = slices.Clone(l.Versions)
		all = append(all, l)
	}
	return all
}

func (w *fakeServer) Requests() []sim.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.requests)
}

func (w *fakeServer) Refused() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.refused)
}
