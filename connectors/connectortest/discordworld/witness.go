package discordworld

import (
	"fmt"
	"net/http"
	"slices"

	"parley/connectors/connectortest"
	"parley/connectors/discord/discordfake"
	"parley/progressive"
	"parley/sim"
)

// route is Discord's name of a kind of request.
func route(op progressive.Op) discordfake.Route {
	return map[progressive.Op]discordfake.Route{
		progressive.Post: discordfake.CreateMessage, progressive.Edit: discordfake.EditMessage,
		progressive.Delete: discordfake.DeleteMessage, progressive.Typing: discordfake.StartTyping,
	}[op]
}

// InjectFault implements [connectortest.Weather]. No markup is refused here.
func (w *Platform) InjectFault(f connectortest.Fault) {
	var out discordfake.Fault
	html := http.Header{"Content-Type": {"text/html"}}
	switch {
	case f.Hold > 0:
		out = discordfake.TooManyRequests(discordfake.ScopeUser, f.Hold)
	case f.Lost && f.BadGateway:
		out = discordfake.RespondAfter(http.StatusBadGateway, html, "<h1>502 Bad Gateway</h1>")
	case f.Lost:
		out = discordfake.DropAfter()
	case f.Dropped:
		out = discordfake.DropBefore()
	case f.BadGateway:
		out = discordfake.Respond(http.StatusBadGateway, html, "<h1>502 Bad Gateway</h1>")
	case f.Forbidden, f.Barred:
		out = discordfake.ErrorCode(http.StatusForbidden, 50013, "Missing Permissions")
	case f.Vanished:
		out = discordfake.ErrorCode(http.StatusNotFound, 10003, "Unknown Channel")
	}
	times := 1
	if f.Barred || f.Vanished || f.Lasting {
		times = -1
	}
	out.Delay, out.DelayAnswer = f.Delay, f.Mute
	w.Fake.Fault(discordfake.Match{Route: route(f.Op), Channel: string(f.In), Skip: f.Nth, Times: times}, out)
}

// ClearFaults implements [connectortest.Weather]. The fake lifts its holds too.
func (w *Platform) ClearFaults() { w.Fake.ClearFaults() }

// Rooms implements [connectortest.Witness].
func (w *Platform) Rooms() []connectortest.Room {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := slices.Clone(w.places)
	for _, place := range w.places {
		for _, id := range w.Fake.Threads(string(place)) {
			if !slices.Contains(all, connectortest.Room(id)) {
				all = append(all, connectortest.Room(id))
			}
		}
	}
	return all
}

// Messages implements [connectortest.Witness].
func (w *Platform) Messages(in connectortest.Room) (all []connectortest.Message) {
	for _, m := range append(w.Fake.Messages(string(in)), w.Fake.Private(string(in))...) {
		out := connectortest.Message{ID: m.ID, ByBot: m.ByBot, Text: m.Content, Files: files(m.Attachments), Reactions: m.Reactions}
		for _, v := range w.Fake.History(m.ID) {
			if !v.Deleted {
				out.Versions = append(out.Versions, connectortest.Version{At: v.At, Text: v.Content, Files: files(v.Attachments)})
			}
		}
		all = append(all, out)
	}
	return all
}

func files(of []discordfake.Attachment) (all []connectortest.File) {
	for _, a := range of {
		all = append(all, connectortest.File{Name: a.Filename, Type: a.ContentType, Data: a.Data})
	}
	return all
}

// Requests implements [connectortest.Witness].
func (w *Platform) Requests() (all []sim.Request) {
	for _, q := range w.Fake.Log() {
		if !changes(q.Route) {
			continue
		}
		r := sim.Request{
			From: q.At, To: q.Done, Scope: q.Channel, Message: q.Message, Create: q.Route == discordfake.CreateMessage,
			Hold: q.RetryAfter,
		}
		if r.To.IsZero() {
			r.To = q.At
		}
		all = append(all, r)
	}
	return all
}

func changes(r discordfake.Route) bool {
	for op := progressive.Post; op <= progressive.Typing; op++ {
		if route(op) == r {
			return true
		}
	}
	return false
}

// Refused implements [connectortest.Witness].
func (w *Platform) Refused() (all []string) {
	for _, r := range w.Fake.Rejected() {
		all = append(all, fmt.Sprintf("%s %s: %s", r.Request.Method, r.Request.Path, r.Reason))
	}
	for _, q := range w.Fake.Log() {
		if q.DuringHold || q.RetryAfter > 0 && q.Fault == "" {
			all = append(all, fmt.Sprintf("%s at %v: early %t, told to wait %v", q.Route, q.At, q.DuringHold, q.RetryAfter))
		}
	}
	return all
}

// Pings implements [connectortest.Witness].
func (w *Platform) Pings() (all []string) {
	for _, p := range w.Fake.Pings() {
		all = append(all, fmt.Sprintf("%s %s in message %s", p.Kind, p.Target, p.Message))
	}
	return all
}

// Notified implements [connectortest.Observer].
func (w *Platform) Notified(in connectortest.Room) []string { return w.Fake.Notified(string(in)) }
