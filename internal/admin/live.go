package admin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/text"
	"parley/internal/rest"
)

const (
	mostLive    = 50                     // answers that the page lists
	mostStreams = 20                     // browsers that follow them
	maxTail     = 4000                   // characters of an answer, its end
	frameEvery  = 300 * time.Millisecond // between two events
	listEvery   = 4                      // events for each look at the list of answers
	aliveEvery  = 15                     // events until the session is checked, and a line keeps an idle connection open
)

// liveRun is an answer that is being written.
type liveRun struct {
	ID       string `json:"id"`
	Room     string `json:"room"`
	Author   string `json:"author"`
	Since    string `json:"since"`
	State    string `json:"state"`
	Question string `json:"question"`
	Text     string `json:"text"`
}

// live shows the answers that are being written.
func (a *Admin) live(v *visit) (shown view) {
	for _, r := range check(a.Store.RunsSince(v.Context(), time.Time{}, chat.OpenRuns, mostLive))(v) {
		shown.Live = append(shown.Live, a.liveRun(v, r, r.Text))
	}
	return shown
}

// liveRun describes a run with its text so far.
func (a *Admin) liveRun(v *visit, r chat.Run, written string) liveRun {
	question, author := a.question(v, r)
	return liveRun{string(r.ID), a.roomName(v, r.Room), author, a.clock(r.Opened), r.State(), question, tail(written)}
}

// tail returns the end of a text.
func tail(written string) string {
	if len(written) > 4*maxTail { // at most four bytes a character
		written = written[len(written)-4*maxTail:]
	}
	if all := []rune(written); len(all) > maxTail {
		written = "…" + string(all[len(all)-maxTail:])
	}
	return text.Visible(strings.ToValidUTF8(written, ""))
}

// stop ends an answer.
func (a *Admin) stop(v *visit) (string, error) {
	run, err := a.Store.Run(v.Context(), chat.RunID(v.PostForm.Get("id")))
	if err == nil {
		err = a.Gateway.StopTurns(v.Context(), run.Room, run.Response)
	}
	return "The answer is being stopped.", err
}

// events streams the live answers, until the browser or the gateway leaves: an event has all of them, and comes when one has changed.
func (a *Admin) events(rw http.ResponseWriter, v *visit) {
	select {
	case a.streams <- struct{}{}:
		defer func() { <-a.streams }()
	default:
		rw.Header().Set("Retry-After", "10")
		http.Error(rw, "Too many browsers follow live answers. Close one.", http.StatusTooManyRequests)
		return
	}
	rw.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	rw.Header().Set("X-Accel-Buffering", "no")
	f := follower{Admin: a, watched: map[chat.RunID]*answer.Answer{}}
	n := 0
	for range rest.Every(v.Context(), frameEvery) {
		part, err := f.next(v, n)
		n++
		if err == nil && part != "" {
			if _, err = rw.Write([]byte(part)); err == nil {
				err = http.NewResponseController(rw).Flush()
			}
		}
		if err != nil {
			return // the browser connects again
		}
	}
}

// follower follows the live answers for one browser.
type follower struct {
	*Admin
	runs    []liveRun // of the last look
	watched map[chat.RunID]*answer.Answer
	last    string // event
}

// next returns the nth part of the stream, or "" if nothing has changed. It fails if the session has ended, and with the error of the store.
func (f *follower) next(v *visit, n int) (part string, err error) {
	if n%aliveEvery == 0 {
		if _, _, err := f.find(v.Request); err != nil {
			return "", err
		}
		part = ": alive\n\n"
	}
	if v.URL.Query().Has("id") {
		return f.nextTalk(v, part, n)
	}
	if n%listEvery == 0 {
		f.runs = f.live(v).Live
	}
	list, watched := []liveRun{}, map[chat.RunID]*answer.Answer{}
	for _, r := range f.runs {
		id := chat.RunID(r.ID)
		written := f.watched[id]
		if written != nil {
			if _, err := written.Changed(0); err != nil { // another process continues it, or it has ended
				written = nil
			}
		}
		if written == nil {
			written, _ = f.Gateway.Watch(v.Context(), id) // otherwise the next list is without it
		}
		if written != nil {
			r.Text, watched[id] = tail(plain(written.View())), written
			list = append(list, r)
		}
	}
	f.watched = watched
	event, err := json.Marshal(list)
	if err = cmp.Or(v.err, err); err == nil && string(event) != f.last {
		f.last = string(event)
		part += "data: " + f.last + "\n\n"
	}
	return part, err
}

// plain returns the text of an answer, with a line for each call.
func plain(v answer.View) string {
	var parts []string
	for _, s := range v.Segments {
		if s.Call != "" {
			parts = append(parts, fmt.Sprintf("[%s %s]", s.Tool.Name, s.Tool.Stage))
		}
		if s.Text != "" {
			parts = append(parts, s.Text)
		}
	}
	return strings.Join(parts, "\n\n")
}
