package parley

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/core/action"
	"parley/core/quota"
	"parley/internal/require"
)

// everything is a configuration with an element in every list, and a model of every provider.
const everything = `
providers:
  openai: {base_url: "http://127.0.0.1:1/v1", api_key: key}
%s
models:
  chat:
%s
  small: {provider: openai, model: small}
  vision: {provider: openai, model: vision}
  transcription: {provider: openai, model: transcription}
  image: {provider: openai, model: image}
  embedding: {provider: openai, model: embedding}
agent:
  recall: meaning
  message_examples: [{messages: [{name: Ann, text: Hi}]}]
access: {overrides: [{rooms: ["telegram:-1"], tools: [DONE]}]}
schedules: [{name: s, cron: "0 9 * * *", room: "telegram:-1", text: Hello}]
hooks: [{name: h, secret: a-long-secret-of-a-hook, room: "telegram:-1", text: Hello}]
plugins: {player: {urls: ["https://example.org/a.mp3"]}, web: {fetch: true, search: {provider: searxng, url: "http://127.0.0.1:1"}}}
mcp: [{name: m, command: ["true"]}]
tools: [{name: DONE, description: Done, url: "https://example.org/"}]
`

// keys calls change with every key of a configuration, with a function that gives it another value; elements of lists are marked by [].
// Each call gets a configuration of its own.
func keys(t *testing.T, fresh func() config.Config, change func(path string, cfg config.Config)) {
	t.Helper()
	var visit func(path string, at func(*config.Config) reflect.Value)
	visit = func(path string, at func(*config.Config) reflect.Value) {
		cfg, _ := within(path, fresh())
		v := at(&cfg)
		if v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Struct && strings.Contains(v.Type().String(), "Section") {
			visit(path, func(c *config.Config) reflect.Value { return at(c).Elem() })
			return
		}
		switch {
		case v.Type() == reflect.TypeFor[config.Connectors](), v.Type() == reflect.TypeFor[config.Others]():
			for i := range v.Len() {
				name := v.Index(i).FieldByName("Name").String()
				visit(path+"."+name, func(c *config.Config) reflect.Value { return at(c).Index(i).FieldByName("Values").Elem().Elem() })
			}
		case v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[config.Price]() && v.Type() != reflect.TypeFor[netip.Prefix]():
			for i := range v.NumField() {
				f := v.Type().Field(i)
				key := f.Tag.Get("yaml")
				below := func(c *config.Config) reflect.Value { return at(c).Field(i) }
				switch {
				case f.Anonymous:
					visit(path, below)
				case key != "-" && key != "":
					visit(strings.TrimPrefix(path+"."+key, "."), below)
				}
			}
		default:
			other(t, path, v)
			change(path, cfg)
			if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct && v.Type().Elem() != reflect.TypeFor[netip.Prefix]() {
				visit(path+"[]", func(c *config.Config) reflect.Value { return at(c).Index(0) })
			}
		}
	}
	visit("", func(c *config.Config) reflect.Value { return reflect.ValueOf(c).Elem() })
}

// particular are the values of keys that need a certain form.
var particular = map[string]any{
	"agent.character": "c.yaml", "timezone": "Europe/Berlin", "initiative.quiet_hours": "22:00-07:00", "schedules[].cron": "0 10 * * *",
	"schedules[].timezone": "Asia/Tokyo", "plugins.player.folder": ".", "secret_key": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
	"models.large.extra_body": `{"a":1}`, "models.chat[].extra_body": `{"a":1}`, "tools[].parameters": `{"type":"object"}`, "agent.templates.evaluation": "Judge.",
	"web.accounts.public_key": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", "web.claim_until": "2030-01-02", "web.widget.avatar": "https://example.org/a.png", "web.widget.accent": "#0a7d55", "plugins.player.urls[]": "https://example.org/b.mp3", "models.chat[].tools": false, "models.large.model": "n", "models.large.provider": "anthropic",
}

