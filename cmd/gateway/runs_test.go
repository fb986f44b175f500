package main_test

import (
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"parley/internal/require"
	"parley/models/modelfake"
)

// poisoned kills g as soon as the model is asked for the nth time.
func poisoned(t *testing.T, g *gateway, fake *modelfake.Server, n int) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); len(fake.Requests()) < n; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the model was asked %d times; want %d\n%s", len(fake.Requests()), n, &g.stderr)
		}
	}
	require.NoError(t, g.Process.Kill())
	g.wait(t)
}

// IN-11, IN-18: the real program, killed each time that it asks the model, sets the question aside, lists it, and retries it: in
// the store and at the running gateway.
func TestRunsThatCrash(t *testing.T) {
	fake := modelfake.New(modelfake.Options{Choose: func(modelfake.Request) modelfake.Script {
		return modelfake.Script{modelfake.Text("So"), modelfake.Pace(time.Hour), modelfake.Text("far", modelfake.ByWord)}
	}})
	server := httptest.NewServer(fake)
	defer server.Close()
	dir, env := t.TempDir(), []string{"OPENAI_BASE_URL=" + server.URL + "/v1", "OPENAI_MODEL=m"}
	run := func() *gateway {
		c := command(t, env, "--listen", "127.0.0.1:0")
		c.Dir = dir
		return start(t, c)
	}
	runs := func(code int, want string, args ...string) {
		t.Helper()
		c := command(t, env, append([]string{"runs"}, args...)...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		if got := status(t, err); got != code || !strings.Contains(string(out), want) || strings.ContainsAny(string(out), "\x1b") {
			t.Errorf("runs %v: %d %q; want %d, %q", args, got, out, code, want)
		}
	}
	knock(t, dir, nil)
	runs(0, "Nothing is set aside.")
	g := run()
	g.ask(t, `kill \u001b[31m me`).Close()
	poisoned(t, g, fake, 1)
	poisoned(t, run(), fake, 2)
	poisoned(t, run(), fake, 3)
	g = run()
	id := setAside(t, g)
	if n := len(fake.Requests()); n != 3 {
		t.Errorf("the model was asked %d times", n)
	}
	hidden := regexp.MustCompile(`web/~[0-9a-f]{12}#1`).FindString(g.stderr.String()) // as the log names it
	for name, want := range map[string]int{hidden: 0, id: 0, "web/~0123456789ab#1": 1} {
		show := command(t, env, "show", name)
		show.Dir = dir
		if out, err := show.CombinedOutput(); status(t, err) != want || want == 0 && !strings.Contains(string(out), id) {
			t.Errorf("show %q: %s, %v", name, out, err)
		}
	}
	g = run()
	runs(0, "me")
	runs(1, "run web/other#1 is not set aside", "retry", "web/other#1")
	runs(0, "will be retried", "retry", id)
	poisoned(t, g, fake, 4)
	runs(0, "Nothing is set aside.", "list")
	poisoned(t, run(), fake, 5)
	poisoned(t, run(), fake, 6)
	setAside(t, run())
	runs(0, id, "list")
	runs(0, "will be retried", "retry", id)
	poisoned(t, run(), fake, 7)
}

// setAside waits until g has set a run aside, ends it, and returns the run.
func setAside(t *testing.T, g *gateway) (id string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); id == ""; time.Sleep(100 * time.Millisecond) {
		list := command(t, nil, "runs")
		list.Dir = g.Dir
		out, err := list.CombinedOutput()
		if err != nil || time.Now().After(end) {
			t.Fatalf("set aside is: %s%v\n%s", out, err, &g.stderr)
		}
		id = regexp.MustCompile(`web/\w+#1`).FindString(string(out))
	}
	require.NoError(t, g.Process.Kill())
	g.wait(t)
	return id
}
