// Package telegramfake is a Telegram Bot API server for tests: it speaks the real protocol, refuses what the real
// server refuses, records every request, and shows what users would see. It holds one bot and any number of chats.
//
// A [Server] is an http.Handler for a real or an in-memory listener. It reads the clock only during a request or a call
// of the test, and makes its timers and channels then, so that it works in a testing/synctest bubble. All methods are
// safe for concurrent use.
//
// The rules follow the official documentation and the behavior of the published server; the Bot API level is 10.3.
package telegramfake

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// Server is one bot's view of Telegram.
type Server struct {
	token    string
	bot      User
	readAll  bool
	topics   bool
	idleJump bool
	spec     *Spec
	methods  map[string]method

	mu        sync.Mutex
	revoked   bool
	luck      *rand.Rand
	users     map[int64]*User
	chats     map[int64]*chat
	files     map[string]*file // by file_id
	nextUser  int64
	nextGroup int64
	nextBoxID int // message ids of private chats and basic groups come from one counter
	queue     queue
	webhook   webhook
	commands  map[string][]Command
	profile   map[string]string // texts by field and language
	callbacks map[string]time.Time
	answered  []CallbackAnswer
	flood     Flood
	botBudget bucket
	faults    []*armed
	log       []*Request
	rejected  []Rejection
	notified  []*message
}

// Option changes a new [Server].
type Option func(*Server)

// WithReadAllGroupMessages disables the bot's privacy mode, as its owner does at BotFather (TR-27).
func WithReadAllGroupMessages() Option { return func(s *Server) { s.readAll = true } }

// WithFlood replaces [DefaultFlood].
func WithFlood(f Flood) Option { return func(s *Server) { s.flood = f } }

// WithoutFlood disables the budgets; a 429 of a [Fault] still holds its chat.
func WithoutFlood() Option { return WithFlood(Flood{}) }

// WithIdleJump lets update ids restart at a random lower number after a week without updates (TR-18).
func WithIdleJump() Option { return func(s *Server) { s.idleJump = true } }

// WithSpec also checks every request against the machine-readable specification.
func WithSpec(spec *Spec) Option { return func(s *Server) { s.spec = spec } }

// WithSeed seeds the random update ids: the first one and those after an idle week.
func WithSeed(seed uint64) Option {
	return func(s *Server) { s.luck = rand.New(rand.NewPCG(seed, seed)) }
}

// DefaultToken is the only token that is accepted.
const DefaultToken = "4200000001:AAFakeFakeFakeFakeFakeFakeFakeFake_0"

// New returns a server whose bot has no chats. Privacy mode is on and [DefaultFlood] applies.
func New(opts ...Option) *Server {
	s := &Server{
		token:     DefaultToken,
		bot:       User{ID: 4200000001, FirstName: "Parley", Username: "parley_bot"},
		luck:      rand.New(rand.NewPCG(1, 1)),
		users:     map[int64]*User{},
		chats:     map[int64]*chat{},
		nextUser:  100001,
		nextGroup: 5001,
		commands:  map[string][]Command{},
		profile:   map[string]string{},
		callbacks: map[string]time.Time{},
		flood:     DefaultFlood(),
	}
	for _, o := range opts {
		o(s)
	}
	s.bot.IsBot = true
	s.users[s.bot.ID] = &s.bot
	s.queue.next = 500_000_000 + s.luck.Int64N(100_000_000)
	s.queue.allowed = defaultUpdates()
	s.methods = s.table()
	return s
}

// Bot returns the bot's account.
func (s *Server) Bot() User { return s.bot }

// Token returns the accepted token.
func (s *Server) Token() string { return s.token }

// Revoke invalidates the token: every further request gets a 401.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = true
}

func (s *Server) accepts(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return token == s.token && !s.revoked
}

var _ http.Handler = (*Server)(nil)
