package connectortest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/connectors"
	"parley/core"
	"parley/progressive"
	"parley/sim"
)

// Suite is what a platform must pass.
type Suite struct {
	// New makes a platform whose server listens on net. It is called once in each bubble.
	New func(t *testing.T, net *sim.Net) Platform
}

// Platform is a connector and the world that it speaks to.
type Platform interface {
	World
	// Connect makes another process of the one bot.
	Connect() Bot
	// Budgets are those of the connector's scopes, by kind.
	Budgets() map[string]progressive.Budget
}

// Bot is what is tested.
type Bot interface {
	connectors.Connector
	connectors.Poster
	Close() error
}

// Run plays each story in a bubble of its own, in which hours take milliseconds and no goroutine may be left behind.
func (s Suite) Run(t *testing.T) {
	for name, play := range map[string]func(*rig){
		"messages have one form":              messagesHaveOneForm,
		"a message that comes twice":          messageComesTwice,
		"messages of bots are marked":         botsAreMarked,
		"order, with a slow handler":          orderWithSlowHandler,
		"order, with a handler that refuses":  orderWithRefusals,
		"an address can be opened elsewhere":  addressOpensElsewhere,
		"an answer grows":                     answerGrows,
		"an answer of many messages":          answerOfManyMessages,
		"holds are obeyed":                    holdsAreObeyed,
		"an answer of which nothing may stay": answerIsWithdrawn,
		"an answer with a picture":            answerWithPicture,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net := sim.NewNet()
				r := &rig{T: t, Platform: s.New(t, net)}
				r.bot = r.Connect()
				r.start()
				play(r)
				r.end()
			})
		})
	}
}

// rig is a bot at work, and what it handed over.
type rig struct {
	*testing.T
	Platform
	bot   Bot
	stop  context.CancelFunc
	ended chan error

	mu   sync.Mutex
	got  []core.Inbound
	take func(core.Inbound) error // what the handler says first; nil takes everything
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) start() {
	ctx, cancel := context.WithCancel(r.Context())
	r.stop, r.ended = cancel, make(chan error, 1)
	go func() { r.ended <- r.bot.Run(ctx, r.handle) }()
	pass(10 * time.Second) // to log in
}

// end stops the bot, which returns nil, soon (I12), and looks at what the world says of it.
func (r *rig) end() {
	r.Helper()
	begun := time.Now()
	r.stop()
	if err := <-r.ended; err != nil {
		r.Errorf("Run returned %v", err)
	}
	if took := time.Since(begun); took > 10*time.Second {
		r.Errorf("Run took %v to end", took)
	}
	r.must(r.bot.Close())
	evidence := sim.Evidence{Requests: r.Requests(), Refused: r.Refused()}
	for _, wrong := range evidence.Check() {
		r.Error(wrong)
	}
	for _, ping := range r.Pings() {
		r.Error("I11:", ping)
	}
	r.Platform.Close()
}

func (r *rig) handle(_ context.Context, in core.Inbound) (core.Accepted, error) {
	r.mu.Lock()
	take := r.take
	r.mu.Unlock()
	if take != nil {
		if err := take(in); err != nil {
			return core.Accepted{}, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, in)
	return core.Accepted{}, nil
}

func (r *rig) takes(f func(core.Inbound) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.take = f
}

// messages are those that were handed over so far.
func (r *rig) messages() (all []core.Message) {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, in := range r.got {
		if m, ok := in.(core.Message); ok {
			all = append(all, m)
		}
	}
	return all
}

// ask lets Ada write, and returns what was handed over.
func (r *rig) ask(in Place, text string) core.Message {
	r.Helper()
	r.Mention(Ada, in, text)
	pass(time.Second)
	all := r.messages()
	if len(all) == 0 || !strings.Contains(all[len(all)-1].Text, text) {
		r.Fatalf("%q was not handed over: %v", text, all)
	}
	return all[len(all)-1]
}

// open opens the conversation of m, as another process would: from what was stored.
func (r *rig) open(m core.Message) progressive.Sink {
	r.Helper()
	stored, err := json.Marshal(m.Address)
	r.must(err)
	var a core.Address
	r.must(json.Unmarshal(stored, &a))
	sink, err := r.bot.Open(r.Context(), a)
	r.must(err)
	return sink
}

// gate keeps the connector's own budgets.
func (r *rig) gate() progressive.Gate {
	budgets := r.Budgets()
	return progressive.NewGate(func(s progressive.Scope) progressive.Budget {
		kind, _, _ := strings.Cut(string(s), "/")
		if _, known := budgets[kind]; !known {
			r.Errorf("scope %s has no budget", s)
		}
		return budgets[kind]
	})
}

func pass(d time.Duration) {
	time.Sleep(d) // in a bubble: moves its clock
	synctest.Wait()
}

var errFull = errors.New("the store is down")

func lines(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("line %02d", i))
	}
	return all
}

// want compares the texts of messages, by what they contain.
func (r *rig) want(got []core.Message, texts ...string) {
	r.Helper()
	same := slices.EqualFunc(got, texts, func(m core.Message, want string) bool { return strings.Contains(m.Text, want) })
	if !same {
		var have []string
		for _, m := range got {
			have = append(have, m.Text)
		}
		r.Errorf("handed over %q; want %q", have, texts)
	}
}
