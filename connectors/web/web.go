// Package web is the gateway's own chat: an HTTP API with live streams, and the page that uses it. It also serves
// hooks, probes, and programs on the same machine.
//
// A visitor opens a conversation and gets its id, which has 128 random bits. There are no accounts: the id is the
// permission to read, write and delete there. It must therefore never appear in a log; see [HideConversations].
//
// A message is a POST whose response is a stream of events (server-sent events, in the form of the elizaOS chat API).
// The message is stored before the stream begins, so a reader who disconnects loses nothing, and stops nothing: the
// same request with the same clientMessageId attaches to the same answer, on any replica. The stream follows the answer
// itself, with a cursor; nothing is queued for slow readers.
//
// Everything comes from strangers, so everything has a bound for each address: requests at a time, requests per minute,
// messages, bytes of bodies in memory, bytes of replies in memory, files. The order of the checks follows the cost:
// requests that are cheap to refuse are refused first, before their bodies are read. Rates are kept in memory, for each
// replica; the limits of spending are stored.
package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"parley/connectors"
	"parley/connectors/web/certificates"
	"parley/connectors/web/identity"
	"parley/connectors/web/login"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/storage"
)

// Name identifies this connector in addresses and logs.
const Name = "web"

// ErrEnded means that the web chat has stopped serving although the gateway has not: its listener failed.
var ErrEnded = errors.New("the web chat has ended")

// Answers gives access to running answers.
type Answers interface {
	// Watch returns the run's answer, as core.Runtime.Watch does: also that of a run in another process, or of one that
	// has not begun. Waiting on it can fail with [answer.ErrLost]; then Watch returns another one. The answer is kept
	// up to date until ctx is done.
	Watch(ctx context.Context, id chat.RunID) (*answer.Answer, error)
}

// Store is the part of the store that the web connector uses directly: to open conversations, and for the messages
// after a reload. New messages go through the handler. Its errors are those of the store.
type Store interface {
	storage.Rooms
	storage.RoomNotes
	Recent(ctx context.Context, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) ([]chat.Memory, error)
	Memory(ctx context.Context, id chat.MemoryID) (chat.Memory, error)
	storage.Files
	storage.Uploads
	OpenQuestions(ctx context.Context, room chat.RoomID) ([]chat.Question, error)
	Run(ctx context.Context, id chat.RunID) (chat.Run, error)
	// Mark is that of storage.Inbox.
	Mark(ctx context.Context, room chat.RoomID, id chat.MemoryID) (chat.Accepted, error)
	// Known is that of storage.Inbox.
	Known(ctx context.Context, in chat.Memory) (chat.Accepted, error)
}

