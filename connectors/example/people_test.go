package example_test

import (
	"maps"
	"slices"
	"strings"
	"time"

	"parley/connectors/connectortest"
	"parley/sim"
)

const lounge connectortest.Place = "lounge"

func (w *world) Account(who connectortest.Who) string {
	return "example:" + strings.ToLower(string(who))
}

func (w *world) Direct(who connectortest.Who) connectortest.Place {
	return connectortest.Place(strings.ToLower(string(who)))
}

func (w *world) Group() connectortest.Place { return lounge }

func (w *world) Say(from connectortest.Who, in connectortest.Place, text string) {
	w.say(from, in, text, false)
}

func (w *world) Mention(from connectortest.Who, in connectortest.Place, text string) {
	w.say(from, in, text, true)
}

func (w *world) say(from connectortest.Who, in connectortest.Place, text string, mention bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.add(in, connectortest.Line{Own: from == connectortest.Self})
	m.set(content{Text: text})
	w.tell(map[string]any{
		"id": m.ID, "room": in, "private": in != lounge, "author": strings.ToLower(string(from)), "name": from, "bot": from == connectortest.Self || from == connectortest.Robot,
		"mention": mention, "text": text, "at": time.Now(),
	})
}

// tell adds an event. The lock is held.
func (w *world) tell(e map[string]any) {
	w.number++
	e["number"] = w.number
	w.events = append(w.events, e)
	close(w.news)
	w.news = make(chan struct{})
}

func (w *world) Twice(say func()) {
	say()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tell(maps.Clone(w.events[len(w.events)-1]))
}

// Example tells its bots of messages only.
func (w *world) Show(connectortest.Who, connectortest.Place, string, connectortest.File)        {}
func (w *world) Reply(connectortest.Who, connectortest.Place, connectortest.Line, string)       {}
func (w *world) Edit(connectortest.Place, connectortest.Line, string)                           {}
func (w *world) React(connectortest.Who, connectortest.Place, connectortest.Line, string, bool) {}
func (w *world) Remove(connectortest.Place, connectortest.Line)                                 {}
func (w *world) LoseFiles()                                                                     {}
func (w *world) SlowFiles(time.Duration)                                                        {}
func (w *world) Pings() []string                                                                { return nil }

func (w *world) Spoil(f connectortest.Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, f)
}

func (w *world) ClearFaults() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = nil
}

func (w *world) Places() []connectortest.Place {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.rooms))
}

func (w *world) Sees(in connectortest.Place) (all []connectortest.Line) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.rooms[in] {
		l := m.Line
		l.Versions = slices.Clone(l.Versions)
		all = append(all, l)
	}
	return all
}

func (w *world) Requests() []sim.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.requests)
}

func (w *world) Refused() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.refused)
}
