package main

import (
	"bytes"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"time"

	"parley/internal/lang"
)

// sabotage makes the gateway look broken, so that the soak must fail. The zero value does nothing.
type sabotage struct {
	front func(http.Handler) http.Handler   // between the gateways and Telegram
	say   func(w *environment, q *question) // in place of asking q on a chat platform
	kills func([]kill)                      // changes the record of the kills
}

// sabotages returns the kinds by name.
func sabotages() map[string]sabotage {
	return map[string]sabotage{
		"lose":   {say: loseSome},                                           // some questions get no answer
		"excuse": {say: excuseSome},                                         // the same, and the agent says that too many wait
		"swap":   {say: swapSome()},                                         // some questions are answered in the wrong order
		"double": {front: sometimes("sendMessage", 5, sendTwice)},           // some messages come twice
		"cut":    {front: sometimes("editMessageText", 1, withoutLastWord)}, // the end of answers is missing
		"blame":  {kills: blameNext},                                        // kills are attributed to another replica
		"tame":   {kills: tame},                                             // kills are attributed to SIGTERM
	}
}

const someOf = 8 // one of that many questions is spoiled

func loseSome(w *environment, q *question) {
	if rand.IntN(someOf) > 0 {
		q.say()
	}
}

func excuseSome(w *environment, q *question) {
	if rand.IntN(someOf) > 0 {
		q.say()
		return
	}
	if q.room.platform != telegram {
		return
	}
	form := url.Values{"chat_id": {q.room.name}, "text": {lang.Voice{}.Say("message.excuse")}}
	post := httptest.NewRequest("POST", "/bot"+w.telegram.Token()+"/sendMessage", strings.NewReader(form.Encode()))
	post.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w.telegram.ServeHTTP(httptest.NewRecorder(), post)
}

// swapSome asks some questions only after the next one of their room.
func swapSome() func(*environment, *question) {
	held := map[*room]*question{}
	return func(w *environment, q *question) {
		w.mu.Lock()
		before := held[q.room]
		delete(held, q.room)
		if hold := before == nil && rand.IntN(3) == 0; hold {
			held[q.room] = q
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		q.say()
		if before != nil {
			time.Sleep(time.Second) // so that they arrive in this order
			before.say()
		}
	}
}

// sometimes applies spoil to one of n requests to a method of Telegram.
func sometimes(method string, n int, spoil func(http.Handler, http.ResponseWriter, *http.Request, []byte)) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, "/"+method) || rand.IntN(n) > 0 {
				h.ServeHTTP(w, r)
				return
			}
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return // it was not sent completely
			}
			spoil(h, w, r, body)
		})
	}
}

func sendTwice(h http.Handler, w http.ResponseWriter, r *http.Request, body []byte) {
	again := r.Clone(r.Context())
	again.Body = io.NopCloser(bytes.NewReader(body))
	h.ServeHTTP(httptest.NewRecorder(), again)
	r.Body = io.NopCloser(bytes.NewReader(body))
	h.ServeHTTP(w, r)
}

func withoutLastWord(h http.Handler, w http.ResponseWriter, r *http.Request, body []byte) {
	r.Body = io.NopCloser(bytes.NewReader(bytes.ReplaceAll(body, []byte("end."), []byte("...."))))
	h.ServeHTTP(w, r)
}

// blameNext attributes each kill to the replica after the killed one.
func blameNext(kills []kill) {
	replicas := map[int]bool{}
	for _, k := range kills {
		replicas[k.replica] = true
	}
	all := slices.Sorted(maps.Keys(replicas))
	for i, k := range kills {
		kills[i].replica = all[(slices.Index(all, k.replica)+1)%len(all)]
	}
}

func tame(kills []kill) {
	for i := range kills {
		kills[i].orderly = true
	}
}