// Options configures a [Web].
type Options struct {
	// Rated receives the ratings of answers, with their author: up, down or none, and the reason. nil: no observer does.
	Rated    func(answer chat.Memory, by chat.EntityID, rating, reason string)
	Listener net.Listener
	Agent    chat.Agent
	Answers  Answers
	Store    Store
	Origins  []string       // origins that may use the API, besides the server's own page
	Proxies  []netip.Prefix // proxies whose X-Forwarded-For is trusted
	Public   bool           // the operator lets other machines reach the chat
	Limits   Limits
	Memo     connectors.SharedState // stores the key that hashes visitors' addresses, and the owner's logins
	Zone     *time.Location         // time zone of the key's days, as of the spending limits'
	// Blocked reports whether a visitor is blocked; nil: none is.
	Blocked func(ctx context.Context, visitor chat.EntityID) (bool, error)
	Ready   func(context.Context) error // for /readyz, which shows the error to everyone: it must contain no secrets
	Limited func() string               // for /readyz: what works with limits, and why; "" for nothing, nil for never
	// Local serves programs on the same machine below LocalPath, if they send LocalToken; nil disables it.
	Local      http.Handler
	LocalToken string
	// Setup serves the page that sets the gateway up, to browsers on this machine; nil: there is none. It must ask for a secret itself.
	Setup http.Handler
	// Admin serves the operator's page at /admin; nil: there is none. It logs users in itself. Its requests have a URL with the scheme and the
	// host of the browser, and the address of the browser as RemoteAddr.
	Admin http.Handler
	// Mounts serves the paths of other connectors. They check requests themselves.
	Mounts map[string]http.Handler
	// Refuse returns why a file with that name, claimed type and beginning can't be read, in a few words for users, or "". nil accepts all.
	Refuse func(name, kind string, head []byte) string
	// Accept lists the file types that the page offers to attach, in the form of the attribute accept of HTML; none
	// offers all files.
	Accept []string
	// Thumbnail returns a small JPEG of an image, or an error if it can't be decoded. nil: there are no thumbnails.
	Thumbnail func(ctx context.Context, picture []byte) ([]byte, error)
	// Drained is closed when no answer is written any more, after the gateway was told to stop. Streams go on until then: the process is
	// the only one that can continue them. nil: streams end at once, and others continue them.
	Drained <-chan struct{}
	// Hooks are what other programs call; nil disables them.
	Hooks Hooks
	// Contact passes a visitor's message on to the owners, once for each key. It fails with [chat.ErrUnreached] if none can be reached.
	// nil: none can.
	Contact     func(ctx context.Context, c Contact) error
	ContactHook ContactHook // gets these messages too
	// Left observes each message that the owners or ContactHook have got: again, with the same key, if a browser repeats its request.
	Left func(Contact)
	// Verify asks a service whether a person uses the browser of a new anonymous visitor; the zero value asks none.
	Verify Verify
	// Site verifies the tokens of visitors with an account; nil: there are none.
	Site *identity.Site
	// RequireIdentity refuses visitors without an account or a key.
	RequireIdentity bool
	// ClaimUntil is until when conversations that were opened without a token can be read with their ids alone; zero: 30 days
	// from the first start.
	ClaimUntil time.Time
	// Agents can write to chats by themselves; nil disables them.
	Agents Agents
	// AgentFile returns the file of an address that an agent was given, once. It fails with [chat.ErrNotFound] afterwards.
	AgentFile func(ctx context.Context, id string) (llm.File, error)
	// Reasoning allows readers to ask for the reasoning of models, where that is shown.
	Reasoning bool
	// Secure serves the chat with TLS too, at listeners of its own; nil for never.
	Secure *certificates.Certificates
	// Suggestions are first messages that an empty page offers.
	Suggestions []string
	// Look is how the page looks.
	Look Look
	Log  *slog.Logger
}

// Limits bounds the requests of one address; 0 means no limit.
type Limits struct {
	MessagesPerMinute    int
	ConversationsPerHour int
	OpenRequests         int
}

// Web is a [connectors.Connector] whose readers follow the answer itself: it does not post messages. Its fields don't
// change after New. The limiters and shares have locks of their own.
type Web struct {
	*kept
	*rates
	opts      Options
	guard     guard
	private   bool // see [private]
	addresses *addressKey
	claims    *claims
	handler   http.Handler // the routes
	// broadcasts are the streams in other clients' formats.
	broadcasts *broadcasts
}

// kept is the part of a [Web] that stays when it is reloaded. Run sets submit before it serves.
type kept struct {
	submit      connectors.Handler
	latest      atomic.Pointer[Web] // serves new requests, see Reload
	sessions    login.Sessions
	logins      *limiter // attempts to log in of an address, and of all
	allLogins   *limiter
	visitors    *identity.Visitors
	keys        *identity.Ring
	wrong       *limiter // tokens that are not valid
	contacts    *limiter // messages to the owners of a visitor, and of all
	allContacts *limiter
	tickets     *tickets
	typists     *typists
	failures    *failures
	building    *share             // conversations being read
	replies     *share             // bytes of conversations being sent
	uploads     *share             // bytes of large bodies being received
	drawing     chan struct{}      // thumbnails being made
	leaving     chan struct{}      // closed when the gateway stops
	serving     context.Context    // done when streams end then, with a request to reconnect
	end         context.CancelFunc // ends serving
	streams     *sync.WaitGroup
	readers     atomic.Int64  // open streams
	deleted     chan struct{} // a conversation was deleted: see [eraser]
}

// rates limit the requests of an address or a visitor. They stay as long as their numbers do.
type rates struct {
	attempts *limiter // all requests with a message or a choice
	messages *limiter // only new messages
	openings *limiter
	reads    *limiter
	minted   *limiter // new tokens of visitors
	places   *share   // concurrent requests of an address
	desks    *share   // and of a visitor
}

