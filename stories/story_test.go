package stories_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"

	"parley"
	"parley/backends"
	"parley/backends/sqlite"
	"parley/backends/sqlite/sqlitetest"
	"parley/config"
	"parley/connectors"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/storage"
	"parley/core/storage/storagetest"
	"parley/models/modelfake"
	"parley/progressive"
	"parley/sim"
)

const (
	secretKey = "sk-story-0123456789abcdef"
	modelAt   = "model.test:80"
	webAt     = "127.0.0.1:8080"
)

// story is a whole gateway with fakes of everything around it, in a bubble where hours take milliseconds.
type story struct {
	*testing.T
	net       *sim.Net
	model     *modelfake.Server
	choose    func(modelfake.Request) modelfake.Script // what the model says where nothing is queued
	browser   *sim.Browser
	cfg       config.Config
	log       sim.Log
	events    events
	extra     sim.Evidence // what other fakes have to tell
	secrets   []string
	servers   []string                                                                // that a crash cuts off, beside the model
	looks     []func(*sim.Evidence) []string                                          // what else is wrong at the end
	openStore func(context.Context, string, backends.Options) (backends.Store, error) // in place of the usual one
	fuse      atomic.Pointer[fuse]                                                    // counts the moments between two effects; nil is none
	down      atomic.Pointer[string]                                                  // the address where connections are refused; nil is none

	node     *node
	store    atomic.Pointer[witness] // of this life, from its beginning
	mu       sync.Mutex              // guards what the stores of all lives witnessed
	accepted map[chat.MemoryID]chat.RoomID
	answers  map[chat.MemoryID]chat.RunID // what was to become of them
	deleted  []chat.MemoryID
}

// node is one life of the gateway.
type node struct {
	*parley.Gateway
	stop  context.CancelFunc
	ended chan error
	store *witness
}

// tell plays a story and checks every invariant at its end.
func tell(t *testing.T, edit func(*config.Config), play func(*story)) {
	t.Helper()
	tellIn(t, func(s *story) {
		if edit != nil {
			edit(&s.cfg)
		}
	}, play)
}

// tellIn plays a story in a world that has other things in it too: prepare adds them before the gateway starts.
func tellIn(t *testing.T, prepare, play func(*story)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &story{T: t, net: sim.NewNet(), accepted: map[chat.MemoryID]chat.RoomID{}, answers: map[chat.MemoryID]chat.RunID{}, choose: modelfake.Echo}
		s.model = modelfake.New(modelfake.Options{Key: secretKey, Choose: func(r modelfake.Request) modelfake.Script { return s.choose(r) }})
		stopModel := s.model.Serve(s.listen(modelAt))
		cfg, err := parley.DefaultConfig(func(string) (string, bool) { return "", false })
		s.must(err)
		cfg.Providers.OpenAI.BaseURL, cfg.Providers.OpenAI.APIKey = "http://model.test/v1", secretKey
		cfg.Models.Large.Model = modelfake.DefaultModel
		cfg.Store = config.DSN("sqlite:" + sqlitetest.Path(t))
		cfg.Web.Limits = config.Limits{}
		s.cfg, s.secrets = cfg, []string{secretKey}
		prepare(s)
		client := &http.Client{Transport: &http.Transport{DialContext: s.net.Dial}}
		s.browser = &sim.Browser{HTTP: client, Base: "http://" + webAt}
		s.start()
		play(s)
		s.end()
		client.CloseIdleConnections()
		stopModel()
	})
}

func (s *story) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("%v\nlog:\n%s", err, s.log.String())
	}
}

func (s *story) listen(address string) net.Listener {
	l, err := s.net.Listen("tcp", address)
	s.must(err)
	return l
}

// start lives a new life on the same store.
func (s *story) start() {
	s.Helper()
	n := &node{ended: make(chan error, 1)}
	log := slog.New(slog.NewTextHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	open := s.openStore
	if open == nil {
		open = s.openAudited
	}
	g, err := parley.Start(s.Context(), s.cfg, parley.Env{
		OpenStore: open, Listen: s.net.Listen, Dial: n.dial(s), Log: log, Observers: []event.Observer{&s.events},
		Parser: inProcess{},
		Wrap: func(st storage.Store) storage.Store {
			n.store = newWitness(s, st)
			s.store.Store(n.store)
			return n.store
		},
	})
	s.must(err)
	ctx, cancel := context.WithCancel(s.Context())
	n.Gateway, n.stop = g, cancel
	go func() { n.ended <- g.Run(ctx) }()
	s.node = n
}

// openAudited opens the store, and has the cache of SQLite compared with the file.
func (s *story) openAudited(ctx context.Context, address string, o backends.Options) (backends.Store, error) {
	if path := backends.Path(address); path != "" {
		return sqlite.Open(ctx, path, sqlitetest.Audited(s.T))
	}
	return backends.Open(ctx, address, o)
}

// dial reaches the world, while this life lasts.
func (n *node) dial(s *story) connectors.Dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if err := n.store.alive(); err != nil {
			return nil, err
		}
		if down := s.down.Load(); down != nil && *down == address {
			return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
		}
		return s.net.Dial(ctx, network, address)
	}
}

