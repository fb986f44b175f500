package stories_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/backends/redis/redistest"
	"parley/config"
	"parley/connectors/connectortest"
	"parley/internal/require"
	"parley/models/modelfake"
	"parley/sim"
)

// half is where a [halfway] model server stops in the middle of an answer.
const half = "HALF"

// halfway is a model server that does not continue after the word half until it is released.
type halfway struct {
	http.Handler
	mu   sync.Mutex
	goOn chan struct{}
}

// hold stops all answers that begin from now on halfway, until release is called.
func (h *halfway) hold() (release func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.goOn = make(chan struct{})
	return sync.OnceFunc(func() { close(h.goOn) })
}

func (h *halfway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	goOn := h.goOn
	h.mu.Unlock()
	h.Handler.ServeHTTP(&stopsHalfway{w, r.Context(), goOn}, r)
}

type stopsHalfway struct {
	http.ResponseWriter
	ctx  context.Context
	goOn <-chan struct{}
}

func (w *stopsHalfway) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *stopsHalfway) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	if err != nil || !bytes.Contains(p, []byte(half)) {
		return n, err
	}
	err = http.NewResponseController(w.ResponseWriter).Flush()
	select {
	case <-w.goOn:
	case <-w.ctx.Done():
	}
	return n, err
}

// readUntil reads until a stream shows a text.
func (r *replicas) readUntil(s *sim.Stream, text string) {
	r.Helper()
	for !strings.Contains(s.Text(), text) {
		require.Value(s.Next())(r)
	}
}

// DI-02: Redis loses everything in the middle of answers. Each ends as a whole, once, for the readers of other replicas too. A message
// that comes to another replica still ends an older answer, leases stay where they are, and no limit of the platform is exceeded.
// Every replica logs it once, and is ready with everything again.
func TestRedisLosesEverything(t *testing.T) {
	for name, lose := range map[string]func(*redistest.Server){
		"emptied":                func(s *redistest.Server) { s.Flush() },
		"killed and begun empty": func(s *redistest.Server) { s.Stop(); s.Restart() },
	} {
		t.Run(name, func(t *testing.T) {
			const whole = "This is the first " + half + " of an answer, and this is the rest of it."
			model := &halfway{Handler: modelfake.New(modelfake.Options{Choose: func(q modelfake.Request) modelfake.Script {
				if strings.Contains(q.LastUser(), "newer") {
					return modelfake.Echo(q)
				}
				return modelfake.Script{modelfake.Text(whole, modelfake.ByWord)}
			}})}
			release := model.hold()
			r := startReplicas(t, 3, "supersede", model)
			defer release()
			a, b := r.nodes[0], r.nodes[1]
			r.telegram.Say(r.chat, r.user, "on Telegram")
			here, there := r.askBoth(a, b, "one")
			conversation := require.Value(a.Open(t.Context()))(r)
			older := require.Value(a.Send(t.Context(), conversation, "older", "older"))(r)
			r.readUntil(older, half)
			r.waitUntil("half an answer on Telegram", func() bool { all := r.answers(); return len(all) == 1 && strings.Contains(all[0], half) })
			before := r.leases()
			begun := r.logged()

			lose(r.redis)
			newer := require.Value(b.Send(t.Context(), conversation, "newer", "newer"))(r)
			if events, err := older.All(); err != nil || events[len(events)-1].NoResponse != "superseded" {
				t.Errorf("the older answer ends with %+v, %v", events, err)
			}
			if _, err := newer.All(); err != nil || newer.Text() != "You said: newer" {
				t.Errorf(`the newer message is answered with %q, %v; want "You said: newer"`, newer.Text(), err)
			}
			release()
			for _, s := range []*sim.Stream{here, there} {
				if _, err := s.All(); err != nil || s.Text() != whole {
					t.Errorf("a reader sees %q, %v; want %q", s.Text(), err, whole)
				}
			}
			r.waitUntil("the whole answer on Telegram", func() bool { return slices.Equal(r.answers(), []string{whole}) })
			r.waitUntil("budgets that are shared again", func() bool { return r.count(begun, "redis: budgets are shared again") == len(r.nodes) })

			release = model.hold()
			defer release()
			here, there = r.askBoth(a, b, "afterwards")
			release()
			for _, s := range []*sim.Stream{here, there} {
				if _, err := s.All(); err != nil || s.Text() != whole {
					t.Errorf("a reader sees %q, %v; want %q", s.Text(), err, whole)
				}
			}
			r.telegram.Say(r.chat, r.user, "newer, on Telegram")
			r.waitUntil("another answer on Telegram", func() bool {
				return slices.Equal(r.answers(), []string{whole, "You said: newer, on Telegram"})
			})
			if after := r.leases(); !slices.Equal(after, before) {
				t.Errorf("the leases were %v, and are %v", before, after)
			}
			for _, q := range r.telegram.Log() {
				if q.Early || q.Status == http.StatusTooManyRequests {
					t.Errorf("a request beyond the limits: %+v", q)
				}
			}
			for _, n := range r.nodes {
				wantsProbe(t, n.Base, http.StatusOK, "ready\n")
			}
			for _, text := range []string{"redis: budgets are no longer shared", "redis: budgets are shared again"} {
				if n := r.count(begun, text); n != len(r.nodes) {
					t.Errorf("%d replicas log %q %d times", len(r.nodes), text, n)
				}
			}
		})
	}
}