func newRates(l Limits) *rates {
	return &rates{
		attempts: newLimiter(l.MessagesPerMinute*attemptsPerMessage, time.Minute),
		messages: newLimiter(l.MessagesPerMinute, time.Minute),
		openings: newLimiter(l.ConversationsPerHour, time.Hour),
		reads:    newLimiter(l.MessagesPerMinute*readsPerMessage, time.Minute),
		minted:   newLimiter(l.ConversationsPerHour, time.Hour),
		places:   &share{all: math.MaxInt64, each: int64(cmp.Or(l.OpenRequests*office, math.MaxInt))},
		desks:    &share{all: math.MaxInt64, each: int64(cmp.Or(l.OpenRequests, math.MaxInt))},
	}
}

// New returns the web connector. It takes ownership of the listener.
func New(o Options) *Web {
	k := &kept{
		sessions:    login.Sessions{Store: o.Memo},
		logins:      newLimiter(loginsEach, login.CodeTime),
		allLogins:   newLimiter(loginsAll, login.CodeTime),
		visitors:    &identity.Visitors{Store: o.Memo},
		keys:        &identity.Ring{Keys: identity.Keys{Store: o.Memo}},
		wrong:       newLimiter(wrongTokens, time.Minute),
		contacts:    newLimiter(contactsPerHour, time.Hour),
		allContacts: newLimiter(contactsOfAll, time.Hour),
		tickets:     &tickets{memo: o.Memo},
		typists:     &typists{by: map[string]map[*socket]time.Time{}},
		failures:    newFailures(o.Log),
		building:    &share{all: maxBuilding, each: maxBuilding / 2},
		replies:     &share{all: maxReplies, each: 2 * maxReply},
		uploads:     &share{all: maxUploads, each: 2 * maxBody},
		drawing:     make(chan struct{}, 1),
		leaving:     make(chan struct{}),
		streams:     &sync.WaitGroup{},
		deleted:     make(chan struct{}, 1),
	}
	k.serving, k.end = context.WithCancel(context.Background())
	w := newWeb(o, k, newRates(o.Limits))
	w.latest.Store(w)
	return w
}

// newWeb returns a connector with parts that it shares with others.
func newWeb(o Options, k *kept, r *rates) *Web {
	w := &Web{
		kept: k, rates: r, opts: o, private: private(o),
		guard:      newGuard(o.Listener.Addr(), o.Origins, o.Proxies, o.Log),
		addresses:  &addressKey{memo: o.Memo, zone: o.Zone},
		claims:     &claims{memo: o.Memo, until: o.ClaimUntil},
		broadcasts: &broadcasts{},
	}
	w.guard.verify = o.Verify
	w.handler = w.routes()
	return w
}

// Reload serves later requests with other options. Requests in progress, and streams, continue with theirs. The
// listener, Secure, the store, Local, LocalToken, Drained and Mounts stay. Counted requests are forgotten if the limits change.
func (w *Web) Reload(o Options) {
	o.Listener, o.Secure, o.Store, o.Memo, o.Local, o.LocalToken, o.Drained, o.Mounts = w.opts.Listener, w.opts.Secure, w.opts.Store, w.opts.Memo, w.opts.Local, w.opts.LocalToken, w.opts.Drained, w.opts.Mounts
	last := w.latest.Load()
	r := last.rates
	if last.opts.Limits != o.Limits {
		r = newRates(o.Limits)
	}
	w.latest.Store(newWeb(o, w.kept, r))
}

// Readers returns the number of open streams.
func (k *kept) Readers() int64 { return k.readers.Load() }

// reading counts an open stream until done is called.
func (k *kept) reading() (done func()) {
	k.streams.Add(1)
	k.readers.Add(1)
	return func() {
		k.readers.Add(-1)
		k.streams.Done()
	}
}

// Name implements connectors.Connector.
func (w *Web) Name() string { return Name }

