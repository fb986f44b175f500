package stories_test

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley"
	"parley/backends/postgres/postgrestest"
	"parley/backends/redis/redistest"
	"parley/config"
	"parley/gatewaytest"
	"parley/internal/require"
	"parley/models/modelfake"
	"parley/sim"
)

// degraded is a gateway with a bot on Telegram and a web chat, on real sockets and a real clock, whose backends stop working as they
// should.
type degraded struct {
	*gatewaytest.Harness
	*sim.Browser
	*telegramChat
}

// startDegraded starts the gateway until the end of the test.
func startDegraded(t *testing.T, cfg config.Config) *degraded {
	t.Helper()
	d := &degraded{Harness: gatewaytest.New(t), telegramChat: newTelegramChat(t, &cfg)}
	cfg.Access.Direct, cfg.Turns.Direct = "open", "queue"
	g, end := startGateway(t, cfg, parley.Env{Log: d.Logger(slog.LevelInfo)})
	t.Cleanup(end)
	d.Browser = &sim.Browser{HTTP: http.DefaultClient, Base: "http://" + g.Addr().String()}
	wantsProbe(t, d.Base, http.StatusOK, "ready\n")
	return d
}

// send sends a message on Telegram.
func (d *degraded) send(text string) { d.telegram.Say(d.chat, d.user, text) }

// waitUntil waits for something, for at most a minute.
func (d *degraded) waitUntil(what string, is func() bool) {
	d.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			d.Fatalf("not seen: %s; Telegram shows %q", what, d.answers())
		}
	}
}

// wantShown waits until Telegram shows an answer to each of the texts, once, in their order.
func (d *degraded) wantShown(texts ...string) {
	d.Helper()
	var want []string
	for _, text := range texts {
		want = append(want, "You said: "+text)
	}
	d.waitUntil("answers to "+strings.Join(texts, ", "), func() bool { return slices.Equal(d.answers(), want) })
}

// count is how often the log has a text, after its first bytes.
func (d *degraded) count(from int, text string) int {
	return strings.Count(d.Logged.String()[from:], text)
}

// DI-03: messages are accepted and answered once with a Redis whose replies are late. Up to 300 ms that changes nothing. Later than the
// timeouts, /readyz names the limits, and the log does so once. When Redis is fast again, everything is as before, without a restart.
func TestRedisIsSlow(t *testing.T) {
	shared := redistest.StartSlow(t)
	cfg := postgresConfig(t, postgrestest.Shared(t).Create(t, ""), modelfake.New(modelfake.Options{}))
	cfg.Shared = config.DSN(shared.URL())
	d := startDegraded(t, cfg)
	shared.Delay(300 * time.Millisecond)
	d.send("a little late")
	d.wantShown("a little late")
	wantsProbe(t, d.Base, http.StatusOK, "ready\n")

	before := len(d.Logged.String())
	shared.Delay(3 * time.Second)
	wantsProbe(t, d.Base, http.StatusOK, "ready, with limits: Redis can't be reached")
	d.send("very late")
	d.send("also very late")
	d.wantShown("a little late", "very late", "also very late")
	d.waitUntil("the listener has given up", func() bool { return d.count(before, "redis: unreachable") > 0 })
	wantsProbe(t, d.Base, http.StatusOK, "ready, with limits: Redis can't be reached")
	for _, once := range []string{"can't announce a turn", "can't follow answers", "redis: unreachable", "redis: budgets are no longer shared", "redis: can't check the claimed turns"} {
		if n := d.count(before, once); n > 1 {
			t.Errorf("the log says %q %d times; want at most 1", once, n)
		}
	}

	shared.Delay(0)
	wantsProbe(t, d.Base, http.StatusOK, "ready\n")
	d.send("fast again")
	d.wantShown("a little late", "very late", "also very late", "fast again")
	for _, text := range []string{"redis: connected again", "redis: budgets are shared again"} {
		d.waitUntil(text, func() bool { return d.count(before, text) > 0 })
	}
}

// DI-02: a database that becomes read-only, as after a failover to a standby, stores nothing, so nothing is acknowledged: the page is
// told, and Telegram keeps its messages. /readyz says so, and the log does once. When the database is writable again, although sessions
// are open that began before, what was kept is answered, without a restart.
func TestPostgresIsReadOnly(t *testing.T) {
	server := postgrestest.Shared(t)
	url := server.Create(t, "")
	database := url[strings.LastIndexByte(url, '/')+1 : strings.IndexByte(url, '?')]
	exec := func(statement string) {
		t.Helper()
		require.NoError(t, server.Exec(t.Context(), "postgres", statement))
	}
	asked, goOn := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(goOn) })
	arrive := sync.OnceFunc(func() { close(asked) })
	d := startDegraded(t, postgresConfig(t, url, modelfake.New(modelfake.Options{Choose: func(r modelfake.Request) modelfake.Script {
		if r.LastUser() == "under way" {
			arrive()
			<-goOn
		}
		return modelfake.Echo(r)
	}})))
	t.Cleanup(release)
	conversation := require.Value(d.Open(t.Context()))(t)
	d.ask(conversation, "before")
	d.send("before")
	d.wantShown("before")
	d.send("under way")
	<-asked

	begun := len(d.Logged.String())
	exec("ALTER DATABASE " + database + " SET default_transaction_read_only = on")
	exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + database + "'")
	wantsProbe(t, d.Base, http.StatusServiceUnavailable, "the database is read-only")
	d.send("meanwhile")
	for range 3 {
		if s, err := d.Send(t.Context(), conversation, "refused", "refused"); err != nil || s.Status != http.StatusServiceUnavailable {
			t.Errorf("a message is sent while the database is read-only: %+v, %v", s, err)
		}
	}
	release()
	const once = "can't renew the process lease"
	d.waitUntil("a heartbeat", func() bool { return d.count(begun, once) > 0 })
	wantsProbe(t, d.Base, http.StatusServiceUnavailable, "the database is read-only")
	if a := d.answers(); len(a) > 2 || a[0] != "You said: before" {
		t.Errorf("while nothing can be stored, Telegram shows %q", a)
	}

	exec("ALTER DATABASE " + database + " RESET default_transaction_read_only")
	wantsProbe(t, d.Base, http.StatusOK, "ready\n")
	d.wantShown("before", "under way", "meanwhile")
	d.ask(conversation, "afterwards")
	d.wantConversation(conversation, "before", "afterwards")
	if n := d.count(begun, once); n != 1 {
		t.Errorf("the log says %q %d times; want 1", once, n)
	}
	d.waitUntil("the end in the log", func() bool { return d.count(begun, "the store answers again") == 1 })
}

// ask sends a message on the page, and reads its answer.
func (d *degraded) ask(conversation, text string) {
	d.Helper()
	s, err := d.Send(d.Context(), conversation, text, text)
	if err != nil || s.Status != http.StatusOK {
		d.Fatalf("%+v, %v", s, err)
	}
	if _, err := s.All(); err != nil || s.Text() != "You said: "+text {
		d.Errorf("answered with %q, %v", s.Text(), err)
	}
}

// wantConversation fails the test if the conversation on the page is not these messages, each answered once.
func (d *degraded) wantConversation(conversation string, texts ...string) {
	d.Helper()
	lines := require.Value(d.Reload(d.Context(), conversation))(d)
	var got, want []string
	for _, l := range lines {
		got = append(got, l.Text)
	}
	for _, text := range texts {
		want = append(want, text, "You said: "+text)
	}
	if !slices.Equal(got, want) {
		d.Errorf("the page shows %q; want %q", got, want)
	}
}
