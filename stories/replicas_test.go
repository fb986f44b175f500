package stories_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/jackc/pgx/v5"

	"parley"
	"parley/backends/postgres/postgrestest"
	"parley/backends/redis/redistest"
	"parley/config"
	"parley/config/configtest"
	"parley/connectors/telegram"
	"parley/connectors/telegram/telegramfake"
	"parley/core/storage"
	"parley/gatewaytest"
	"parley/internal/require"
	"parley/models/modelfake"
	"parley/sim"
)

// replicas are gateways on one PostgreSQL and one Redis, on real sockets and a real clock, before one Telegram.
type replicas struct {
	*gatewaytest.Harness
	*telegramChat
	cfg      config.Config
	database *postgrestest.Server
	redis    *redistest.Server
	nodes    []*replica
}

type replica struct {
	*sim.Browser
	store *recordingStore
	log   *sim.Log
	end   func()
	cut   context.CancelFunc // ends its connections to the database, to platforms and models
}

// kill ends n without another word to the store, the platforms and its readers: what it holds ends in its time.
func (n *replica) kill() {
	n.store.Kill()
	n.cut()
	n.end()
}

// startReplicas starts n gateways with a policy for messages that come while an answer is written.
func startReplicas(t *testing.T, n int, turns config.TurnRule, model http.Handler, change ...func(*config.Config)) *replicas {
	t.Helper()
	r := &replicas{Harness: gatewaytest.New(t), database: postgrestest.Start(t), redis: redistest.Start(t)}
	r.cfg = postgresConfig(t, r.database.Create(t, ""), model)
	r.cfg.Shared = config.DSN(r.redis.URL())
	r.cfg.Access.Direct, r.cfg.Turns.Direct = "open", turns
	r.telegramChat = newTelegramChat(t, &r.cfg)
	for _, change := range change {
		change(&r.cfg)
	}
	for range n {
		r.start()
	}
	t.Cleanup(func() {
		for _, n := range r.nodes {
			n.end()
		}
	})
	return r
}

func (r *replicas) start() *replica {
	r.Helper()
	n := &replica{}
	h := gatewaytest.New(r.T)
	n.log = h.Logged
	connected, cut := context.WithCancel(context.Background())
	n.cut = cut
	cfg := r.cfg
	cfg.Store = config.DSN(strings.Replace(cfg.Store.Reveal(), r.database.Address(), cable(connected, r.T, r.database.Address()), 1))
	g, end := startGateway(r.T, cfg, parley.Env{
		Log: h.Logger(slog.LevelInfo),
		Wrap: func(s storage.Store) storage.Store {
			n.store = newKillableStore(r.T, s)
			return n.store
		},
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			if err == nil {
				context.AfterFunc(connected, func() { _ = conn.Close() })
			}
			return conn, errors.Join(err, connected.Err())
		},
	})
	n.end = sync.OnceFunc(end)
	n.Browser = &sim.Browser{HTTP: http.DefaultClient, Base: "http://" + g.Addr().String()}
	r.nodes = append(r.nodes, n)
	return n
}

// waitUntil waits for at most a minute. What a dead replica held is taken by another within about 20 s.
func (r *replicas) waitUntil(what string, is func() bool) {
	r.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.Fatalf("not seen: %s; Telegram shows %q", what, r.answers())
		}
	}
}

// lease is a right that a replica holds, and its fencing token.
type lease struct {
	name, owner string
	token       int64
}

// leases are those that have not ended, by their names.
func (r *replicas) leases() (all []lease) {
	r.Helper()
	db := require.Value(pgx.Connect(r.Context(), r.cfg.Store.Reveal()))(r)
	defer db.Close(context.Background())
	rows, err := db.Query(r.Context(), "SELECT name, owner, token FROM leases WHERE ends > extract(epoch FROM clock_timestamp()) * 1000000000 ORDER BY name")
	r.Must(err)
	var l lease
	_, err = pgx.ForEachRow(rows, []any{&l.name, &l.owner, &l.token}, func() error {
		all = append(all, l)
		return nil
	})
	r.Must(err)
	return all
}

// recordedMessages counts the messages that the store knows of the answers under way.
func (r *replicas) recordedMessages() (n int) {
	r.Helper()
	store := r.nodes[0].store
	rooms := require.Value(store.OpenRooms(r.Context()))(r)
	for _, room := range rooms {
		runs := require.Value(store.OpenRuns(r.Context(), room))(r)
		for _, run := range runs {
			for _, shown := range run.Shown {
				if shown.ID != "" {
					n++
				}
			}
		}
	}
	return n
}