// within returns the configuration in which a key has an effect, made from one with everything, and whether it is another one.
func within(path string, cfg config.Config) (config.Config, bool) {
	switch {
	case strings.HasPrefix(path, "models.large"):
		cfg.Models.Chat, cfg.Models.Large = nil, config.Model{Provider: config.ProviderOpenAI, Model: "m"}
	case path == "models.chat[].url", path == "models.chat[].api_key":
		i := slices.IndexFunc(cfg.Models.Chat, func(m config.ChatModel) bool { return m.Name == "http" })
		cfg.Models.Chat[0], cfg.Models.Chat[i] = cfg.Models.Chat[i], cfg.Models.Chat[0]
	case path == "web.accounts.audience":
		cfg.Web.Accounts.Secret = "a-long-secret-of-a-site-with-accounts"
	case strings.HasPrefix(path, "limits.") && strings.HasSuffix(path, "usd"):
		cfg.Models = config.Models{Large: config.Model{Provider: config.ProviderDemo}}
	case path == "schedules[].prompt":
		cfg.Schedules[0].Text = ""
	case path == "hooks[].prompt":
		cfg.Hooks[0].Text = ""
	case strings.HasPrefix(path, "mcp[].oauth."):
		cfg.SecretKey = config.Secret(particular["secret_key"].(string))
		cfg.MCP[0].Command, cfg.MCP[0].URL, cfg.MCP[0].OAuth.Enabled = nil, "https://example.org/mcp", true
	default:
		return cfg, false
	}
	return cfg, true
}

// other gives a value that differs from the one that v has.
func other(t *testing.T, path string, v reflect.Value) {
	t.Helper()
	if text, ok := particular[path]; ok && v.Kind() != reflect.Pointer {
		v.Set(reflect.ValueOf(text).Convert(v.Type()))
		return
	}
	if words, ok := reflect.Zero(v.Type()).Interface().(interface{ Words() []string }); ok && v.Kind() == reflect.String {
		i := slices.Index(words.Words(), v.String())
		v.SetString(words.Words()[(i+1)%len(words.Words())])
		return
	}
	switch {
	case v.Type() == reflect.TypeFor[config.Price]():
		rate := quota.Rate(7)
		v.Set(reflect.ValueOf(config.Price{Input: &rate, Output: &rate}))
	case v.Type() == reflect.TypeFor[netip.Prefix]():
		v.Set(reflect.ValueOf(netip.MustParsePrefix("10.0.0.0/8")))
	case v.Kind() == reflect.Pointer:
		e := reflect.New(v.Type().Elem())
		if v.IsNil() || v.Elem().Kind() == reflect.String {
			v.Set(e)
		}
		other(t, path, v.Elem())
	case v.Kind() == reflect.Bool:
		v.SetBool(!v.Bool())
	case v.CanInt():
		v.SetInt(v.Int() + 3)
		if v.Type() == reflect.TypeFor[time.Duration]() {
			v.SetInt(v.Int() + int64(time.Second))
		}
	case v.CanFloat():
		v.SetFloat(v.Float() + 0.5)
	case v.Kind() == reflect.String:
		v.SetString(v.String() + "x")
	case v.Kind() == reflect.Map:
		m := reflect.MakeMap(v.Type())
		m.SetMapIndex(reflect.ValueOf("k").Convert(v.Type().Key()), reflect.ValueOf("v").Convert(v.Type().Elem()))
		v.Set(m)
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct && v.Len() > 0:
		v.Set(v.Slice(0, v.Len()-1))
	case v.Kind() == reflect.Slice:
		e := reflect.New(v.Type().Elem()).Elem()
		if e.Kind() == reflect.String {
			e.SetString("telegram:7")
			if text, ok := particular[path+"[]"]; ok {
				e.SetString(text.(string))
			}
		} else {
			other(t, path+"[]", e)
		}
		v.Set(reflect.Append(v, e))
	default:
		t.Fatalf("%s: no other value for %s", path, v.Type())
	}
}

