// Package admin is the operator's page: live answers, people, conversations, requests, spending, health, configuration, tasks and the
// audit log, for owners and staff who log in with a one-time code or with OpenID Connect.
//
// Pages are rendered here, and work without a script; a small one follows live answers. Each page is a [route]. Its view is mostly
// tables, which are shown as HTML, CSV or JSON. A form names what to do, and is in the audit log before it is executed.
package admin

import (
	"context"
	"embed"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"time"

	"parley/config"
	"parley/connectors/web/login"
	"parley/core/access"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/quota"
	"parley/core/storage"
	"parley/core/turn"
)

// Path begins the paths of all pages.
const Path = "/admin"

const (
	maxForm  = 1 << 20 // bytes; the largest one has the text of a file
	talkPath = Path + "/talk"
)

// Store is the part of the store that the pages read.
type Store interface {
	storage.Overview
	storage.Transcripts
	storage.People
	storage.Fleet
	storage.Memories
	storage.Files
	storage.Approvals
	turn.ReceiptStore
	access.EntityStore
	Run(ctx context.Context, id chat.RunID) (chat.Run, error)
	Continuation(ctx context.Context, id chat.RunID) ([]byte, error) // see [storage.Parking]
	Room(ctx context.Context, id chat.RoomID) (chat.Room, error)
	Used(ctx context.Context, from, to string, buckets ...string) ([]quota.Total, error)
}

// Gateway is the running gateway. Where nothing else is said, errors are those of its store.
type Gateway interface {
	Watch(ctx context.Context, id chat.RunID) (*answer.Answer, error)
	StopTurns(ctx context.Context, room chat.RoomID, upTo chat.ResponseID) error
	// Approve fails with [chat.ErrNotFound] if no request has this code, or another decision was faster.
	Approve(ctx context.Context, code string) (chat.Person, error)
	// DecideCall approves or denies a call, or approves it with other arguments, and returns the result for the user, or the reason if it
	// refused the arguments. by is empty for a user without an account.
	DecideCall(ctx context.Context, approval string, to chat.Decision, arguments string, by chat.EntityID) (says string, refused bool, err error)
	// EditOf returns the arguments of a call, or nil if approvers can't change them.
	EditOf(ctx context.Context, approval string) (*chat.Edit, error)
	// Handovers returns the conversations whose users wait for a person or talk to one. HandBack gives one back to the agent, and
	// returns the result. It fails with [chat.ErrNotFound] if the request has ended.
	Handovers(ctx context.Context) ([]Handover, error)
	HandBack(ctx context.Context, request string) (string, error)
	// TakeOver gives a conversation to by, and returns the reason for a refusal. Write sends a message of the person to the user. Both fail
	// like HandBack.
	TakeOver(ctx context.Context, request string, by chat.Person) (refused string, err error)
	Write(ctx context.Context, request string, m access.PageMessage) error
	// Draft returns a draft of the agent for the user whose person is by. It fails like HandBack, and with the error of the model.
	Draft(ctx context.Context, request string, by chat.EntityID) (string, error)
	// Role returns the role of an account; "" for none.
	Role(ctx context.Context, account chat.EntityID) (Role, error)
	// Blocked returns the blocked accounts; true are those that the configuration blocks. SetBlocked changes the others.
	Blocked(ctx context.Context) (map[chat.EntityID]bool, error)
	SetBlocked(ctx context.Context, account, by chat.EntityID, blocked bool) error
	Health(ctx context.Context) []Health
	Settings() []config.Setting
	// Files returns the paths of the files with the agent's character and prompts. Edit replaces one of them, if it still is was,
	// and applies it. After an error, which names the line, nothing has changed.
	Files() []string
	Edit(ctx context.Context, file, was, text string) (needRestart []string, err error)
	Tasks() []Task
	// RunTask starts a task. It fails with [chat.ErrNotFound] or [chat.ErrUnreached] if the agent does not know its room.
	RunTask(ctx context.Context, kind, name string) error
}

// Health is the state of a part of the gateway, in a few words.
type Health struct {
	Part, State string
	OK          bool
	Connection  bool // the part is a connection to a platform
}

// Handover is a conversation whose user waits for a person, or talks to one, whose name is By.
type Handover struct {
	ID            string // of the request
	Room          chat.RoomID
	Name, Why, By string
	Person        chat.EntityID // whose name is By; empty for the operator
	Since         time.Time
	Late          bool // the person has not replied for long
}

// Task is a schedule or a hook.
type Task struct{ Kind, Name, When, Room, Text string }

// Options configures the page.
type Options struct {
	Store   Store
	Memo    login.Store // stores sessions, codes and the audit log
	Gateway Gateway
	Agent   chat.Agent
	Zone    *time.Location // of times, and of the days of spending
	OIDC    OIDC           // zero: no login with OpenID Connect
	// Fetch downloads a file of a message from the connector of its room, of at most limit bytes. It fails with [chat.ErrNotFound] and [chat.ErrTooLarge].
	Fetch func(ctx context.Context, connector string, f chat.Attachment, limit int64) (llm.File, error)
	Log   *slog.Logger
}

