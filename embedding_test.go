package parley_test

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley"
	"parley/config"
	"parley/core/action"
	"parley/core/llm"
	"parley/gatewaytest"
	"parley/internal/require"
)

// embedding is the configuration of a gateway that a program embeds.
func embedding(t *testing.T) config.Config {
	t.Helper()
	cfg := require.Value(parley.DefaultConfig(func(string) (string, bool) { return "", false }))(t)
	cfg.Store, cfg.Web.Listen = config.DSN("sqlite:"+filepath.Join(t.TempDir(), "parley.db")), "127.0.0.1:0"
	return cfg
}

// life starts a gateway, does something, and ends it.
func life(t *testing.T, cfg config.Config, env parley.Env, use func(*parley.Gateway)) {
	t.Helper()
	g := require.Value(parley.New(cfg, env))(t)
	process := gatewaytest.Start(t.Context(), g.Run)
	use(g)
	if err := process.Stop(); err != nil {
		t.Error(err)
	}
}

func TestNamesOfThePrograms(t *testing.T) {
	plugin := func(name string) action.Plugin { return action.Plugin{Name: name} }
	for name, c := range map[string]struct {
		env  parley.Env
		part string // of the check, that finds it too
		want string
	}{
		"two plugins":         {parley.Env{Plugins: []action.Plugin{plugin("tea"), plugin("tea")}}, "agent", `two plugins with the name "tea"`},
		"a built-in plugin":   {parley.Env{Plugins: []action.Plugin{plugin("essentials")}}, "agent", `two plugins with the name "essentials"`},
		"a plugin without":    {parley.Env{Plugins: []action.Plugin{plugin("")}}, "agent", "a plugin has no name"},
		"two connectors":      {parley.Env{Connectors: []parley.Connector{{Connector: newIntercom()}, {Connector: newIntercom()}}}, "connectors", `two connectors with the name "intercom"`},
		"the web chat":        {parley.Env{Connectors: []parley.Connector{{Connector: renamed("web")}}}, "connectors", `two connectors with the name "web"`},
		"a connector without": {parley.Env{Connectors: []parley.Connector{{Connector: renamed("")}}}, "connectors", "a connector has no name"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := embedding(t)
			if _, err := parley.New(cfg, c.env); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("New: %v, want %s", err, c.want)
			}
			found := parley.Check(t.Context(), cfg, c.env)
			if !slices.ContainsFunc(found, func(f parley.Finding) bool { return f.Part == c.part && !f.OK && strings.Contains(f.Text, c.want) }) {
				t.Errorf("Check: %+v, want %s", found, c.want)
			}
			life(t, cfg, parley.Env{}, func(*parley.Gateway) {}) // the store was closed
		})
	}
}

// renamed is an intercom with another name.
func renamed(name string) other { return other{newIntercom(), name} }

type other struct {
	*intercom
	name string
}

func (o other) Name() string { return o.name }

// A plugin that can't start stops the gateway before it listens and before the work of any plugin, and is named.
func TestInitFails(t *testing.T) {
	cfg, broken := embedding(t), errors.New("no ladder")
	var calls []string
	plugins := []action.Plugin{
		{
			Name: "roof",
			Init: func(context.Context, action.Services) error { calls = append(calls, "roof"); return nil },
			Work: func(context.Context) { t.Error("a plugin works in a gateway that did not start") },
		},
		{Name: "window", Init: func(context.Context, action.Services) error { calls = append(calls, "window"); return broken }},
		{Name: "cellar", Init: func(context.Context, action.Services) error { calls = append(calls, "cellar"); return nil }},
	}
	_, err := parley.Start(t.Context(), cfg, parley.Env{Plugins: plugins, Listen: func(string, string) (net.Listener, error) {
		t.Error("the gateway listens although a plugin failed to start; want no listener")
		return nil, net.ErrClosed
	}})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "start the plugin window: no ladder") {
		t.Errorf("%v", err)
	}
	if !slices.Equal(calls, []string{"roof", "window"}) {
		t.Errorf("started: %q", calls)
	}
	life(t, cfg, parley.Env{}, func(*parley.Gateway) {}) // the store was closed
}

