package stories_test

import (
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/connectors/connectortest"
	"parley/internal/require"
	"parley/internal/subtest"
	"parley/models/modelfake"
)

// crashPoint counts the moments before and after each effect that the process has on what outlives it: the store, and the
// platform. At one of them the process dies.
type crashPoint struct {
	mu    sync.Mutex
	n     int
	at    int // the moment of death; 0 is never
	then  int // the moment of a second death, counted from the first; 0 is never
	since int // moments since the first
	dead  bool
	death func()
}

func (f *crashPoint) moment() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	if f.dead {
		return
	}
	if f.at > 0 && f.n > f.at {
		f.since++
	}
	if f.n == f.at || f.then > 0 && f.since == f.then {
		f.dead = true
		f.death()
	}
}

// isDead reports whether the process is dead.
func (f *crashPoint) isDead() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dead
}

// moments is how many moments there were.
func (f *crashPoint) moments() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}

func (f *crashPoint) revive() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead = false
}

// wrap stands before the platform's server. A dead process sends nothing and hears nothing.
func (f *crashPoint) wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f.isDead() {
			panic(http.ErrAbortHandler) // the documented way to break the connection
		}
		if !isEffect(r) {
			h.ServeHTTP(w, r)
			return
		}
		if f.moment(); f.isDead() {
			panic(http.ErrAbortHandler)
		}
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, r)
		if f.moment(); f.isDead() {
			panic(http.ErrAbortHandler)
		}
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	})
}

// isEffect reports whether people may see something of r.
func isEffect(r *http.Request) bool {
	if strings.Contains(r.URL.Path, "/bot") { // Telegram's methods
		return strings.HasPrefix(r.URL.Path[strings.LastIndexByte(r.URL.Path, '/'):], "/send") ||
			strings.Contains(r.URL.Path, "/editMessage") || strings.Contains(r.URL.Path, "/deleteMessage")
	}
	return r.Method != http.MethodGet
}

// kill kills the process, from any goroutine, and does not wait.
func (s *harness) kill() { s.store.Load().Kill() }

// startCrashPoint starts counting for f.
func (c *chatHarness) startCrashPoint(f *crashPoint) {
	f.mu.Lock()
	f.death = c.kill
	f.n = 0
	f.mu.Unlock()
	c.crashPoint.Store(f)
	if c.platform.noLookup {
		c.allowedOrphans = 1
	}
}

// dieAt runs a test in which the process dies at a moment, and returns how many moments there were.
func dieAt(t *testing.T, p platform, at int) (moments int) { return dieTwice(t, p, at, 0) }

func dieTwice(t *testing.T, p platform, at, then int) (moments int) {
	f := &crashPoint{at: at, then: then}
	onPlatformBehind(t, p, nil, f.wrap, func(c *chatHarness) {
		c.startCrashPoint(f)
		if then > 0 {
			c.allowedOrphans *= 2
		}
		c.model.Queue(slowScript(fox + " " + fox))
		c.Say(connectortest.Ada, c.ada, "Question A")
		c.passRestarting(f, 7*time.Second)
		c.model.Queue(slowScript(tale), slowScript(tale), slowScript(tale))
		c.Say(connectortest.Ada, c.ada, "Question B")
		c.passRestarting(f, 2*time.Minute)
		moments = f.moments()
	})
	return moments
}

// passRestarting passes time. If the process dies, another one starts.
func (c *chatHarness) passRestarting(f *crashPoint, d time.Duration) {
	c.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); c.Pass(200 * time.Millisecond) {
		if f.isDead() {
			c.crash()
			f.revive()
			c.start()
		}
	}
}

// I14: the process dies before and after every effect, and the next one keeps all promises. A question
// is answered, the next one takes the room, and both runs have one end, whatever happens. PARLEY_SWEEP=all plays every
// moment instead of some.
func TestCrashPointSweep(t *testing.T) { sweep(t, dieAt) }