// Run serves until ctx is done; then it ends the streams, see [Options], and returns when the last request has ended. It can only run
// once, because it owns the listener. Every failure to serve is a [connectors.Fatal].
func (w *Web) Run(ctx context.Context, h connectors.Handler) error {
	w.submit = h
	requests, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(nil)
	srv := &http.Server{
		Handler:           http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.latest.Load().handler.ServeHTTP(rw, r) }),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		IdleTimeout:       2 * time.Minute, // no WriteTimeout, which would cut streams; each write has its own deadline
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ErrorLog:          slog.NewLogLogger(w.opts.Log.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 1)
	endTLS, err := w.opts.Secure.Serve(ctx, srv, ended)
	if err != nil {
		return connectors.Fatal{Err: fmt.Errorf("%w: %w", ErrEnded, err)}
	}
	defer endTLS()
	go func() { ended <- srv.Serve(w.opts.Listener) }()
	var erasing sync.WaitGroup
	defer erasing.Wait()
	open, stop := context.WithCancel(ctx)
	defer stop()
	erasing.Go(func() { eraser{door{w}}.eraseDeleted(open) })
	select {
	case err := <-ended:
		_ = srv.Close() // the other listeners
		return connectors.Fatal{Err: fmt.Errorf("%w: %w", ErrEnded, err)}
	case <-ctx.Done():
	}
	close(w.leaving)
	// New requests are refused from now on.
	shut := make(chan error, 1)
	go func() { shut <- srv.Shutdown(requests) }()
	if w.opts.Drained != nil {
		<-w.opts.Drained
	}
	// Streams end with a request to reconnect, by themselves. Other requests have a few seconds to end, and then their
	// context is cancelled and their connections are closed.
	w.end()
	late := time.AfterFunc(goodbye, func() { cut(chat.ErrShutdown) })
	defer late.Stop()
	err = <-shut
	w.streams.Wait() // the server does not wait for sockets
	cut(chat.ErrShutdown)
	_ = srv.Close()
	<-ended
	if err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("stop the web chat: %w", err)
	}
	return nil
}

// wrongTokens is the number of tokens per minute and address that are not valid before the address has to wait.
const wrongTokens = 60

// goodbye is how long requests may take to end after the streams.
const goodbye = 5 * time.Second

// routes returns the handler of all requests. From the outside in: deadlines for writes, the checks of the host name
// and the address, and for the API the origin, the requests at a time, and the reads per minute. Probes have none but the first.
func (w *Web) routes() http.Handler {
	api, table := http.NewServeMux(), endpoints(w)
	for _, e := range table {
		api.HandleFunc(e.route, e.serve)
	}
	checked := w.guard.api(w.bounded(door{w}.identified(w.counted(api))))
	mux := http.NewServeMux()
	for _, path := range apiPaths() {
		mux.Handle(path, checked)
	}
	for _, e := range probes(w) {
		mux.HandleFunc(e.route, e.serve)
		table = append(table, e)
	}
	description := http.NewServeMux()
	description.Handle("GET "+openapiPath, file(openapi(table), "application/json; charset=utf-8"))
	mux.Handle(openapiPath, inForm(w.bounded(description), ownForm))
	mux.Handle(LocalPath, w.bounded(w.local()))
	mux.Handle(SetupPath, w.bounded(nearbySetup(w.opts.Setup)))
	mux.Handle(adminPath, w.bounded(door{w}.operators(w.opts.Admin)))
	mux.Handle(adminPath+"/", w.bounded(door{w}.operators(w.opts.Admin)))
	pages := w.guard.page(pages(w.opts), w.opts.Look.Avatar)
	mux.Handle("/", inForm(w.bounded(pages), ownForm))
	for _, path := range []string{tryPath, tryPath + ".js", tryPath + ".css"} {
		mux.Handle(path, w.bounded(w.trial(pages)))
	}
	all := http.NewServeMux()
	all.Handle("/", w.guard.host(legible(mux)))
	for path, h := range w.opts.Mounts {
		all.Handle(path, h)
	}
	return patient(formed(all))
}

// readyz reports whether the gateway can accept messages. It fails as soon as the gateway stops, so that a load
// balancer sends new requests elsewhere.
func (w *Web) readyz(rw http.ResponseWriter, r *http.Request) {
	if err := w.opts.Ready(r.Context()); err != nil {
		http.Error(rw, "not ready: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	if isClosed(w.leaving) {
		http.Error(rw, "not ready: the gateway is stopping", http.StatusServiceUnavailable)
		return
	}
	if w.opts.Limited != nil {
		if text := w.opts.Limited(); text != "" {
			_, _ = rw.Write([]byte("ready, with limits: " + text + "\n"))
			return
		}
	}
	_, _ = rw.Write([]byte("ready\n"))
}

// isClosed reports whether a channel is closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