// refuse breaks all connections to address and refuses new ones, until it is called with another address.
func (s *story) refuse(address string) {
	s.down.Store(&address)
	if address != "" {
		s.net.Cut(address)
	}
}

// shutdown ends this life as SIGTERM would.
func (s *story) shutdown() {
	s.Helper()
	s.node.stop()
	s.must(<-s.node.ended)
}

// crash ends this life as SIGKILL would: from now on nothing it does has any effect on what outlives it.
func (s *story) crash() {
	s.node.store.die()
	s.net.Cut(webAt)
	for _, server := range append(s.servers, modelAt) {
		s.net.Cut(server)
	}
	s.node.stop()
	<-s.node.ended
}

// end collects the evidence and holds it against the invariants.
func (s *story) end() {
	s.Helper()
	synctest.Wait()
	e := s.extra
	e.Accepted, e.Deleted = s.witnessed()
	seen := map[chat.RunID]bool{}
	for _, room := range s.rooms() {
		recent, err := s.node.store.Recent(s.Context(), room, chat.Said, 0, 1000)
		s.must(err)
		for n := 1; n <= len(recent)+10; n++ {
			id := chat.RunID(fmt.Sprintf("%s#%d", room, n))
			if run, err := s.node.store.Run(s.Context(), id); err == nil && !seen[id] {
				seen[id] = true
				e.Runs = append(e.Runs, run)
			}
		}
	}
	e.Stored = func(id chat.MemoryID) (chat.Memory, bool) {
		m, err := s.node.store.Memory(s.Context(), id)
		return m, err == nil
	}
	e.Seen = append(e.Seen, s.browser.Seen()...)
	for _, r := range s.model.Rejected() {
		e.Refused = append(e.Refused, fmt.Sprintf("model request %d: %s", r.Number, r.Rejected))
	}
	e.Leaks = append(e.Leaks, sim.Leak("the log", s.log.String(), s.secrets...)...)
	var wrong []string
	for _, look := range s.looks {
		wrong = append(wrong, look(&e)...)
	}
	wrong = append(wrong, e.Check()...) // read before the store closes
	s.shutdown()
	for _, w := range wrong {
		s.Errorf("%s", w)
	}
	if s.Failed() {
		s.Logf("log:\n%s", s.log.String())
	}
}

// witnessed are the messages that were accepted, and those that were deleted with what was to become of them.
func (s *story) witnessed() (accepted []chat.MemoryID, deleted map[chat.MemoryID]chat.RunID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	deleted = map[chat.MemoryID]chat.RunID{}
	for _, id := range s.deleted {
		deleted[id] = s.answers[id]
	}
	return slices.Sorted(maps.Keys(s.accepted)), deleted
}

func (s *story) rooms() []chat.RoomID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Compact(slices.Sorted(maps.Values(s.accepted)))
}

// open starts a conversation on the web.
func (s *story) open() string {
	s.Helper()
	id, err := s.browser.Open(s.Context())
	s.must(err)
	s.secrets = append(s.secrets, id) // SE-20: it is all that it takes to read the conversation
	return id
}

// send says something on the web.
func (s *story) send(conversation, key, text string) *sim.Stream {
	s.Helper()
	st, err := s.browser.Send(s.Context(), conversation, key, text)
	s.must(err)
	if st.Status != http.StatusOK {
		s.Fatalf("send %q: %d %s", text, st.Status, st.Body)
	}
	return st
}

// all reads a stream to its end and returns its last frame.
func (s *story) all(st *sim.Stream) sim.Event {
	s.Helper()
	events, err := st.All()
	s.must(err)
	if len(events) == 0 || events[len(events)-1].Type != "done" {
		s.Fatalf("the stream ended without done: %v", events)
	}
	return events[len(events)-1]
}

// twoCalls is the usage of an answer with one round of calls, without its numbers of tokens, which change with the prompt.
const twoCalls = `,"usage":{"promptTokens":N,"completionTokens":N,"totalTokens":N,"model":"fake-model","provider":"openai","isEstimated":false,"llmCalls":2,"cachedTokens":N}`

var tokens = regexp.MustCompile(`Tokens":[0-9]+`)

