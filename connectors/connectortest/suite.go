package connectortest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/connectors"
	"parley/core/chat"
	"parley/internal/require"
	"parley/internal/subtest"
	"parley/progressive"
	"parley/sim"
)

// Suite is the test suite for a connector, on a platform of type W.
type Suite[W Platform] struct {
	// At is the address of the platform's server.
	At string
	// New creates the platform. It is called once per bubble.
	New func() (W, error)
	// Connect creates another process of the same bot.
	Connect func(w W, net *sim.Net) Bot
	// Budgets are the budgets of the connector's scopes, by kind.
	Budgets map[string]progressive.Budget
}

// Bot is the connector under test.
type Bot interface {
	connectors.Connector
	connectors.Poster
	Close() error
}

// Run runs each test in a bubble of its own, in which hours take milliseconds and no goroutine may be left behind.
func (s Suite[W]) Run(t *testing.T) {
	for name, play := range map[string]func(*suiteRun){
		"messages have one form":              messagesHaveOneForm,
		"a message that comes twice":          messageComesTwice,
		"messages of bots are marked":         botsAreMarked,
		"order, with a slow handler":          orderWithSlowHandler,
		"order, with a handler that refuses":  orderWithRefusals,
		"an address can be opened elsewhere":  addressOpensElsewhere,
		"an answer grows":                     answerGrows,
		"an answer of many messages":          answerOfManyMessages,
		"an answer of any length":             costGrowsLinearly,
		"holds are obeyed":                    holdsAreObeyed,
		"an answer of which nothing may stay": answerIsWithdrawn,
		"an answer with a picture":            answerWithPicture,
		"a file in place of another":          fileIsReplaced,
	} {
		t.Run(name, subtest.Of(synctest.Test, func(t *testing.T) {
			r := s.newRun(t)
			r.start()
			play(r)
			r.end()
		}))
	}
}

func (s Suite[W]) newRun(t *testing.T) *suiteRun {
	w := require.Value(s.New())(t)
	net := sim.NewNet()
	l := require.Value(net.Listen("tcp", s.At))(t)
	Serve(t, l, w.Handler())
	connect := func() Bot { return s.Connect(w, net) }
	return &suiteRun{T: t, Platform: w, connect: connect, bot: connect(), budgets: s.Budgets}
}

// suiteRun is a running bot, and the events that it delivered.
type suiteRun struct {
	*testing.T
	Platform
	connect func() Bot
	bot     Bot
	budgets map[string]progressive.Budget
	stop    context.CancelFunc
	ended   chan error
	Inbox
}

func (r *suiteRun) must(err error) {
	r.Helper()
	require.NoError(r, err)
}

func (r *suiteRun) start() {
	ctx, cancel := context.WithCancel(r.Context())
	r.stop, r.ended = cancel, make(chan error, 1)
	go func() { r.ended <- r.bot.Run(ctx, r.Handle) }()
	pass(10 * time.Second) // for the login
}

// end stops the bot, which must return nil soon (I12), and checks the platform's findings.
func (r *suiteRun) end() {
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

// ask sends a message as Ada, and returns the delivered message.
func (r *suiteRun) ask(in Room, text string) chat.Message {
	r.Helper()
	r.Mention(Ada, in, text)
	pass(time.Second)
	all := r.Received()
	if len(all) == 0 || !strings.Contains(all[len(all)-1].Text, text) {
		r.Fatalf("%q was not handed over: %v", text, all)
	}
	return all[len(all)-1]
}

// open opens the conversation of m like another process: from the stored address.
func (r *suiteRun) open(m chat.Message) progressive.Sink {
	r.Helper()
	stored, err := json.Marshal(m.Address)
	r.must(err)
	var a chat.Address
	r.must(json.Unmarshal(stored, &a))
	sink, err := r.bot.Open(r.Context(), a)
	r.must(err)
	return sink
}

// gate returns a gate with the connector's own budgets.
func (r *suiteRun) gate() progressive.Gate {
	return progressive.NewGate(func(s progressive.Scope) progressive.Budget {
		kind, _, _ := strings.Cut(string(s), "/")
		if _, known := r.budgets[kind]; !known {
			r.Errorf("scope %s has no budget", s)
		}
		return r.budgets[kind]
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

// want compares messages by the text that they contain.
func (r *suiteRun) want(got []chat.Message, texts ...string) {
	r.Helper()
	same := slices.EqualFunc(got, texts, func(m chat.Message, want string) bool { return strings.Contains(m.Text, want) })
	if !same {
		var have []string
		for _, m := range got {
			have = append(have, m.Text)
		}
		r.Errorf("handed over %q; want %q", have, texts)
	}
}