// telegramChat is the direct chat of a user with the bot.
type telegramChat struct {
	telegram *telegramfake.Server
	user     telegramfake.User
	chat     telegramfake.Chat
}

// newTelegramChat turns the connector of Telegram on, with a server of its own.
func newTelegramChat(t *testing.T, cfg *config.Config) *telegramChat {
	c := &telegramChat{telegram: telegramfake.New()}
	api := httptest.NewServer(c.telegram)
	t.Cleanup(api.Close)
	c.user = c.telegram.AddUser("Tess", "")
	c.chat = c.telegram.AddPrivate(c.user)
	section := configtest.Section[telegram.Config](cfg.Connectors)
	section.Token, section.APIURL = config.Secret(c.telegram.Token()), api.URL
	return c
}

// answers are the agent's messages on Telegram.
func (c *telegramChat) answers() (all []string) {
	for _, m := range c.telegram.Messages(c.chat) {
		if m.From.ID == c.telegram.Bot().ID {
			all = append(all, m.Text)
		}
	}
	return all
}

// I5: a message that arrives on another replica ends the answer to the earlier one, and a reader there sees an answer while it is
// written here.
func TestReplicasShareRooms(t *testing.T) {
	const first, second = "This is the first answer, which takes its time, word by word.", "This is the second answer."
	r := startReplicas(t, 2, "supersede", modelfake.New(modelfake.Options{Choose: func(q modelfake.Request) modelfake.Script {
		if strings.Contains(q.LastUser(), "two") {
			return modelfake.Script{modelfake.Text(second)}
		}
		return modelfake.Script{modelfake.Pace(300 * time.Millisecond), modelfake.Text(first, modelfake.ByWord), modelfake.Stall()}
	}}))
	a, b := r.nodes[0], r.nodes[1]
	conversation, err := a.Open(t.Context())
	r.Must(err)
	here, err := a.Send(t.Context(), conversation, "one", "one")
	r.Must(err)
	defer here.Close()
	there, err := b.Send(t.Context(), conversation, "one", "one") // the page, reloaded from the other replica
	r.Must(err)
	defer there.Close()
	for !strings.Contains(there.Text(), "takes its") {
		require.Value(there.Next())(r)
	}
	begun := time.Now()
	next, err := b.Send(t.Context(), conversation, "two", "two")
	r.Must(err)
	defer next.Close()
	for {
		e := require.Value(here.Next())(r)
		if e.Type == "done" {
			break
		}
	}
	t.Logf("the earlier answer ended %v after the newer message", time.Since(begun))
	_, err = next.All()
	r.Must(err)
	if next.Text() != second {
		t.Errorf("the newer message is answered with %q; want %q", next.Text(), second)
	}
}

// I14, DI-08: the replica that receives Telegram's messages dies, and so does the one that answers, which can be the same. Another one
// takes over both, and the answer is completed in the same message.
func TestReplicaDies(t *testing.T) {
	const answer = "This is an answer of more than twenty-four characters, and it is said once."
	var mu sync.Mutex
	calls := 0
	r := startReplicas(t, 3, "supersede", modelfake.New(modelfake.Options{Choose: func(q modelfake.Request) modelfake.Script {
		mu.Lock()
		defer mu.Unlock()
		if calls++; calls == 1 {
			return modelfake.Script{modelfake.Text(answer[:40]), modelfake.Stall()}
		}
		if strings.Contains(q.LastUser(), "again") {
			return modelfake.Script{modelfake.Text("Here I am.")}
		}
		return modelfake.Script{modelfake.Text(answer)}
	}}))
	r.telegram.Say(r.chat, r.user, "hello")
	// Before the gateway knows what became of its request, a death would be followed by a repetition: Telegram has no nonces.
	r.waitUntil("a preview that is recorded", func() bool { return len(r.answers()) == 1 && r.recordedMessages() == 1 })
	before, begun := r.leases(), time.Now()
	for i, n := range r.nodes {
		if i == 0 || n.store.answers() { // the first one receives Telegram's messages
			n.kill()
		}
	}
	held := r.leases()
	if time.Since(begun) < 5*time.Second && !slices.Equal(held, before) { // later, they may have ended
		t.Errorf("before the death the leases were %v, right after it they are %v", before, held)
	}
	r.waitUntil("the whole answer", func() bool { a := r.answers(); return len(a) == 1 && a[0] == answer })
	r.telegram.Say(r.chat, r.user, "are you there again?")
	r.waitUntil("an answer through the replica that took over", func() bool { a := r.answers(); return len(a) == 2 && a[1] == "Here I am." })
	if now := r.leases(); len(now) != 1 || now[0].owner == before[0].owner || now[0].token <= before[0].token {
		t.Errorf("before the death the leases were %v, after the takeover they are %v", before, now)
	}
	if a := r.answers(); a[0] != answer {
		t.Errorf("the first answer became %q; want %q", a[0], answer)
	}
}

