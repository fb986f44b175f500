package stories_test

import (
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
	"parley/gatewaytest"
	"parley/internal/require"
	"parley/models/modelfake"
	"parley/progressive"
	"parley/sim"
)

const (
	secretKey = "sk-story-0123456789abcdef"
	modelAt   = "model.test:80"
	webAt     = "127.0.0.1:8080"
)

// harness is a whole gateway with fakes of everything around it, in a bubble where hours take milliseconds.
type harness struct {
	*gatewaytest.Harness
	net         *sim.Net
	model       *modelfake.Server
	choose      func(modelfake.Request) modelfake.Script // what the model says where nothing is queued
	browser     *sim.Browser
	cfg         config.Config
	badConfig   error // what a reload finds in its place
	events      eventLog
	extra       sim.Evidence // what other fakes have to tell
	secrets     []string
	servers     []string                                                                // that a crash cuts off, beside the model
	checks      []func(*sim.Evidence) []string                                          // what else is wrong at the end
	openStore   func(context.Context, string, backends.Options) (backends.Store, error) // in place of the usual one
	crashPoint  atomic.Pointer[crashPoint]                                              // counts the moments between two effects; nil is none
	unreachable atomic.Pointer[string]                                                  // the address where connections are refused; nil is none

	node     *process
	store    atomic.Pointer[recordingStore] // of the newest process
	mu       sync.Mutex                     // guards the fields below
	accepted map[chat.MemoryID]chat.RoomID
	answers  map[chat.MemoryID]chat.RunID // what was to become of them
	deleted  []chat.MemoryID
	opened   []chat.RoomID // with messages, and not cleared since
}

// process is one process of the gateway.
type process struct {
	*parley.Gateway
	*gatewaytest.Process
	store *recordingStore
}

// withGateway runs a test of a whole gateway and checks every invariant at its end.
func withGateway(t *testing.T, edit func(*config.Config), play func(*harness)) {
	t.Helper()
	withPreparedGateway(t, func(s *harness) {
		if edit != nil {
			edit(&s.cfg)
		}
	}, play)
}

// withPreparedGateway runs a test of a gateway with other fakes: prepare adds them before the gateway starts.
func withPreparedGateway(t *testing.T, prepare, play func(*harness)) {
	t.Helper()
	gatewaytest.Run(t, func(h *gatewaytest.Harness) {
		s := &harness{Harness: h, net: sim.NewNet(), accepted: map[chat.MemoryID]chat.RoomID{}, answers: map[chat.MemoryID]chat.RunID{}, choose: modelfake.Echo}
		s.model = modelfake.New(modelfake.Options{Key: secretKey, Choose: func(r modelfake.Request) modelfake.Script { return s.choose(r) }})
		defer s.model.Serve(s.listen(modelAt))() // also if the test fails: the bubble would otherwise panic, and end all tests
		cfg := require.Value(parley.DefaultConfig(func(string) (string, bool) { return "", false }))(s)
		cfg.Providers.OpenAI.BaseURL, cfg.Providers.OpenAI.APIKey = "http://model.test/v1", secretKey
		cfg.Models.Large.Model = modelfake.DefaultModel
		cfg.Store = config.DSN("sqlite:" + sqlitetest.Path(h.T))
		cfg.Web.Limits = config.Limits{}
		cfg.Turns.Buttons = false // stories of questions compare all buttons of a room
		s.cfg, s.secrets = cfg, []string{secretKey}
		prepare(s)
		client := &http.Client{Transport: &http.Transport{DialContext: s.net.Dial}}
		defer client.CloseIdleConnections()
		s.browser = &sim.Browser{HTTP: client, Base: "http://" + webAt}
		s.start()
		play(s)
		s.stopAndCheck()
	})
}

func (s *harness) listen(address string) net.Listener {
	l := require.Value(s.net.Listen("tcp", address))(s)
	return l
}

// start starts a process on the same store.
func (s *harness) start() {
	s.Helper()
	n := &process{}
	open := s.openStore
	if open == nil {
		open = s.openAudited
	}
	g, err := parley.Start(s.Context(), s.cfg, parley.Env{
		OpenStore: open, Listen: s.net.Listen, Dial: n.dial(s), Log: s.Logger(slog.LevelDebug), Load: func() (config.Config, error) { return s.cfg, s.badConfig }, Observers: []event.Observer{&s.events},
		Parser: inProcess{},
		Wrap: func(st storage.Store) storage.Store {
			n.store = newRecordingStore(s, st)
			s.store.Store(n.store)
			return n.store
		},
	})
	s.Must(err)
	n.Gateway, n.Process = g, gatewaytest.Start(s.Context(), g.Run)
	s.node, s.Store = n, n.store
}

