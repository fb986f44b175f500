package pacing

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/progressive"
)

// policy shows one answer of c's while it is being made, and returns when all of it is shown.
type policy struct {
	name string
	// open prepares it for a platform; show is then called for each answer.
	open func(*platform, scene) (show func(c *pacedChat, a *pacedAnswer))
}

// pacedAnswer is what is being written.
type pacedAnswer struct {
	answer.Answer
	mu     sync.Mutex
	tokens int
	over   chan struct{} // closed when all is made
}

func (a *pacedAnswer) length() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tokens
}

var policies = []policy{
	{"Parley", ours},
	{"1 s per message", func(p *platform, _ scene) func(*pacedChat, *pacedAnswer) {
		return func(c *pacedChat, a *pacedAnswer) { paced(p, c, a, time.Second, false) }
	}},
	{"40 tokens", func(p *platform, _ scene) func(*pacedChat, *pacedAnswer) {
		return func(c *pacedChat, a *pacedAnswer) { everyTokens(p, c, a, 40) }
	}},
	{"doubling on error", func(p *platform, _ scene) func(*pacedChat, *pacedAnswer) {
		return func(c *pacedChat, a *pacedAnswer) { paced(p, c, a, time.Second, true) }
	}},
}

// paced shows what there is at every tick. What is refused is tried again at the next one; doubling makes the pause
// twice as long for each refusal, up to ten seconds, and never shorter again in this answer.
func paced(p *platform, c *pacedChat, a *pacedAnswer, pause time.Duration, doubling bool) {
	shown := 0
	for {
		n, over := a.length(), closed(a.over)
		if n > shown {
			if p.call(c, n) == nil {
				shown = n
			} else if doubling {
				pause = min(2*pause, 10*time.Second)
			}
		}
		if over && shown == n {
			return
		}
		over = closed(a.over)
		select {
		case <-a.over:
			if over {
				time.Sleep(pause)
			}
		case <-time.After(pause):
		}
	}
}

// everyTokens shows what there is at every so many tokens. A refused last word is tried again each second.
func everyTokens(p *platform, c *pacedChat, a *pacedAnswer, tokens int) {
	next := tokens
	for !closed(a.over) {
		for a.length() < next && !closed(a.over) {
			_ = a.Wait(context.Background(), answer.Cursor(len(token)*a.length()))
		}
		if n := a.length(); n >= next {
			_ = p.call(c, n)
			next = n + tokens
		}
	}
	for p.call(c, a.length()) != nil {
		time.Sleep(time.Second)
	}
}

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// ours is the real thing: a message over a gate with the connector's own budgets.
func ours(p *platform, s scene) func(*pacedChat, *pacedAnswer) {
	gate := progressive.NewGate(s.budget)
	return func(c *pacedChat, a *pacedAnswer) {
		m := progressive.New(&sink{p: p, c: c, s: s}, gate, chat.Run{ID: "run"}, slog.New(slog.DiscardHandler))
		if err := m.Show(context.Background(), &a.Answer, func(chat.Shown) error { return nil }); err != nil {
			panic(err)
		}
	}
}

// sink is a chat as a connector sees it.
type sink struct {
	p *platform
	c *pacedChat
	s scene

	shown []int // tokens in each message
}

func (s *sink) Render(v answer.View, _ ...string) (parts []progressive.Part) {
	text := v.Text()
	for most := s.s.length * len(token); most > 0 && len(text) > most; text = text[most:] {
		parts = append(parts, progressive.Part{Plain: text[:most]})
	}
	return append(parts, progressive.Part{Plain: text})
}

func (s *sink) Scopes(progressive.Op) []progressive.Scope { return s.s.scopes(s.c) }

func (s *sink) Post(_ context.Context, part progressive.Part, _ string) (string, error) {
	id := strconv.Itoa(len(s.shown))
	s.shown = append(s.shown, 0)
	err := s.Edit(context.Background(), id, part)
	if err != nil {
		s.shown = s.shown[:len(s.shown)-1]
	}
	return id, err
}

func (s *sink) Edit(_ context.Context, id string, part progressive.Part) error {
	i, err := strconv.Atoi(id)
	if err != nil {
		return err
	}
	was, n := s.shown[i], 0
	s.shown[i] = len(part.Plain) / len(token)
	for _, tokens := range s.shown {
		n += tokens
	}
	if err = s.call(n); err != nil {
		s.shown[i] = was
	}
	return err
}

func (s *sink) Typing(context.Context) (time.Duration, error) { return 5 * time.Second, s.call(0) }

func (s *sink) call(n int) error {
	err := s.p.call(s.c, n)
	if r := (refusal{}); errors.As(err, &r) {
		return progressive.RetryAfter{After: r.after, Err: err}
	}
	return err
}