// askBoth asks a question at a, which is read at b too until half of the answer is there.
func (r *replicas) askBoth(a, b *replica, key string) (here, there *sim.Stream) {
	r.Helper()
	conversation := require.Value(a.Open(r.Context()))(r)
	here = require.Value(a.Send(r.Context(), conversation, key, key))(r)
	there = require.Value(b.Send(r.Context(), conversation, key, key))(r)
	r.readUntil(there, half)
	return here, there
}

// logged is how much each replica has logged.
func (r *replicas) logged() (all []int) {
	for _, n := range r.nodes {
		all = append(all, len(n.log.String()))
	}
	return all
}

// count is how often the replicas have logged a text since then.
func (r *replicas) count(since []int, text string) (n int) {
	for i, node := range r.nodes {
		n += strings.Count(node.log.String()[since[i]:], text)
	}
	return n
}

// DI-02: Redis stops while a visitor of the page talks to a person on Telegram, and comes back. Both write meanwhile, the visitor at each of two replicas.
// Each side reads every line once, in order.
func TestTalkOutlivesRedis(t *testing.T) {
	telegram := platforms()[0]
	world := require.Value(telegram.newServer())(t)
	api := httptest.NewServer(world.Handler())
	t.Cleanup(func() { api.CloseClientConnections(); api.Close(); world.Close() })
	r := startReplicas(t, 2, "queue", modelfake.New(modelfake.Options{Choose: modelfake.Echo}), func(cfg *config.Config) {
		telegram.enable(cfg, world, api.URL)
		cfg.People.Owners = append(cfg.People.Owners, config.Account(world.Account(connectortest.Ada)))
	})
	ada := world.Direct(connectortest.Ada)
	reads := func(part string) bool {
		return strings.Contains(strings.Join(connectortest.BotTexts(world, ada), "\n"), part)
	}
	world.Say(connectortest.Ada, ada, "Hi")
	r.waitUntil("a greeting", func() bool { return reads("You said: Hi") })
	conversation := require.Value(r.nodes[0].Open(t.Context()))(r)
	say := func(node int, key, text string) {
		r.Helper()
		s, err := r.nodes[node].Send(t.Context(), conversation, key, text)
		r.Must(err)
		if _, err = s.All(); err != nil {
			t.Fatalf("%q is answered with %d %s", text, s.Status, s.Body)
		}
	}
	say(0, "p", "/person about tea")
	r.waitUntil("a card", func() bool { return reads("about tea") })
	world.(buttonPlatform).Press(connectortest.Ada, ada, 0)
	r.waitUntil("the talk", func() bool { return reads("You're talking to") })
	page := func() (all []string) {
		lines := require.Value(r.nodes[1].Reload(t.Context(), conversation))(r)
		for _, l := range lines {
			all = append(all, l.Text)
		}
		return all
	}
	var want []string
	for i := range 6 {
		switch i {
		case 2:
			r.redis.Stop()
		case 4:
			r.redis.Restart()
		}
		question, reply := fmt.Sprint("Question ", i), fmt.Sprint("Reply ", i)
		want = append(want, question, reply)
		say(i%2, fmt.Sprint("q", i), question)
		say((i+1)%2, fmt.Sprint("q", i), question) // the page sends it again
		r.waitUntil(question, func() bool { return reads(question) })
		world.Say(connectortest.Ada, ada, reply)
		r.waitUntil(reply, func() bool { return strings.Contains(strings.Join(page(), "\n"), reply) })
	}
	var desk []string
	for _, m := range world.Messages(ada) {
		desk = append(desk, m.Text)
	}
	for who, lines := range map[string][]string{"the visitor": page(), "the person": desk} {
		var talk []string
		for _, l := range lines {
			if i := slices.IndexFunc(want, func(w string) bool { return strings.HasSuffix(strings.TrimSpace(l), w) }); i >= 0 {
				talk = append(talk, want[i])
			}
		}
		if !slices.Equal(talk, want) {
			t.Errorf("%s reads %q; want %q", who, talk, want)
		}
	}
}
