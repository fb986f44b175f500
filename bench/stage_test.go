//go:build linux

package bench

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"parley/connectors/telegram/telegramfake"
	"parley/models/modelfake"
)

// stage is what a bot process talks to: Telegram without limits, with people in private chats, and a model.
type stage struct {
	fake       *telegramfake.Server
	url, model string
	people     []telegramfake.User
	rooms      []telegramfake.Chat
	seats      map[int64]*seat      // by chat
	polled     chan time.Time       // when it asked for updates first
	begun      sync.Once            // for polled
	calls      atomic.Int64         // requests about a chat
	slow       atomic.Pointer[load] // answers all but instant questions
}

// seat is what a person waits for.
type seat struct {
	mu    sync.Mutex
	first time.Time // when text of a message's length was shown
	ended chan time.Time
}

const leastShown = 24 // characters; less is no first text

func newStage(b testing.TB, people int) *stage {
	s := &stage{
		fake: telegramfake.New(telegramfake.WithoutFlood()), seats: map[int64]*seat{}, polled: make(chan time.Time, 1),
	}
	for i := range people {
		u := s.fake.AddUser(fmt.Sprint("Ada ", i), "")
		c := s.fake.AddPrivate(u)
		s.people, s.rooms = append(s.people, u), append(s.rooms, c)
		s.seats[c.ID] = &seat{ended: make(chan time.Time, 1)}
	}
	server := httptest.NewServer(s)
	b.Cleanup(server.Close)
	s.url, s.model = server.URL, model(b, s.script)+"/v1"
	return s
}

// script answers instant questions at once.
func (s *stage) script(r modelfake.Request) modelfake.Script {
	if l := s.slow.Load(); l != nil && !strings.HasPrefix(r.LastUser(), "instant") {
		return l.script(r)
	}
	return modelfake.Script{modelfake.Text("There is nothing new under the sun, and so it will remain. Have a"+ending, modelfake.Whole)}
}

// ServeHTTP is Telegram's API.
func (s *stage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	method := path.Base(r.URL.Path)
	if method == "getUpdates" {
		s.begun.Do(func() { s.polled <- time.Now() })
	}
	s.fake.ServeHTTP(w, r)
	form, _ := url.ParseQuery(string(body)) // what can't be read was refused
	chat, _ := strconv.ParseInt(form.Get("chat_id"), 10, 64)
	if chat == 0 {
		return
	}
	s.calls.Add(1)
	if method == "sendMessage" || method == "editMessageText" {
		s.seats[chat].see(form.Get("text"), time.Now())
	}
}

func (s *seat) see(text string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first.IsZero() && utf8.RuneCountInString(text) >= leastShown {
		s.first = at
	}
	if strings.HasSuffix(text, ending) {
		select {
		case s.ended <- at:
		default: // shown again
		}
	}
}

// ask asks in a chat and returns when the whole answer is shown.
func (s *stage) ask(i int, text string) (read reading, err error) {
	seat := s.seats[s.rooms[i].ID]
	seat.mu.Lock()
	seat.first = time.Time{}
	seat.mu.Unlock()
	read.sent = time.Now()
	s.fake.Say(s.rooms[i], s.people[i], text)
	select {
	case read.done = <-seat.ended:
	case <-time.After(2 * time.Minute):
		return read, fmt.Errorf("no whole answer to %q", text)
	}
	seat.mu.Lock()
	defer seat.mu.Unlock()
	read.first = seat.first
	return read, nil
}

// each does it in the first n chats at once.
func (s *stage) each(n int, do func(i int) error) error {
	failed := make(chan error, n)
	for i := range n {
		go func() { failed <- do(i) }()
	}
	var all []error
	for range n {
		if err := <-failed; err != nil && len(all) < 3 {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}
