package replicas

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/progressive"
	"parley/progressive/progressivetest"
)

// nonceWindow is how long a nonce is good.
const nonceWindow = 2 * time.Minute

// platform is where answers are posted, in several rooms.
type platform struct {
	mu       sync.Mutex
	requests map[chat.RoomID]int
	posts    []*post
}

// post is one message of the agent.
type post struct {
	id, nonce string
	room      chat.RoomID
	turn      chat.ResponseID
	at        time.Time
	text      string
	by        string // who wrote that
	offer     *answer.Choices
	gone      bool
}

// sink is the conversation of one run, as one process reaches it.
type sink struct {
	*progressivetest.Chat // renders
	p                     *process
	run                   chat.Run
}

// plain has no nonces; a last word of unknown fate is sent once more, marked.
type plain struct{ sink }

// nonced repeats a create safely, as long as a nonce is good. After that it is like plain.
type nonced struct{ sink }

var (
	_ progressive.Editor      = plain{}
	_ progressive.Deleter     = plain{}
	_ progressive.Typer       = plain{}
	_ progressive.Resender    = plain{}
	_ progressive.NonceKeeper = nonced{}
	_ progressive.Resender    = nonced{}
)

func newSink(p *process, r chat.Run, nonces bool) progressive.Sink {
	s := sink{&progressivetest.Chat{Max: maxLength, Resend: true}, p, r}
	if nonces {
		return nonced{s}
	}
	return plain{s}
}

// maxLength is the limit of a message, in bytes.
const maxLength = 200

// NonceWindow implements [progressive.NonceKeeper].
func (nonced) NonceWindow() time.Duration { return nonceWindow }

// Scopes implements [progressive.Sink].
func (s sink) Scopes(progressive.Op) []progressive.Scope {
	return []progressive.Scope{progressive.Scope("chat/" + string(s.run.Room)), "bot"}
}

func budget(s progressive.Scope) progressive.Budget {
	if s == "bot" {
		return progressive.Budget{N: 30, Per: time.Second}
	}
	return progressive.Budget{N: 5, Per: 5 * time.Second}
}

// Post implements [progressive.Sink].
func (s sink) Post(ctx context.Context, part progressive.Part, nonce string) (string, error) {
	return request(ctx, s, progressive.Post, func() (string, error) {
		return s.p.w.platform.create(s, part, nonce)
	})
}

// Edit implements [progressive.Editor].
func (s sink) Edit(ctx context.Context, id string, part progressive.Part) error {
	_, err := request(ctx, s, progressive.Edit, func() (string, error) {
		return id, s.p.w.platform.change(id, func(m *post) { m.text, m.by, m.offer = textOf(part), s.p.name, part.Offer })
	})
	return err
}

// Delete implements [progressive.Deleter].
func (s sink) Delete(ctx context.Context, id string) error {
	_, err := request(ctx, s, progressive.Delete, func() (string, error) {
		return id, s.p.w.platform.change(id, func(m *post) { m.gone = true })
	})
	return err
}

// Typing implements [progressive.Typer].
func (s sink) Typing(ctx context.Context) (time.Duration, error) {
	_, err := request(ctx, s, progressive.Typing, func() (string, error) { return "", nil })
	return 5 * time.Second, err
}

func textOf(p progressive.Part) string {
	if p.Text != "" {
		return p.Text
	}
	return p.Plain
}

// request makes one request. What it changed is logged with the time at which it was asked for.
func request(ctx context.Context, s sink, op progressive.Op, apply func() (string, error)) (string, error) {
	e := event{from: time.Now(), by: s.p.name, what: requested, room: s.run.Room, turn: s.run.Response, epoch: s.run.Epoch, op: op, control: s.run.Kind.OutOfBand()}
	s.p.w.log.obeys(e)
	refused := false
	id, err := reach(ctx, s.p, call{toPlatform, op.String(), string(s.run.ID), op != progressive.Typing, 200 * time.Millisecond}, func() (id string, err error) {
		if refused = s.p.w.platform.refuses(s); refused {
			return "", progressive.RetryAfter{Scope: s.Scopes(op)[0], After: 4 * time.Second, Err: errors.New("too many requests")}
		}
		id, err = apply()
		e.to, e.message = time.Now(), id
		s.p.w.log.add(e)
		return id, err
	})
	switch {
	case errors.Is(err, errRefused):
		return "", fmt.Errorf("%w: %w", progressive.ErrUnsent, err)
	case errors.Is(err, errLost), errors.Is(err, chat.ErrCrashed):
		s.p.w.log.doubt(s.run.ID)
		return "", fmt.Errorf("%w: %w", progressive.ErrAmbiguous, err)
	case refused:
		s.p.w.log.held(e, 4*time.Second)
	}
	return id, err
}

// refuses reports whether the platform wants fewer requests, which it does now and then.
func (c *platform) refuses(s sink) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests[s.run.Room]++
	return c.requests[s.run.Room]%37 == 12
}

func (c *platform) create(s sink, part progressive.Part, nonce string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.run.Address.Connector == noNonces {
		nonce = ""
	}
	for _, m := range c.posts {
		if nonce != "" && m.nonce == nonce && time.Since(m.at) < nonceWindow {
			if m.gone {
				return "", progressive.ErrGone
			}
			return m.id, nil
		}
	}
	m := &post{id: fmt.Sprintf("m%d", len(c.posts)+1), nonce: nonce, room: s.run.Room, turn: s.run.Response, at: time.Now(), text: textOf(part), by: s.p.name, offer: part.Offer}
	c.posts = append(c.posts, m)
	return m.id, nil
}

func (c *platform) change(id string, change func(*post)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.posts {
		if m.id == id && !m.gone {
			change(m)
			return nil
		}
	}
	return progressive.ErrGone
}

// shown returns the messages of a turn that people see, oldest first.
func (c *platform) shown(room chat.RoomID, turn chat.ResponseID) (all []post) {
	return c.visible(func(m post) bool { return m.room == room && m.turn == turn })
}

func (c *platform) visible(is func(post) bool) (all []post) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.posts {
		if !m.gone && is(*m) {
			all = append(all, *m)
		}
	}
	return all
}