// ST-26, I14: the same with a second death soon after the first. PARLEY_SWEEP=all plays every moment of the first with 40 of
// the second; otherwise it is some of each. The sweep of every pair in progressive has bad weather, too.
func TestTwoCrashesSweep(t *testing.T) {
	for then := 1; then <= 40; then++ {
		if os.Getenv("PARLEY_SWEEP") != "all" && then%9 != 1 {
			continue
		}
		t.Run(strconv.Itoa(then), subtest.Of(sweep, func(t *testing.T, p platform, at int) int {
			if at == 0 {
				return dieAt(t, p, 0)
			}
			return dieTwice(t, p, at, then)
		}))
	}
}

// The same of an answer that asks in the middle: whenever the process dies, there is one answer at last, and nothing to press.
func TestCrashWhileItAsks(t *testing.T) {
	edit := withAlbum(t)
	sweep(t, func(t *testing.T, p platform, at int) (moments int) {
		f := &crashPoint{at: at}
		onPlatformBehind(t, p, edit, f.wrap, func(c *chatHarness) {
			c.startCrashPoint(f)
			texts := 1 + c.allowedOrphans
			c.allowedOrphans = 2 // and a file of which only the dead process knew
			c.model.Queue(slices.Concat(playScript("blue"), playScript("blue"), playScript("blue"))...)
			c.Say(connectortest.Ada, c.ada, "Play something blue")
			c.passRestarting(f, 10*time.Second)
			c.Platform.(buttonPlatform).Press(connectortest.Ada, c.ada, 1)
			c.passRestarting(f, time.Minute)
			c.WaitIdle()
			moments = f.moments()
			if len(c.rooms()) == 0 {
				return // nothing was acknowledged
			}
			if own := connectortest.BotTexts(c, c.ada); len(own) == 0 || len(slices.DeleteFunc(own, func(s string) bool { return s == "" })) > texts {
				c.Errorf("people read %q", own)
			}
			open := require.Value(c.Store.OpenQuestions(c.Context(), c.rooms()[0]))(c)
			if buttons := c.Platform.(buttonPlatform).Buttons(c.ada); len(buttons) > 0 || len(open) > 0 {
				c.Errorf("there is %q to press, and %+v to choose; want none and none", buttons, open)
			}
		})
		return moments
	})
}

// sweep runs a test without a death, and then with one at each of some moments.
func sweep(t *testing.T, dieAt func(t *testing.T, p platform, at int) (moments int)) {
	const some = 8
	for _, p := range platforms() {
		t.Run(p.name, func(t *testing.T) {
			moments := dieAt(t, p, 0)
			if moments < 30 || moments > 400 {
				t.Fatalf("there are %d moments; want at least 30 and at most 400", moments)
			}
			chosen := rand.New(rand.NewPCG(14, 5)).Perm(moments)
			if os.Getenv("PARLEY_SWEEP") != "all" {
				chosen = chosen[:some]
			}
			slices.Sort(chosen)
			for _, at := range chosen {
				dieAt(t, p, at+1)
				if t.Failed() {
					t.Fatalf("death at moment %d of %d", at+1, moments)
				}
			}
		})
	}
}

// IN-11, IN-18: a question at which the process dies three times is not tried again. People read that, once, in place of what
// there was of an answer, and the next question is answered.
func TestChatSetsAside(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		stuck := modelfake.Script{modelfake.Text(fox + " "), modelfake.Pace(time.Hour), modelfake.Text(fox, modelfake.ByWord)}
		c.model.Queue(stuck, stuck, stuck)
		c.Say(connectortest.Ada, c.ada, "Tell me")
		for range 3 {
			c.Pass(20 * time.Second)
			c.restart()
		}
		c.wantShown(c.ada, "I couldn't finish answering this. Please ask again or rephrase it.")
		c.model.Queue(modelfake.Script{modelfake.Text(tale)})
		c.Say(connectortest.Ada, c.ada, "And now?")
		c.wantShown(c.ada, "I couldn't finish answering this. Please ask again or rephrase it.", tale)
		c.wantModelCalls(4)
	})
}
