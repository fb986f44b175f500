package telegramworld

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"parley/connectors/connectortest"
	"parley/connectors/telegram/telegramfake"
	"parley/progressive"
	"parley/sim"
)

// method is the Bot API's name of a kind of request.
func method(op progressive.Op) string {
	return map[progressive.Op]string{
		progressive.Post: "sendMessage", progressive.Edit: "editMessageText", progressive.Delete: "deleteMessage",
		progressive.Typing: "sendChatAction", progressive.Draft: "sendMessageDraft",
	}[op]
}

// posts are the methods that post a file.
var posts = []string{"sendPhoto", "sendAudio", "sendVoice", "sendDocument"}

// replace shows another file in its place.
const replace = "editMessageMedia"

// InjectFault implements [connectortest.Weather].
func (w *Platform) InjectFault(f connectortest.Fault) {
	out := telegramfake.Fault{
		Method: method(f.Op), Nth: f.Nth + 1, Delay: f.Delay, DelayAnswer: f.Mute, RetryAfter: int(f.Hold / time.Second),
		Drop: (f.Lost || f.Dropped) && !f.BadGateway, Apply: f.Lost, ParseError: f.Markup,
	}
	if f.In != "" {
		out.Chat = Chat(f.In).ID
	}
	if f.BadGateway {
		out.Status = http.StatusBadGateway
	}
	if f.Lasting {
		out.Times = -1
	}
	switch {
	case f.Refused:
		out.Times, out.Status = -1, http.StatusBadRequest
		out.Body = `{"ok":false,"error_code":400,"description":"Bad Request: MESSAGE_WEIGHT_INVALID"}`
	case f.Barred:
		out.Times, out.Status = -1, http.StatusForbidden
		out.Body = `{"ok":false,"error_code":403,"description":"Forbidden: bot was kicked from the supergroup chat"}`
	case f.Vanished:
		out.Times, out.Status = -1, http.StatusBadRequest
		out.Body = `{"ok":false,"error_code":400,"description":"Bad Request: chat not found"}`
	}
	if f.Forbidden {
		out.Status, out.Body = http.StatusBadRequest, `{"ok":false,"error_code":400,"description":"Bad Request: not enough rights to send documents to the chat"}`
	}
	if !f.File {
		w.Fake.Fault(out)
		return
	}
	methods := posts
	if f.Op == progressive.Edit {
		methods = []string{replace}
	}
	for _, out.Method = range methods {
		w.Fake.Fault(out)
	}
}

// ClearFaults implements [connectortest.Weather].
func (w *Platform) ClearFaults() { w.Fake.ClearFaults() }

// Rooms implements [connectortest.Witness].
func (w *Platform) Rooms() []connectortest.Room {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.places)
}

// Messages implements [connectortest.Witness].
func (w *Platform) Messages(in connectortest.Room) (all []connectortest.Message) {
	for _, m := range w.Fake.Messages(Chat(in)) {
		if m.Service != "" {
			continue
		}
		out := connectortest.Message{ID: idOf(m), ByBot: m.From.ID == w.Fake.Bot().ID, Text: m.Text, Files: files(m.Upload), Reactions: m.Reactions}
		for _, v := range w.Fake.History(m) {
			out.Versions = append(out.Versions, connectortest.Version{At: v.At, Text: v.Text, Files: files(v.Upload)})
		}
		all = append(all, out)
	}
	return all
}

func files(u *telegramfake.Upload) []connectortest.File {
	if u == nil {
		return nil
	}
	return []connectortest.File{{Name: u.Name, Type: u.Type, Data: u.Data}}
}

// Requests implements [connectortest.Witness].
func (w *Platform) Requests() (all []sim.Request) {
	for _, q := range w.Fake.Log() {
		if !charged(q.Method) || q.Chat == 0 {
			continue
		}
		r := sim.Request{
			From: q.At, To: q.Ended, Scope: string(place(q.Chat)), Create: q.Method == method(progressive.Post) || slices.Contains(posts, q.Method),
			Hold: time.Duration(q.RetryAfter) * time.Second,
		}
		if r.To.IsZero() {
			r.To = q.At
		}
		if n, err := strconv.Atoi(q.Params["message_id"]); err == nil {
			r.Message = messageID(q.Chat, n)
		} else if q.Message != 0 {
			r.Message = messageID(q.Chat, q.Message)
		}
		all = append(all, r)
	}
	return all
}

func charged(name string) bool {
	for op := progressive.Post; op <= progressive.Draft; op++ {
		if method(op) == name {
			return true
		}
	}
	return name == replace || slices.Contains(posts, name)
}

// Refused implements [connectortest.Witness].
func (w *Platform) Refused() (all []string) {
	for _, r := range w.Fake.Rejected() {
		all = append(all, fmt.Sprintf("%s %v: %s", r.Method, r.Params, r.Reason))
	}
	for _, q := range w.Fake.Log() {
		if q.Early || q.RetryAfter > 0 && q.Fault == "" {
			all = append(all, fmt.Sprintf("%s to %d at %v: early %t, told to wait %d s", q.Method, q.Chat, q.At, q.Early, q.RetryAfter))
		}
	}
	return all
}

// Pings implements [connectortest.Witness]. A mention of a person who has written into the chat was asked for.
func (w *Platform) Pings() (all []string) {
	for _, p := range w.Fake.Pings() {
		if !p.Asked {
			all = append(all, fmt.Sprintf("%q (%d) in %d", p.Name, p.User, p.Chat))
		}
	}
	return all
}

// Notified implements [connectortest.Observer].
func (w *Platform) Notified(in connectortest.Room) []string { return w.Fake.Notified(Chat(in).ID) }
