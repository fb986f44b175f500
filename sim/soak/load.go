package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"

	"parley/models/modelfake"
)

const (
	telegram = "telegram"
	discord  = "discord"
	web      = "web"
)

// room is a place where questions are asked.
type room struct {
	platform, name string
	every          time.Duration // the approximate time between questions
	most           int           // the length of a message; 0 if there is no limit
	say            func(text string)
	own            func() []message // the agent's messages there
	taken          chan struct{}    // on the web: the gateway has received the question
}

// question is asked once, and has a unique answer.
type question struct {
	id     string
	room   *room
	answer string
	asked  time.Time

	// On the web:
	done   bool   // its stream has ended
	read   string // the final text of the stream
	broken string // a violation in the stream
	ended  time.Time
}

// say asks q on a chat platform.
func (q *question) say() { q.room.say("Please tell me about " + q.id) }

var questionID = regexp.MustCompile(`q[0-9]{4}`)

// ask starts asking in all rooms until ctx is done.
func (w *environment) ask(ctx context.Context) {
	for _, r := range w.rooms {
		w.work.Go(func() {
			for sleep(ctx, r.every) {
				q := w.question(r)
				switch {
				case r.platform == web:
					w.askOnPage(q)
				case w.sabotage.say != nil:
					w.sabotage.say(w, q)
				default:
					q.say()
				}
			}
		})
	}
}

// sleep waits for half to one and a half of d.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d/2 + rand.N(d))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// question creates a new question.
func (w *environment) question(r *room) *question {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := fmt.Sprintf("q%04d", len(w.questions)+1)
	words := []string{"About " + id + ":"}
	for i := range w.length(r) {
		words = append(words, fmt.Sprintf("%s.%02d", id, i))
	}
	q := &question{id: id, room: r, answer: strings.Join(words, " ") + " end.", asked: time.Now()}
	w.questions = append(w.questions, q)
	return q
}

// length returns how many words a new answer has. Now and then, it has more than one message of the platform can hold.
func (w *environment) length(r *room) int {
	const bytes = len("q0001.000 ")
	if r.most > 0 && w.luck.Float64() < w.o.long {
		return (r.most + w.luck.IntN(r.most+1)) / bytes * 11 / 10
	}
	return 3 + w.luck.IntN(40)
}

// write is the model: it answers the last question in the prompt, word by word.
func (w *environment) write(r modelfake.Request) modelfake.Script {
	ids := questionID.FindAllString(r.LastUser(), -1)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, q := range w.questions {
		if len(ids) == 0 || q.id != ids[len(ids)-1] {
			continue
		}
		w.calls[q.id]++
		words := time.Duration(strings.Count(q.answer, " ") + 1)
		takes := w.o.answer/10 + time.Duration(w.luck.Int64N(int64(w.o.answer*9/10)))
		return modelfake.Script{modelfake.Pace(takes / words), modelfake.Text(q.answer, modelfake.ByWord)}
	}
	return modelfake.Script{modelfake.Text("I was asked nothing.")}
}

// settle waits until every question has its answer and ten more seconds have passed, for at most the given time. It
// returns how long the answers took.
func (w *environment) settle(ctx context.Context, most time.Duration) (took time.Duration) {
	start, calm := time.Now(), 0
	for calm < 10 && time.Since(start) < most && ctx.Err() == nil {
		time.Sleep(time.Second)
		if calm++; !w.answered() {
			calm, took = 0, time.Since(start)
		}
	}
	return took
}

// answered reports whether every question has its whole answer, or its author was asked to repeat it.
func (w *environment) answered() bool {
	for _, v := range w.views() {
		if slices.ContainsFunc(v.questions, v.missing) {
			return false
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return !slices.ContainsFunc(w.questions, func(q *question) bool { return q.room.platform == web && !q.done })
}