// A dump writes the values that parts of a gateway were made with, without what only a run changes.
type dump struct {
	strings.Builder
	seen map[any]bool
}

func (d *dump) add(v reflect.Value) {
	if !v.IsValid() {
		return
	}
	if d.Len() > 64<<20 {
		return
	}
	switch pkg := v.Type().PkgPath(); {
	case v.Kind() == reflect.Struct && (strings.HasPrefix(pkg, "parley/backends") || strings.HasPrefix(pkg, "net/") || pkg == "parley/core" || pkg == "net" || pkg == "log/slog" || pkg == "sync" || pkg == "sync/atomic" || pkg == "time" || pkg == "crypto/tls") && v.Type() != reflect.TypeFor[netip.Prefix]() && v.Type().Name() != "Config":
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || d.seen[v.Pointer()] {
			return
		}
		d.seen[v.Pointer()] = true
		d.add(v.Elem())
	case reflect.Interface:
		d.add(v.Elem())
	case reflect.Struct:
		d.WriteString(v.Type().Name() + "{")
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name != "services" { // those of the start of a plugin that stays the same
				d.WriteString(name + ":")
				d.add(v.Field(i))
				if name == "ClaimUntil" {
					fmt.Fprint(d, v.Field(i))
				}
			}
		}
		d.WriteString("}")
	case reflect.Slice, reflect.Array:
		fmt.Fprintf(d, "[%d:", v.Len())
		for i := range v.Len() {
			d.add(v.Index(i))
			d.WriteString(",")
		}
		d.WriteString("]")
	case reflect.Map:
		var all []string
		for _, k := range v.MapKeys() {
			each := &dump{seen: d.seen}
			each.add(k)
			each.WriteString("=")
			each.add(v.MapIndex(k))
			all = append(all, each.String())
		}
		slices.Sort(all)
		fmt.Fprintf(d, "map%q", all)
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		fmt.Fprint(d, !v.IsNil())
	default:
		fmt.Fprintf(d, "%v ", v)
	}
}

// inUse returns a text of everything that the gateway was told by its configuration, and has in use.
func (g *Gateway) inUse() string {
	e := g.now.Load()
	d := &dump{seen: map[any]bool{}}
	d.add(reflect.ValueOf(e.models))
	d.add(reflect.ValueOf(e.meter))
	d.add(reflect.ValueOf(e.tasks))
	for _, p := range e.plugins.all {
		d.add(reflect.ValueOf(p.Plugin))
	}
	d.add(reflect.ValueOf(g.runtimeConfig(e)))
	d.add(reflect.ValueOf(g.webOptions(e)))
	fmt.Fprint(d, g.env.Level, e.cfg.Turns.Buttons) // the opener reads it for each answer
	return d.String()
}