// openAudited opens the store, and has the cache of SQLite compared with the file.
func (s *harness) openAudited(ctx context.Context, address string, o backends.Options) (backends.Store, error) {
	if path := backends.Path(address); path != "" {
		audited := sqlitetest.Audited(s.T)
		audited.Observe = o.Observe
		return sqlite.Open(ctx, path, audited)
	}
	return backends.Open(ctx, address, o)
}

// dial connects to the fakes while the process lives.
func (n *process) dial(s *harness) connectors.Dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if err := n.store.Killed(); err != nil {
			return nil, err
		}
		if down := s.unreachable.Load(); down != nil && *down == address {
			return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
		}
		return s.net.Dial(ctx, network, address)
	}
}

// refuseConnections breaks all connections to address and refuses new ones, until it is called with another address.
func (s *harness) refuseConnections(address string) {
	s.unreachable.Store(&address)
	if address != "" {
		s.net.Cut(address)
	}
}

// reload changes the configuration while the gateway runs, and returns the keys that need a restart.
func (s *harness) reload(edit func(*config.Config)) []string {
	s.Helper()
	edit(&s.cfg)
	restart := require.Value(s.node.Reload(s.Context()))(s)
	return restart
}

// shutdown stops the process as SIGTERM does.
func (s *harness) shutdown() {
	s.Helper()
	s.Must(s.node.Stop())
}

// crash stops the process as SIGKILL does: from now on it has no effect on the store or the fakes.
func (s *harness) crash() {
	s.node.store.Kill()
	s.net.Cut(webAt)
	for _, server := range append(s.servers, modelAt) {
		s.net.Cut(server)
	}
	_ = s.node.Stop()
}

// restart ends the process with a crash and starts another one.
func (s *harness) restart() {
	s.Helper()
	s.crash()
	s.start()
}

// stopAndCheck collects the evidence and checks the invariants.
func (s *harness) stopAndCheck() {
	s.Helper()
	synctest.Wait()
	e := s.extra
	e.Accepted, e.Deleted = s.acceptedAndDeleted()
	for _, room := range s.rooms() {
		recent := require.Value(s.Store.Recent(s.Context(), room, chat.Said, 0, 1000))(s)
		s.AddRuns(&e, len(recent)+10, room)
	}
	e.Seen = append(e.Seen, s.browser.Seen()...)
	for _, r := range s.model.Rejected() {
		e.Refused = append(e.Refused, fmt.Sprintf("model request %d: %s", r.Number, r.Rejected))
	}
	e.Leaks = append(e.Leaks, sim.Leak("the log", s.Logged.String(), s.secrets...)...)
	var wrong []string
	for _, look := range s.checks {
		wrong = append(wrong, look(&e)...)
	}
	wrong = append(wrong, e.Check()...) // read before the store closes
	s.shutdown()
	for _, w := range wrong {
		s.Errorf("%s", w)
	}
}

// allowDeletion leaves the messages out of the checks at the end: they are deleted, or not remembered.
func (s *harness) allowDeletion() {
	s.checks = append(s.checks, func(e *sim.Evidence) []string {
		e.Seen, e.Accepted = nil, nil
		return nil
	})
}

// acceptedAndDeleted are the messages that were accepted, and those that were deleted with what was to become of them.
func (s *harness) acceptedAndDeleted() (accepted []chat.MemoryID, deleted map[chat.MemoryID]chat.RunID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	deleted = map[chat.MemoryID]chat.RunID{}
	for _, id := range s.deleted {
		deleted[id] = s.answers[id]
	}
	return slices.Sorted(maps.Keys(s.accepted)), deleted
}

func (s *harness) rooms() []chat.RoomID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Compact(slices.Sorted(maps.Values(s.accepted)))
}

// newConversation starts a conversation on the web.
func (s *harness) newConversation() string {
	s.Helper()
	id := require.Value(s.browser.Open(s.Context()))(s)
	s.secrets = append(s.secrets, id) // SE-20: it is all that it takes to read the conversation
	return id
}

// lines are those of a conversation of the page after a reload.
func (s *harness) lines(id string) []sim.Line {
	s.Helper()
	lines := require.Value(s.browser.Reload(s.Context(), id))(s)
	return lines
}

