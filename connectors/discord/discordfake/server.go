package discordfake

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// Server is one Discord with one bot account. Create it with [New]; a Server
// that has served gateway connections must be closed with [Server.Close].
type Server struct {
	opts   options
	routes []endpoint
	done   chan struct{}
	wg     sync.WaitGroup // gateway connections

	mu      sync.Mutex // guards all below; never held while waiting
	closed  bool
	https   []*http.Server
	token   string // "" once the platform has reset it
	host    string // under which it was asked last
	bot     *user
	ids     snowflakes
	owner   string // of the servers that the bot is added to, see Adding
	addedBy string
	world   state
	limits  limiter
	nonces  nonceMemory
	faults  faultPlan
	journal journal
	hub     hub
	rules   houseRules
	clients string // the language of clients; en-US if empty

	interactions []*interaction
	pressAnswers []PressAnswer
	commands     map[string][]command // by guild; "" has the global ones
}

// houseRules are moderation matters that tests switch on.
type houseRules struct {
	blockedWords []string
	oldEditHold  time.Duration // 0: messages older than an hour may be edited
}

type options struct {
	token         string
	gatewayURL    string
	heartbeat     time.Duration
	answerWithin  time.Duration
	nonceWindow   time.Duration
	resumeWindow  time.Duration
	privileged    Intents
	identifies    int
	maxConcurrent int
	spent         int
	shards        int
	guildsPer     int
	spec          *Spec
}

// Option changes one property of a new [Server].
type Option func(*options)

// WithToken sets the bot's token, without the "Bot " prefix.
func WithToken(token string) Option { return func(o *options) { o.token = token } }

// WithGatewayURL sets the address that /gateway, /gateway/bot and READY hand
// out, such as "ws://127.0.0.1:8080". Without it that is the address given to
// [Server.Serve], or else the host that the request names.
func WithGatewayURL(url string) Option { return func(o *options) { o.gatewayURL = url } }

// WithHeartbeat sets the interval announced in HELLO (41.25 s if not set). A
// client that is silent for one and a half of it is closed with 4009.
func WithHeartbeat(interval time.Duration) Option {
	return func(o *options) { o.heartbeat = interval }
}

// WithAnswerTime sets how long an interaction waits for its first answer (3 s if not set, as on Discord): more, for clients on a real clock.
func WithAnswerTime(d time.Duration) Option { return func(o *options) { o.answerWithin = d } }

// WithNonceWindow sets how long a nonce is remembered. Discord says only "the
// past few minutes"; three are assumed here.
func WithNonceWindow(d time.Duration) Option { return func(o *options) { o.nonceWindow = d } }

// WithPrivileged sets which privileged intents the application was granted.
// Without it that is [IntentMessageContent] alone.
func WithPrivileged(granted Intents) Option { return func(o *options) { o.privileged = granted } }

// WithIdentifyLimit sets the session_start_limit (1000 a day, one per 5 s if
// not set).
func WithIdentifyLimit(total, maxConcurrency int) Option {
	return func(o *options) { o.identifies, o.maxConcurrent = total, maxConcurrency }
}

// WithSpentIdentifies has so many of the day's identifies spent already.
func WithSpentIdentifies(n int) Option { return func(o *options) { o.spent = n } }

// WithShards sets the number of shards that /gateway/bot recommends. Without it
// that is one for each 1000 guilds; see [Server.SetShards].
func WithShards(n int) Option { return func(o *options) { o.shards = n } }

// WithGuildLimit sets how many guilds a shard may have (2500 if not set): an
// identify for one with more is closed with 4011 (DR-20).
func WithGuildLimit(n int) Option { return func(o *options) { o.guildsPer = n } }

// WithSpec has every request compared with Discord's own description of its
// API as well. A nil spec checks nothing.
func WithSpec(spec *Spec) Option { return func(o *options) { o.spec = spec } }

// New returns a server with a bot account, no guilds and default limits.
func New(opts ...Option) *Server {
	o := options{
		token:     "fake-token",
		heartbeat: 41250 * time.Millisecond, answerWithin: answerWithin, nonceWindow: 3 * time.Minute, resumeWindow: 3 * time.Minute,
		privileged: IntentMessageContent, identifies: 1000, maxConcurrent: 1, guildsPer: 2500,
	}
	for _, opt := range opts {
		opt(&o)
	}
	now := time.Now()
	s := &Server{
		opts: o, routes: endpoints(), done: make(chan struct{}), token: o.token,
		ids: newSnowflakes(now), world: newState(), limits: newLimiter(),
		nonces: nonceMemory{}, hub: newHub(o.identifies, now), commands: map[string][]command{},
	}
	s.hub.starts.left -= o.spent
	s.bot = s.world.addUser(s.ids.next(now), "parley", true)
	return s
}

// Handler returns the server as an http.Handler for REST and gateway alike.
// Where a fault drops the connection it panics with http.ErrAbortHandler, as
// net/http expects; a test that calls it directly must expect that too.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serveHTTP) }

// Serve answers on ln until [Server.Close], and then returns
// http.ErrServerClosed. If no gateway URL was configured, ln's address is it.
func (s *Server) Serve(ln net.Listener) error {
	srv := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: time.Minute}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return http.ErrServerClosed
	}
	if s.opts.gatewayURL == "" {
		s.opts.gatewayURL = "ws://" + ln.Addr().String()
	}
	s.https = append(s.https, srv)
	s.mu.Unlock()
	return srv.Serve(ln)
}

// SetGatewayURL changes the address handed out; see [WithGatewayURL].
func (s *Server) SetGatewayURL(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opts.gatewayURL = url
}

// SetShards changes the number of shards that /gateway/bot recommends; 0 is one
// for each 1000 guilds.
func (s *Server) SetShards(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opts.shards = n
}

// Close cuts every connection, ends every [Server.Serve], and waits for the
// gateway's goroutines. What was observed stays readable.
func (s *Server) Close() {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	https := s.https
	s.https = nil
	if first {
		close(s.done)
		s.hub.cutAll()
	}
	s.mu.Unlock()
	for _, srv := range https {
		_ = srv.Close() // only the listener's error, and that is going away
	}
	s.wg.Wait()
}

// BotID is the bot's user id, and its application's.
func (s *Server) BotID() string { return s.bot.id }

// Token is the token the bot must show, without the "Bot " prefix; it is empty
// after the platform has reset it (DR-17).
func (s *Server) Token() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token
}

// pause waits on the clock, or until the server closes; it reports whether the
// whole time passed. The client's going away does not shorten it: a request
// that was sent may be applied after its sender has given up.
func (s *Server) pause(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.done:
		return false
	}
}
