package example_test

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley"
	"parley/backends/sqlite/sqlitetest"
	"parley/config"
	"parley/config/configtest"
	"parley/connectors"
	"parley/connectors/connectortest"
	"parley/connectors/example"
	"parley/internal/sections"
	"parley/models/modelfake"
	"parley/sim"
)

const address = "example.test:80"

// load reads a configuration with the platforms of the catalog and this one, which can be among them.
func load(t *testing.T, yaml string) (config.Config, error) {
	t.Helper()
	unset := func(string) (string, bool) { return "", false }
	all := slices.DeleteFunc(parley.Platforms(), func(s sections.Section) bool { return s.Name == example.Name })
	return config.Parse("config.yaml", []byte(yaml), t.TempDir(), unset, append(all, example.Section())...)
}

func TestSuite(t *testing.T) {
	cfg, err := load(t, "connectors: {example: {token: "+token+"}}")
	if err != nil {
		t.Fatal(err)
	}
	settings := configtest.Section[example.Config](cfg.Connectors)
	connectortest.Suite[*fakeServer]{
		At: address, New: newFakeServer, Budgets: settings.Budgets(),
		Connect: func(_ *fakeServer, net *sim.Net) connectortest.Bot {
			return example.New(*settings, connectors.Deps{Dial: net.Dial, Log: slog.New(slog.DiscardHandler)})
		},
	}.Run(t)
}

// What is wrong with the section is reported as it is for any other platform.
func TestConfig(t *testing.T) {
	cfg, err := load(t, "people: {owners: ['example:ada']}\naccess: {rooms: ['example:lounge']}")
	if err != nil {
		t.Fatal(err)
	}
	if c := configtest.Section[example.Config](cfg.Connectors); c.Edits != time.Second || c.URL != "http://example.test" {
		t.Errorf("the defaults are %+v", *c)
	}
	if off := strings.Join(cfg.Off(), "\n"); !strings.Contains(off, "Example is off: set EXAMPLE_TOKEN, or connectors.example.token in the file") {
		t.Errorf("Off returns:\n%s", off)
	}
	for yaml, want := range map[string]string{
		"connectors:\n  example:\n    tokn: x":        "config.yaml:3:5: connectors.example.tokn: is not a known key; did you mean token?",
		"connectors:\n  example:\n    edits: 1ms":     `config.yaml:3:12: connectors.example.edits: "1ms" is not between 100ms and 1m; set a duration, such as 1.1s`,
		"connectors: {example: {token: '${env:NO}'}}": "the environment variable NO is not set",
		"connectors: {example: {url: 'http://?'}}":    "is not a plain server URL",
		"people: {owners: ['example:7']}":             `is not an account id; write the platform and the id in quotes`,
		"access: {rooms: ['example:server:lounge']}":  "is not a group, a channel or a server",
	} {
		if _, err := load(t, yaml); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v; want %q", yaml, err, want)
		}
	}
}

// story plays with a whole gateway, which has this platform besides those of the catalog.
func story(t *testing.T, play func(w *fakeServer, model *modelfake.Server, stop func())) {
	synctest.Test(t, func(t *testing.T) {
		network := sim.NewNet()
		listen := func(address string) net.Listener {
			l, err := network.Listen("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		w, _ := newFakeServer()
		connectortest.Serve(t, listen(address), w.Handler())
		defer w.Close()
		model := modelfake.New(modelfake.Options{Key: "sk-0123456789"})
		defer model.Serve(listen("model.test:80"))()
		cfg, err := load(t, "connectors: {example: {token: "+token+"}}\npeople: {owners: ['example:ada']}\n"+
			"providers: {openai: {base_url: 'http://model.test/v1', api_key: sk-0123456789}}\nmodels: {large: {model: "+modelfake.DefaultModel+"}}\n"+
			"store: sqlite:"+sqlitetest.Path(t))
		if err != nil {
			t.Fatal(err)
		}
		g, err := parley.New(cfg, parley.Env{Listen: network.Listen, Dial: network.Dial})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- g.Run(ctx) }()
		play(w, model, stop)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if bad := w.Refused(); len(bad) > 0 {
			t.Errorf("the server refused %q; want none", bad)
		}
	})
}

// A question in a group gets an answer that grows in one message; a stranger gets none, but in private a code.
func TestWholeGatewayAnswersInAGroup(t *testing.T) {
	story(t, func(w *fakeServer, model *modelfake.Server, _ func()) {
		model.Queue(modelfake.Script{
			modelfake.Text("Once upon a time there was a fox."), modelfake.Pause(5 * time.Second), modelfake.Text(" It was quick."),
		})
		w.Mention(connectortest.Ada, lounge, "Tell me a story")
		w.Mention(connectortest.Eve, lounge, "Me too")
		time.Sleep(time.Minute)
		synctest.Wait()
		own := w.Messages(lounge)[2:]
		if len(own) != 1 || own[0].Text != "Once upon a time there was a fox. It was quick." || len(own[0].Versions) != 2 {
			t.Errorf("people see %+v", own)
		}
		w.Say(connectortest.Eve, w.Direct(connectortest.Eve), "Hello?")
		time.Sleep(time.Minute)
		synctest.Wait()
		if own := connectortest.BotTexts(w, w.Direct(connectortest.Eve)); len(own) != 1 || !strings.Contains(own[0], "code") {
			t.Errorf("Eve reads %q", own)
		}
		if n := len(model.Requests()); n != 1 {
			t.Errorf("the model was asked %d times; want 1", n)
		}
	})
}

// gateway check tries the platform, and gateway chat leaves it out.
func TestCommands(t *testing.T) {
	w, _ := newFakeServer()
	defer w.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	connectortest.Serve(t, l, w.Handler())
	for given, want := range map[string]string{token: "accepts the token", "another": "check connectors.example.token"} {
		cfg, err := load(t, "web: {listen: '127.0.0.1:0'}\nconnectors: {example: {token: "+given+", url: 'http://"+l.Addr().String()+"'}}\nstore: sqlite:"+sqlitetest.Path(t))
		if err != nil {
			t.Fatal(err)
		}
		found := ""
		for _, f := range parley.Check(t.Context(), cfg, parley.Env{}) {
			if f.Part == "connectors.example" {
				found = f.Text
			}
		}
		if !strings.Contains(found, want) {
			t.Errorf("gateway check says %q; want %q", found, want)
		}
		if on := cfg.WithoutConnectors().ConnectorsOn(); len(on) > 0 {
			t.Errorf("gateway chat starts %v; want none", on)
		}
	}
}