// DI-08: all replicas are replaced, one after the other, while questions come in. Each is answered once.
func TestRollingRestart(t *testing.T) {
	r := startReplicas(t, 3, "queue", modelfake.New(modelfake.Options{Choose: func(q modelfake.Request) modelfake.Script {
		return modelfake.Script{modelfake.Pace(20 * time.Millisecond), modelfake.Text("You said "+q.LastUser()+", and I say this.", modelfake.ByWord)}
	}}))
	ctx, stop := context.WithCancel(t.Context())
	asked := make(chan int, 1)
	go func() {
		n := 0
		for ; ctx.Err() == nil; n++ {
			r.telegram.Say(r.chat, r.user, "number "+strconv.Itoa(n)+".")
			time.Sleep(1200 * time.Millisecond)
		}
		asked <- n
	}()
	old := r.nodes
	for _, n := range old {
		n.end()
		r.start()
		time.Sleep(2 * time.Second)
	}
	stop()
	total := <-asked
	answered := func() (times []int) {
		times = make([]int, total)
		for i := range times {
			for _, text := range r.answers() {
				if strings.Contains(text, "number "+strconv.Itoa(i)+".") && strings.HasSuffix(text, "and I say this.") {
					times[i]++
				}
			}
		}
		return times
	}
	r.waitUntil("an answer to each question", func() bool { return !slices.Contains(answered(), 0) })
	time.Sleep(time.Second)
	if times := answered(); slices.Max(times) > 1 || len(r.answers()) != total {
		t.Errorf("the questions are answered %v times, in %q", times, r.answers())
	}
}

// heldWriter waits before it writes the rest of an answer.
type heldWriter struct {
	http.ResponseWriter
	rest <-chan struct{}
}

func (w *heldWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *heldWriter) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("the rest")) {
		<-w.rest
	}
	return w.ResponseWriter.Write(p)
}

// A message comes on a socket of one replica, and its answer is read on a socket of another, while it is written and after.
func TestReplicasShareSockets(t *testing.T) {
	rest := make(chan struct{})
	model := modelfake.New(modelfake.Options{Choose: func(modelfake.Request) modelfake.Script {
		return modelfake.Script{modelfake.Text("The first part"), modelfake.Text(" and the rest.")}
	}})
	r := startReplicas(t, 2, "queue", http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { model.ServeHTTP(&heldWriter{w, rest}, q) }))
	conversation := require.Value(r.nodes[0].Open(t.Context()))(r)
	type message struct {
		Request string
		Status  int
		Event   struct{ Text, FullText *string }
	}
	connect := func(n *replica) (c *websocket.Conn, text func(until string) string) {
		c, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(n.Base, "http")+"/api/socket", nil)
		r.Must(err)
		t.Cleanup(func() { _ = c.Close() })
		said := ""
		return c, func(until string) string {
			r.Must(c.SetReadDeadline(time.Now().Add(time.Minute)))
			for !strings.HasSuffix(said, until) {
				var m message
				if err := c.ReadJSON(&m); err != nil {
					t.Fatalf("%v after %q", err, said)
				}
				switch {
				case m.Event.FullText != nil:
					said = *m.Event.FullText
				case m.Event.Text != nil:
					said += *m.Event.Text
				}
			}
			return said
		}
	}
	writer, written := connect(r.nodes[0])
	reader, read := connect(r.nodes[1])
	r.Must(writer.WriteJSON(map[string]string{"request": "1", "type": "send", "conversation": conversation, "text": "Hello", "clientMessageId": "1"}))
	written("The first part")
	r.Must(reader.WriteJSON(map[string]string{"request": "1", "type": "resume", "conversation": conversation}))
	read("The first part")
	close(rest)
	const whole = "The first part and the rest."
	if got := []string{written("rest."), read("rest.")}; !slices.Equal(got, []string{whole, whole}) {
		t.Errorf("the sockets have shown %q", got)
	}
}