// Init is called once at each start, before Work. What it keeps survives a restart, and no other plugin sees it.
func TestInit(t *testing.T) {
	cfg := embedding(t)
	var log, want []string
	plugin := func(name, key string) action.Plugin {
		return action.Plugin{Name: name, Init: func(ctx context.Context, s action.Services) error {
			kept, err := s.State.Kept(ctx, key)
			log = append(log, name+" finds "+kept)
			return errors.Join(err, s.State.Keep(ctx, key, kept+name))
		}}
	}
	worker := plugin("a", "b c")
	worked := make(chan int, 2)
	worker.Work = func(context.Context) { worked <- len(log) }
	env := parley.Env{Plugins: []action.Plugin{worker, plugin("a b", "c"), plugin(`a" "b`, "c")}}
	for n := range 2 {
		life(t, cfg, env, func(*parley.Gateway) {
			if begun := <-worked; begun != 3*(n+1) {
				t.Errorf("it works after %d calls of Init", begun)
			}
		})
		for _, p := range env.Plugins {
			want = append(want, p.Name+" finds "+strings.Repeat(p.Name, n))
		}
	}
	if !slices.Equal(log, want) {
		t.Errorf("%q, want %q", log, want)
	}
}

// Models of the program take the places of those in the configuration, which are not tried any more. Nothing of the demo is left.
func TestModelsOfTheProgram(t *testing.T) {
	cfg := embedding(t)
	cfg.Providers.OpenAI.BaseURL, cfg.Models.Large.Model = "http://127.0.0.1:1/v1", "configured"
	cfg.Models.Small, cfg.Models.Vision = config.Slot{Model: "small"}, config.Slot{Model: "eyes"}
	env := parley.Env{Models: llm.Models{Large: parrot{}, Small: parrot{}}, ModelName: "parrot"}
	var parts []string
	for _, f := range parley.Check(t.Context(), cfg, env) {
		if strings.HasPrefix(f.Part, "models.") {
			parts = append(parts, f.Part)
		}
		if f.Part == "models.large" && (!f.OK || !strings.Contains(f.Text, "parrot")) {
			t.Errorf("%+v", f)
		}
	}
	if !slices.Equal(parts, []string{"models.large", "models.vision"}) {
		t.Errorf("%q are tried", parts)
	}
	bare := embedding(t)
	env.Plugins = []action.Plugin{{Name: "demo"}} // the name is free: the demo plugin is off
	life(t, bare, env, func(g *parley.Gateway) {
		if g.Model() != "parrot" {
			t.Errorf("%q answers", g.Model())
		}
	})
}

// The blocks of the page, one after another, are the examples that are compiled and run here.
func TestEmbeddingPageShowsTheExamples(t *testing.T) {
	source := require.Value(os.ReadFile("example_test.go"))(t)
	if diff := cmp.Diff(string(source), codeOf(t, "docs/embedding-go.md")); diff != "" {
		t.Error(diff)
	}
}

// A program outside of this module that follows the page compiles.
func TestEmbeddingPageCompilesElsewhere(t *testing.T) {
	here := require.Value(os.Getwd())(t)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "example_test.go"), []byte(codeOf(t, "docs/embedding-go.md")), 0o600))
	page := require.Value(os.ReadFile("docs/embedding-go.md"))(t)
	_, commands, _ := strings.Cut(string(page), "\n```sh\n")
	commands, _, _ = strings.Cut(commands, "go test .\n```")
	for line := range strings.Lines(strings.ReplaceAll(commands, "../parley", here) + "go vet .\n") {
		command := strings.Fields(line)
		run := exec.CommandContext(t.Context(), command[0], command[1:]...)
		run.Dir = dir
		if out, err := run.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.TrimSpace(line), err, out)
		}
	}
}

// codeOf returns the Go code of a page: its blocks, one after another.
func codeOf(t *testing.T, page string) string {
	t.Helper()
	text := require.Value(os.ReadFile(page))(t)
	var code []string
	for i, block := range strings.Split(string(text), "\n```go\n")[1:] {
		lines, _, ended := strings.Cut(block, "```\n")
		if !ended {
			t.Fatalf("block %d of %s does not end", i+1, page)
		}
		code = append(code, lines)
	}
	return strings.Join(code, "\n")
}