// Each key of the schema is tried: a change of it reaches the parts that use it, or a restart is needed and nothing changes. The other
// way leads back to the same state.
func TestEveryKeyReloads(t *testing.T) {
	wanted := schemaKeys(t) // before the folder changes
	dir := t.TempDir()
	t.Chdir(dir)
	require.NoError(t, os.WriteFile("c.yaml", []byte("name: Zoe\n"), 0o600))
	var providers, chat strings.Builder
	fmt.Fprintln(&chat, "    - {name: openai, provider: openai, model: m}")
	for _, s := range Providers() {
		fmt.Fprintf(&providers, "  %s: {base_url: \"http://127.0.0.1:1\", api_key: key}\n", s.Name)
		fmt.Fprintf(&chat, "    - {name: %s, provider: %[1]s, model: m, thinking: status, fallback: []}\n", s.Name)
	}
	path := filepath.Join(dir, "config.yaml")
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, everything, providers.String(), chat.String()), 0o600))
	fresh := func() config.Config {
		t.Helper()
		cfg := require.Value(LoadConfig(path, func(string) (string, bool) { return "", false }))(t)
		return cfg
	}
	next := fresh()
	g, err := New(next, Env{
		Plugins: []action.Plugin{{Name: "typed", TypeTemplates: map[string]map[string]string{"x": {"evaluation": "Judge."}}}},
		Level:   new(slog.LevelVar), Load: func() (config.Config, error) { return next, nil },
		Listen: func(string, string) (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") },
	})
	require.NoError(t, err)
	defer g.backends.close()
	tried := map[string]bool{"agent.character": true} // its file is read with the configuration: see TestReload in cmd/gateway
	reload := func(cfg config.Config) string {
		t.Helper()
		next = cfg
		require.Value(g.Reload(t.Context()))(t)
		return g.inUse()
	}
	base := g.inUse()
	keys(t, fresh, func(path string, cfg config.Config) {
		if path == "agent.character" {
			return
		}
		tried[path] = true
		start, special := within(path, fresh())
		before := base
		if special {
			before = reload(start)
		}
		next = cfg
		restart, err := g.Reload(t.Context())
		now, made := g.inUse(), slices.ContainsFunc(g.now.Load().plugins.all, func(p madePlugin) bool { return !p.same }) // functions are not visible
		needs := slices.ContainsFunc(config.RestartKeys(), func(key string) bool {
			return path == key || strings.HasPrefix(path, key+".") || strings.HasPrefix(path, key+"[")
		})
		switch {
		case err != nil:
			t.Errorf("%s: %v", path, err)
		case needs && (!slices.Equal(restart, []string{path}) || now != before || made):
			t.Errorf("%s needs a restart, but %q is named, and something changed: %v", path, restart, now != before)
		case !needs && (restart != nil || now == before && !made):
			t.Errorf("%s: a restart is needed by %q, and something changed: %v", path, restart, now != before)
		}
		if after := reload(start); after != before {
			t.Fatalf("%s: the way back does not lead to the same state:\n%s", path, difference(before, after))
		}
		if special {
			reload(fresh())
		}
	})
	for _, key := range wanted {
		if !tried[key] {
			t.Errorf("%s was not tried", key)
		}
	}
}

// schemaKeys returns the keys of the schema that have a value.
func schemaKeys(t *testing.T) (all []string) {
	t.Helper()
	type schema struct {
		Properties map[string]*schema
		Items      *schema
	}
	data, err := os.ReadFile("config/schema.json")
	var root schema
	if err = errors.Join(err, json.Unmarshal(data, &root)); err != nil {
		t.Fatal(err)
	}
	var visit func(path string, s *schema)
	visit = func(path string, s *schema) {
		for key, p := range s.Properties {
			at := strings.TrimPrefix(path+"."+key, ".")
			if len(p.Properties) == 0 {
				all = append(all, at)
			}
			visit(at, p)
			if p.Items != nil {
				visit(at+"[]", p.Items)
			}
		}
	}
	visit("", &root)
	return all
}

// difference returns the place where two texts begin to differ.
func difference(a, b string) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	return a[max(0, i-200):min(len(a), i+100)] + "\n→\n" + b[max(0, i-200):min(len(b), i+100)]
}

// A reload is completed although its caller has left, as the client of a command can.
func TestReloadWithoutCaller(t *testing.T) {
	t.Chdir(t.TempDir())
	cfg := require.Value(DefaultConfig(func(string) (string, bool) { return "", false }))(t)
	g, err := New(cfg, Env{
		Load:   func() (config.Config, error) { return cfg, nil },
		Listen: func(string, string) (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") },
	})
	require.NoError(t, err)
	defer g.backends.close()
	if err := g.now.Load().meter.CountSent(t.Context(), "fake/1", "fake/person"); err != nil { // so that there is something to store
		t.Fatal(err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	require.Value(g.Reload(gone))(t)
}