// visitorReads returns the texts of a conversation of the page, each with a line break.
func (s *harness) visitorReads(id string) (all string) {
	s.Helper()
	for _, l := range s.lines(id) {
		all += l.Text + "\n"
	}
	return all
}

// send says something on the web.
func (s *harness) send(conversation, key, text string) *sim.Stream {
	s.Helper()
	st := require.Value(s.browser.Send(s.Context(), conversation, key, text))(s)
	if st.Status != http.StatusOK {
		s.Fatalf("send %q: %d %s; want %d", text, st.Status, st.Body, http.StatusOK)
	}
	return st
}

// readAll reads a stream to its end and returns its last frame.
func (s *harness) readAll(st *sim.Stream) sim.Event {
	s.Helper()
	events := require.Value(st.All())(s)
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

// readUntil reads a stream until its text holds part.
func (s *harness) readUntil(st *sim.Stream, part string) {
	s.Helper()
	for !strings.Contains(st.Text(), part) {
		require.Value(st.Next())(s)
	}
}

// recordingStore sees what the runtime is told to be safe, and can be killed. It has what the gateway asks of a store of its own.
type recordingStore struct {
	*gatewaytest.Faults
	*storagetest.Interceptor
	base  storage.Store
	story *harness
	mu    sync.Mutex
	began int // runs that this process started
}

func newRecordingStore(s *harness, base storage.Store) *recordingStore {
	w := &recordingStore{Faults: &gatewaytest.Faults{Around: s.countMoment}, base: base, story: s}
	w.Interceptor = w.Faults.Store(recorder{base, w})
	return w
}

// countMoment is one at which the process may die.
func (s *harness) countMoment() {
	if f := s.crashPoint.Load(); f != nil {
		f.moment()
	}
}

// Keep implements connectors.StateStore: what connectors store dies with the process too.
func (w *recordingStore) Keep(ctx context.Context, name, value string) error {
	if err := w.Killed(); err != nil {
		return err
	}
	return w.base.(connectors.StateStore).Keep(ctx, name, value)
}

// Swap implements connectors.SharedState.
func (w *recordingStore) Swap(ctx context.Context, name, old, value string) (bool, error) {
	if err := w.Killed(); err != nil {
		return false, err
	}
	return w.base.(connectors.SharedState).Swap(ctx, name, old, value)
}

// Kept implements connectors.StateStore.
func (w *recordingStore) Kept(ctx context.Context, name string) (string, error) {
	return w.base.(connectors.StateStore).Kept(ctx, name)
}

// recorder records what the store has done, also if the process dies before the runtime is told.
type recorder struct {
	storage.Store
	w *recordingStore
}

func (r recorder) Accept(ctx context.Context, m chat.Message, j chat.JoinRule) (chat.Accepted, error) {
	acc, err := r.Store.Accept(ctx, m, j)
	r.w.story.mu.Lock()
	defer r.w.story.mu.Unlock()
	if err == nil && acc.Run != "" {
		r.w.story.accepted[acc.Memory], r.w.story.answers[acc.Memory] = m.Room, acc.Run
		if !slices.Contains(r.w.story.opened, m.Room) {
			r.w.story.opened = append(r.w.story.opened, m.Room)
		}
	}
	return acc, err
}

func (r recorder) ClearEntirely(ctx context.Context, room chat.RoomID, person chat.EntityID) (int, error) {
	n, err := r.Store.ClearEntirely(ctx, room, person)
	r.w.story.mu.Lock()
	defer r.w.story.mu.Unlock()
	if err == nil {
		for id, in := range r.w.story.accepted {
			if in == room {
				r.w.story.deleted = append(r.w.story.deleted, id)
			}
		}
		r.w.story.opened = slices.DeleteFunc(r.w.story.opened, func(o chat.RoomID) bool { return o == room })
	}
	return n, err
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
func (w *recordingStore) answers() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.began > 0
}

func (w *recordingStore) windows() progressive.Windows { return w.base.(progressive.Windows) }

func (w *recordingStore) BeginWindows(ctx context.Context) (progressive.SavedWindows, error) {
	return w.windows().BeginWindows(ctx)
}

func (w *recordingStore) SaveWindows(ctx context.Context, changed []progressive.ChangedWindow, end bool) error {
	if err := w.Killed(); err != nil {
		return err
	}
	return w.windows().SaveWindows(ctx, changed, end)
}

func (w *recordingStore) WithCommits(take func() ([]progressive.ChangedWindow, func(error))) {
	w.windows().WithCommits(take)
}
