// Package web is the gateway's own surface: an HTTP API with live streams, and the chat page that uses it.
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
	"time"

	"parley/connectors"
	"parley/core"
	"parley/core/answer"
	"parley/core/chat"
)

// Name is how addresses and the log call this connector.
const Name = "web"

// ErrEnded says that the web chat can't be served any more.
var ErrEnded = errors.New("the web chat has ended")

// Answers is what the web needs of the runtime beyond the handler.
type Answers interface {
	// Watch is core.Runtime.Watch.
	Watch(ctx context.Context, id chat.RunID) (*answer.Answer, error)
}

// Store is what the web reads and writes itself.
type Store interface {
	core.Rooms
	Recent(ctx context.Context, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) ([]chat.Memory, error)
	Memory(ctx context.Context, id chat.MemoryID) (chat.Memory, error)
	core.Files
	OpenQuestions(ctx context.Context, room chat.RoomID) ([]chat.Question, error)
	// Known is that of core.Marks.
	Known(ctx context.Context, in chat.Memory) (chat.Accepted, error)
}

// Options is what a [Web] is made of.
type Options struct {
	Listener net.Listener
	Agent    chat.Agent
	Answers  Answers
	Store    Store
	Origins  []string       // sites that may use the API, as browsers name them; this host's own page always may
	Proxies  []netip.Prefix // whose X-Forwarded-For is believed
	Limits   Limits
	Memo     connectors.StateStore       // keeps the key with which visitors' addresses are hashed; nil: it lasts as long as the process
	Zone     *time.Location              // where the day of that key begins, which is the day of the spending limits; nil is UTC
	Ready    func(context.Context) error // for /readyz, which shows the error: in plain words, without secrets
	// Local serves programs of this machine below LocalPath, if they bring LocalToken; nil for nothing.
	Local      http.Handler
	LocalToken string
	// Suggestions are first messages that the empty page offers.
	Suggestions []string
	Log         *slog.Logger
}

// Limits bounds what one address may ask for; 0 is no limit.
type Limits struct {
	MessagesPerMinute    int
	ConversationsPerHour int
	OpenRequests         int
}

// Web is a [connectors.Connector] that people watch: it posts nothing.
type Web struct {
	opts      Options
	submit    connectors.Handler
	guard     guard
	addresses addressKey
	attempts  *limiter // requests with a message or a choice, whatever becomes of them
	messages  *limiter // those that are new
	openings  *limiter
	reads     *limiter
	places    share // requests that are open
	building  share // conversations that are being read
	replies   share // bytes of conversations that are being sent
	uploads   share // bytes of large bodies that are being read
	shelf     imageCache
	leaving   chan struct{} // closed when the gateway stops: streams end with a hint to reconnect
	streams   sync.WaitGroup
}

// New makes the web connector. It owns the listener from now on.
func New(o Options) *Web {
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	return &Web{
		opts:      o,
		guard:     newGuard(o.Listener.Addr(), o.Origins, o.Proxies, o.Log),
		addresses: addressKey{memo: o.Memo, zone: o.Zone},
		attempts:  newLimiter(o.Limits.MessagesPerMinute*attemptsPerMessage, time.Minute),
		messages:  newLimiter(o.Limits.MessagesPerMinute, time.Minute),
		openings:  newLimiter(o.Limits.ConversationsPerHour, time.Hour),
		reads:     newLimiter(o.Limits.MessagesPerMinute*readsPerMessage, time.Minute),
		places:    share{all: math.MaxInt64, each: int64(cmp.Or(o.Limits.OpenRequests, math.MaxInt))},
		building:  share{all: maxBuilding, each: maxBuilding / 2},
		replies:   share{all: maxReplies, each: 2 * maxReply},
		uploads:   share{all: maxUploads, each: 2 * maxBody},
		leaving:   make(chan struct{}),
	}
}

// Name implements connectors.Connector.
func (w *Web) Name() string { return Name }

// Run serves until ctx is done; then it ends the streams, and returns when the last request has ended. It can run once.
func (w *Web) Run(ctx context.Context, h connectors.Handler) error {
	w.submit = h
	requests, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(nil)
	srv := &http.Server{
		Handler:           w.routes(),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		IdleTimeout:       2 * time.Minute, // no WriteTimeout: it would cut streams (WB-02); each write has its own
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ErrorLog:          slog.NewLogLogger(w.opts.Log.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(w.opts.Listener) }()
	select {
	case err := <-ended:
		return connectors.Fatal{Err: fmt.Errorf("%w: %w", ErrEnded, err)}
	case <-ctx.Done():
	}
	close(w.leaving)
	grace, cancel := context.WithTimeout(requests, goodbye)
	defer cancel()
	err := srv.Shutdown(grace)
	cut(chat.ErrShutdown)
	_ = srv.Close()
	<-ended
	w.streams.Wait()
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("stop the web chat: %w", err)
	}
	return nil
}

// goodbye is how long requests may take to end when the gateway stops. Streams end at once.
const goodbye = 5 * time.Second

func (w *Web) routes() http.Handler {
	api := http.NewServeMux()
	api.HandleFunc("POST /api/conversations", w.open)
	api.HandleFunc("GET /api/conversations/{id}/messages", w.history)
	api.HandleFunc("GET /api/conversations/{id}/messages/{message}/files/{n}", w.file)
	api.HandleFunc("POST /api/conversations/{id}/messages/stream", w.send)
	api.HandleFunc("POST /api/conversations/{id}/choices/stream", w.choose)
	api.HandleFunc("POST /api/conversations/{id}/stop", w.stop)
	api.HandleFunc("DELETE /api/conversations/{id}", w.clear)
	api.HandleFunc("/api/", elsewhere(api))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", w.readyz)
	mux.Handle("/api/", w.guard.api(w.bounded(w.counted(jsonErrors(api)))))
	mux.Handle(LocalPath, w.bounded(w.local()))
	mux.Handle("/", w.bounded(w.guard.page(pages(w.opts.Agent.Name, w.opts.Suggestions))))
	return patient(w.guard.host(mux))
}

func (w *Web) readyz(rw http.ResponseWriter, r *http.Request) {
	if err := w.opts.Ready(r.Context()); err != nil {
		http.Error(rw, "not ready: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	if w.gone() {
		http.Error(rw, "not ready: the gateway is stopping", http.StatusServiceUnavailable)
		return
	}
	_, _ = rw.Write([]byte("ready\n"))
}

func (w *Web) gone() bool {
	select {
	case <-w.leaving:
		return true
	default:
		return false
	}
}