// Admin serves the page. It is safe for concurrent use.
type Admin struct {
	Options
	http.Handler
	sessions login.Sessions
	sso      *sso
	pages    map[string]*template.Template
	streams  chan struct{} // one for each live stream
	opened   chan struct{} // one for each file that is held
}

//go:embed pages
var files embed.FS

// New returns the page. It serves requests whose URL has the scheme and the host that the browser uses, and whose RemoteAddr is the browser's
// address.
func New(o Options) *Admin {
	a := &Admin{
		Options: o, sessions: login.Sessions{Store: o.Memo, Name: sessionsName, Lasts: sessionTime}, sso: &sso{OIDC: o.OIDC},
		pages: map[string]*template.Template{}, streams: make(chan struct{}, mostStreams), opened: make(chan struct{}, mostFiles),
	}
	for _, name := range []string{"login", "live", "page", "config", "talk"} {
		a.pages[name] = template.Must(template.New("layout.html").ParseFS(files, "pages/layout.html", "pages/"+name+".html"))
	}
	a.Handler = guarded(a.routes())
	return a
}

// guarded sets the headers of all responses, and refuses forms of other sites.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		h := rw.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "same-origin") // with no-referrer, browsers send forms with the Origin null
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		if new(http.CrossOriginProtection).Check(r) != nil {
			http.Error(rw, "Open this page on the gateway itself.", http.StatusForbidden)
			return
		}
		limit := int64(maxForm)
		if r.URL.Path == talkPath { // with a file
			limit += llm.MaxFile
		}
		r.Body = http.MaxBytesReader(rw, r.Body, limit)
		next.ServeHTTP(rw, r)
	})
}

// route is one page. Owners can open all, and staff those with their role. Those without a title are not in the menu.
type route struct {
	Path, Title string
	Role        Role
	show        func(*Admin, *visit) view
	do          func(*Admin, *visit) (said string, err error) // executes a form; nil: there is none
}

// allRoutes returns the pages, in the order of the menu.
func allRoutes() []route {
	return []route{
		{Path, "Live", Staff, (*Admin).live, (*Admin).stop},
		{Path + "/requests", "Requests", Staff, (*Admin).requests, (*Admin).decide},
		{Path + "/people", "People", Staff, (*Admin).people, (*Admin).block},
		{Path + "/runs", "Answers", Staff, (*Admin).runs, nil},
		{Path + "/review", "Review", Owner, (*Admin).review, nil},
		{Path + "/spending", "Spending", Owner, (*Admin).spending, nil},
		{Path + "/tasks", "Tasks", Owner, (*Admin).tasks, (*Admin).runTask},
		{Path + "/config", "Configuration", Owner, (*Admin).config, (*Admin).edit},
		{Path + "/health", "Health", Owner, (*Admin).health, nil},
		{Path + "/audit", "Audit log", Owner, (*Admin).auditLog, (*Admin).revoke},
		{Path + "/run", "", Staff, (*Admin).run, nil},
		{Path + "/room", "", Staff, (*Admin).room, nil},
		{talkPath, "", Staff, showTalk, doTalk},
	}
}

func (a *Admin) routes() http.Handler {
	mux := http.NewServeMux()
	for _, page := range allRoutes() {
		mux.Handle("GET "+page.Path, a.loggedIn(page, a.showPage))
		if page.do != nil {
			mux.Handle("POST "+page.Path, a.loggedIn(page, a.doForm))
		}
	}
	mux.Handle("GET "+Path+"/events", a.loggedIn(route{Role: Staff}, a.events))
	mux.Handle("GET "+Path+"/file", a.loggedIn(route{Role: Staff}, func(rw http.ResponseWriter, v *visit) { openFile(a, rw, v) }))
	mux.HandleFunc("GET "+Path+"/login", func(rw http.ResponseWriter, _ *http.Request) { a.askToLogIn(rw, http.StatusOK, "") })
	mux.HandleFunc("POST "+Path+"/login", a.logIn)
	mux.HandleFunc("POST "+Path+"/logout", a.logOut)
	mux.HandleFunc("GET "+Path+"/oidc", a.sso.begin(a))
	mux.HandleFunc("GET "+callbackPath, a.sso.end(a))
	for _, name := range []string{"admin.css", "admin.js"} {
		mux.HandleFunc("GET "+Path+"/"+name, func(rw http.ResponseWriter, r *http.Request) { http.ServeFileFS(rw, r, files, "pages/"+name) })
	}
	return mux
}

// broken answers a request that failed for a reason that a user can't mend, and logs that.
func (a *Admin) broken(rw http.ResponseWriter, what string, err error) {
	if !errors.Is(err, context.Canceled) {
		a.Log.Error("the operator's page can't "+what, "err", err)
	}
	http.Error(rw, "This can't be done right now. The log has the reason.", http.StatusInternalServerError)
}