// tokenless returns a frame without numbers of tokens.
func tokenless(raw string) string { return tokens.ReplaceAllString(raw, `Tokens":N`) }

// until reads a stream until its text holds part.
func (s *story) until(st *sim.Stream, part string) {
	s.Helper()
	for !strings.Contains(st.Text(), part) {
		_, err := st.Next()
		s.must(err)
	}
}

// witness sees what the runtime is told to be safe, and can die. It has what the gateway asks of a store of its own.
type witness struct {
	storagetest.Interceptor
	base  storage.Store
	story *story
	mu    sync.Mutex
	dead  bool
	began int // runs that this process started
}

func newWitness(s *story, base storage.Store) *witness {
	w := &witness{base: base, story: s}
	w.Interceptor = storagetest.Interceptor{Store: recorder{base, w}, Around: w.call}
	return w
}

func (w *witness) die() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead = true
}

func (w *witness) alive() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead {
		return chat.ErrCrashed
	}
	return nil
}

// effect makes one change to what outlives the process, unless it dies right before; it may die right after.
func (w *witness) effect(f func() error) error {
	if err := w.alive(); err != nil {
		return err
	}
	w.story.moment()
	if err := w.alive(); err != nil {
		return err
	}
	err := f()
	w.story.moment()
	return cmp.Or(w.alive(), err)
}

// moment is one at which the process may die.
func (s *story) moment() {
	if f := s.fuse.Load(); f != nil {
		f.moment()
	}
}

// Keep implements connectors.StateStore: what connectors store dies with the process too.
func (w *witness) Keep(ctx context.Context, name, value string) error {
	if err := w.alive(); err != nil {
		return err
	}
	return w.base.(connectors.StateStore).Keep(ctx, name, value)
}

// Swap implements connectors.SharedState.
func (w *witness) Swap(ctx context.Context, name, old, value string) (bool, error) {
	if err := w.alive(); err != nil {
		return false, err
	}
	return w.base.(connectors.SharedState).Swap(ctx, name, old, value)
}

// Kept implements connectors.StateStore.
func (w *witness) Kept(ctx context.Context, name string) (string, error) {
	return w.base.(connectors.StateStore).Kept(ctx, name)
}

// effects are the calls that change what outlives the process.
var effects = []string{
	"Accept", "Forget", "Start", "Note", "Attempt", "Finish", "Revise", "Reopen", "Ask", "Choose", "Retire", "Withdraw", "Spend", "AddReminder", "MoveReminder", "RetryRun",
}

// call makes a call of the store.
func (w *witness) call(_ context.Context, c storagetest.Call, do func() error) error {
	if slices.Contains(effects, c.Method) {
		return w.effect(do)
	}
	if c.Method == "Beat" || c.Method == "Leave" {
		if err := w.alive(); err != nil {
			return err
		}
	}
	return do()
}

// recorder records what the store has done, also if the process dies before the runtime is told.
type recorder struct {
	storage.Store
	w *witness
}

func (r recorder) Accept(ctx context.Context, m chat.Message, j chat.JoinRule) (chat.Accepted, error) {
	acc, err := r.Store.Accept(ctx, m, j)
	r.w.story.mu.Lock()
	defer r.w.story.mu.Unlock()
	if err == nil && acc.Run != "" {
		r.w.story.accepted[acc.Memory], r.w.story.answers[acc.Memory] = m.Room, acc.Run
	}
	return acc, err
}

func (r recorder) Forget(ctx context.Context, id chat.MemoryID) error {
	err := r.Store.Forget(ctx, id)
	r.w.story.mu.Lock()
	defer r.w.story.mu.Unlock()
	if err == nil {
		r.w.story.deleted = append(r.w.story.deleted, id)
	}
	return err
}

func (r recorder) Start(ctx context.Context, id chat.RunID, owner string) (chat.Run, error) {
	run, err := r.Store.Start(ctx, id, owner)
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	if err == nil {
		r.w.began++
	}
	return run, err
}

// answers reports whether the process has started a run.
func (w *witness) answers() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.began > 0
}

func (w *witness) windows() progressive.Windows { return w.base.(progressive.Windows) }

func (w *witness) BeginWindows(ctx context.Context) (progressive.SavedWindows, error) {
	return w.windows().BeginWindows(ctx)
}

func (w *witness) SaveWindows(ctx context.Context, changed []progressive.ChangedWindow, end bool) error {
	if err := w.alive(); err != nil {
		return err
	}
	return w.windows().SaveWindows(ctx, changed, end)
}

func (w *witness) WithCommits(take func() ([]progressive.ChangedWindow, func(error))) {
	w.windows().WithCommits(take)
}
