package parley_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"parley"
	"parley/backends/redis"
	"parley/backends/redis/redistest"
	"parley/backends/sqlite"
	"parley/config"
	"parley/config/configtest"
	"parley/connectors/discord"
	"parley/connectors/discord/discordfake"
	"parley/connectors/telegram"
	"parley/connectors/telegram/telegramfake"
	"parley/core/chat"
	"parley/gatewaytest"
	"parley/internal/require"
	"parley/models/modelfake"
)

// checking is a configuration with both platforms, and what a check finds.
type checking struct {
	*testing.T
	cfg config.Config
}

func newChecking(t *testing.T, tg *telegramfake.Server, dc *discordfake.Server) *checking {
	t.Helper()
	cfg := require.Value(parley.DefaultConfig(func(string) (string, bool) { return "", false }))(t)
	cfg.Store, cfg.Web.Listen = config.DSN("sqlite:"+filepath.Join(t.TempDir(), "parley.db")), "127.0.0.1:0"
	if tg != nil {
		server := httptest.NewServer(tg)
		t.Cleanup(server.Close)
		configtest.Section[telegram.Config](cfg.Connectors).Token, configtest.Section[telegram.Config](cfg.Connectors).APIURL = config.Secret(tg.Token()), server.URL
	}
	if dc != nil {
		server := httptest.NewServer(dc.Handler())
		t.Cleanup(server.Close)
		configtest.Section[discord.Config](cfg.Connectors).Token, configtest.Section[discord.Config](cfg.Connectors).APIURL = config.Secret(dc.Token()), server.URL
	}
	return &checking{t, cfg}
}

// finds is the only finding of a part.
func (c *checking) finds(part string) (found parley.Finding) {
	c.Helper()
	n := 0
	for _, f := range parley.Check(c.Context(), c.cfg, parley.Env{}) {
		if f.Part == part {
			found = f
			n++
		}
	}
	if n != 1 {
		c.Fatalf("%d findings of %s; want 1", n, part)
	}
	return found
}

// Who wants the agent to follow a whole group is told what the platform keeps from it (TR-27, DR-19), and how to change that.
// No other service gets a request.
func TestCheckHearsGroups(t *testing.T) {
	ambient := config.GroupAmbient
	deaf := func() (*telegramfake.Server, *discordfake.Server) {
		return telegramfake.New(), discordfake.New(discordfake.WithPrivileged(0))
	}
	hears := func() (*telegramfake.Server, *discordfake.Server) {
		return telegramfake.New(telegramfake.WithReadAllGroupMessages()), discordfake.New()
	}
	for name, c := range map[string]struct {
		bots     func() (*telegramfake.Server, *discordfake.Server)
		edit     func(*config.Access)
		telegram string // the key that is in doubt; empty for none
		discord  string
	}{
		"mention_only":          {bots: deaf, edit: func(*config.Access) {}},
		"ambient":               {deaf, func(a *config.Access) { a.Group = ambient }, "access.group", "access.group"},
		"ambient, and it hears": {bots: hears, edit: func(a *config.Access) { a.Group = ambient }},
		"ambient, but not there": {deaf, func(a *config.Access) {
			a.Group, a.Rooms = ambient, []config.Chat{"telegram:-1001"}
		}, "access.group", ""},
		"always": {deaf, func(a *config.Access) { a.Always.Rooms = []config.Chat{"telegram:-1001"} }, "access.always.rooms", ""},
		"in one place": {deaf, func(a *config.Access) {
			a.Overrides = []config.Override{{Rooms: []config.Chat{"telegram:-1001"}}, {Rooms: []config.Chat{"discord:server:1"}, Group: &ambient}}
		}, "", "access.overrides[1].group"},
	} {
		t.Run(name, func(t *testing.T) {
			telegram, discord := c.bots()
			check := newChecking(t, telegram, discord)
			c.edit(&check.cfg.Access)
			for part, want := range map[string]struct{ key, next string }{
				"connectors.telegram": {c.telegram, "/setprivacy"}, "connectors.discord": {c.discord, "https://discord.com/developers"},
			} {
				f := check.finds(part)
				if !f.OK || f.Doubt != (want.key != "") || !strings.Contains(f.Text, want.key) || f.Doubt && !strings.Contains(f.Text, want.next) {
					t.Errorf("%+v; want a doubt about %q", f, want.key)
				}
			}
		})
	}
}

// Bots that no one can talk to are the most common mistake: the check says how to become the owner.
func TestCheckOwner(t *testing.T) {
	for name, c := range map[string]struct {
		edit  func(*config.Config)
		doubt bool
		text  string
	}{
		"no users":              {func(*config.Config) {}, true, "send the code"},
		"no owner, a few users": {func(c *config.Config) { c.People.Allowed = []config.Member{"telegram:1"} }, true, "send the code"},
		"in the file":           {func(c *config.Config) { c.People.Owners = []config.Account{"telegram:1", "discord:2"} }, false, "telegram:1 and 1 more"},
		"a few": {func(c *config.Config) {
			c.Access.Direct, c.People.Allowed = "allowlist", []config.Member{"discord:role:3"}
		}, false, "the access section decides"},
		"no one allowed": {func(c *config.Config) { c.Access.Direct = "allowlist" }, true, "people.allowed"},
		"everybody":      {func(c *config.Config) { c.Access.Direct = config.DirectOpen }, false, "can talk to the bots"},
		"who brought the code": {func(c *config.Config) {
			store, err := sqlite.Open(context.Background(), strings.TrimPrefix(c.Store.Reveal(), "sqlite:"), sqlite.Options{})
			if err != nil {
				panic(err)
			}
			defer store.Close()
			if _, err := store.SetOwner(context.Background(), chat.Person{ID: "telegram/7", Name: "Ada"}); err != nil {
				panic(err)
			}
		}, false, "telegram:7"},
	} {
		t.Run(name, func(t *testing.T) {
			check := newChecking(t, telegramfake.New(), nil)
			c.edit(&check.cfg)
			if f := check.finds("owner"); !f.OK || f.Doubt != c.doubt || !strings.Contains(f.Text, c.text) {
				t.Errorf("%+v", f)
			}
		})
	}
}

// A gateway that could not listen is told so before it starts, but not because it runs already.
func TestCheckListens(t *testing.T) {
	check := newChecking(t, nil, nil)
	if f := check.finds("web"); !f.OK || !strings.Contains(f.Text, "127.0.0.1") {
		t.Errorf("a free port: %+v", f)
	}
	other := require.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	check.cfg.Web.Listen = other.Addr().String()
	if f := check.finds("web"); f.OK || !strings.Contains(f.Text, "web.listen") {
		t.Errorf("another program's port: %+v", f)
	}
	require.NoError(t, other.Close())
	g := require.Value(parley.New(check.cfg, parley.Env{}))(t)
	process := gatewaytest.Start(t.Context(), g.Run)
	check.cfg.Web.Listen = g.Addr().String()
	if f := check.finds("web"); !f.OK || !strings.Contains(f.Text, "running gateway") {
		t.Errorf("its own port: %+v", f)
	}
	require.NoError(t, process.Stop())
}

// The check reports that gateways with another store have the name on Redis, as a start would, and takes nothing itself. Gateways with the
// same store are no conflict; nor is a store that can't be asked because a gateway has it.
func TestCheckCluster(t *testing.T) {
	server := redistest.Start(t)
	check := newChecking(t, nil, nil)
	check.cfg.Shared, check.cfg.Cluster = config.DSN(server.URL()), "shop"
	wants := func(state string, ok bool) {
		t.Helper()
		if f := check.finds("shared"); f.OK != ok || f.OK == strings.Contains(f.Text, `cluster "office": gateways with another store`) {
			t.Errorf("%s: %+v", state, f)
		}
	}
	wants("the name is free", true)
	if !server.Empty() {
		t.Error("the check has left keys on the server; want none")
	}
	store := require.Value(sqlite.Open(t.Context(), strings.TrimPrefix(check.cfg.Store.Reveal(), "sqlite:"), sqlite.Options{}))(t)
	for name, id := range map[string]string{"shop": store.ID(), "office": "another"} {
		gateway := require.Value(redis.Open(server.URL(), redis.Options{Name: name, Store: id}))(t)
		defer gateway.Close()
		require.NoError(t, gateway.Join(t.Context()))
	}
	check.cfg.Cluster = "office"
	wants("a gateway has the store", true)
	require.NoError(t, store.Close())
	wants("another store has the name", false)
	check.cfg.Cluster = "shop"
	wants("gateways with this store have the name", true)
}

// Every model that is configured is tried as far as that is cheap, and what is wrong is told with the key that mends it.
func TestCheckModels(t *testing.T) {
	const key = "sk-check-0123456789abcdef"
	fake := modelfake.New(modelfake.Options{Key: key, Models: []string{"large", "small", "eyes", "ears", "brush"}})
	server := httptest.NewServer(http.Handler(fake))
	defer server.Close()
	cfg := require.Value(parley.DefaultConfig(func(string) (string, bool) { return "", false }))(t)
	cfg.Store = config.DSN("sqlite:" + filepath.Join(t.TempDir(), "parley.db"))
	cfg.Providers.OpenAI.BaseURL, cfg.Providers.OpenAI.APIKey = server.URL+"/v1", key
	cfg.Models = config.Models{
		Large: config.Model{Model: "large"}, Small: config.Slot{Model: "small"}, Vision: config.Slot{Model: "eyes"},
		Transcription: config.Slot{Model: "ears"}, Image: config.Slot{Model: "bush"}, Embedding: config.Slot{Model: "vectors"},
	}
	told := map[string]parley.Finding{}
	for _, f := range parley.Check(t.Context(), cfg, parley.Env{}) {
		told[f.Part] = f
	}
	for part, want := range map[string]struct {
		ok   bool
		text string
	}{
		"models.large":         {true, "and takes tools"},
		"models.small":         {true, "small answers at"},
		"models.vision":        {true, "and takes images"},
		"models.transcription": {true, "ears is listed at"},
		"models.image":         {false, "set models.image.model to brush, the nearest of its"},
		"models.embedding":     {true, "vectors of 8 dimensions"},
	} {
		if got := told[part]; got.OK != want.ok || !strings.Contains(got.Text, want.text) {
			t.Errorf("%s: %+v, want %+v", part, got, want)
		}
	}
}

// Servers of tools are checked without a call of a tool: what works, and what doesn't, with its reason.
func TestCheckTools(t *testing.T) {
	c := newChecking(t, nil, nil)
	var bodies []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(data))
		w.WriteHeader(http.StatusMethodNotAllowed)
	}))
	defer server.Close()
	c.cfg.Tools = []config.WebhookTool{{Name: "STATUS", Description: "x", URL: server.URL}}
	c.cfg.MCP = []config.MCPServer{{Name: "gone", Command: []string{"/no/such/program"}}}
	model := modelfake.New(modelfake.Options{Choose: func(r modelfake.Request) modelfake.Script {
		if strings.Contains(string(r.Raw), `"STATUS"`) {
			return modelfake.Script{modelfake.Status(400, `{"error":{"message":"Invalid schema for function 'STATUS': it is odd"}}`)}
		}
		return modelfake.Script{modelfake.Text("OK")}
	}})
	at := httptest.NewServer(model)
	defer at.Close()
	c.cfg.Providers.OpenAI.BaseURL, c.cfg.Models.Large.Model = at.URL+"/v1", modelfake.DefaultModel
	if f := c.finds("tools"); !f.OK || !f.Doubt || !strings.HasPrefix(f.Text, "models.large refuses the tool STATUS, so it is not offered it: 400 Bad Request: Invalid schema") {
		t.Errorf("%+v", f)
	}
	bodies = nil
	if f := c.finds("tools.STATUS"); !f.OK || !strings.Contains(f.Text, "405") {
		t.Errorf("%+v", f)
	}
	if f := c.finds("mcp.gone"); f.OK || !strings.Contains(f.Text, "start /no/such/program") {
		t.Errorf("%+v", f)
	}
	for _, b := range bodies {
		if b != `{"type":"ping"}` {
			t.Errorf("the check sent %s", b)
		}
	}
}

// A check reports what it finds in its lines, and logs nothing of what works.
func TestCheckOfRecallLogsNothing(t *testing.T) {
	check := newChecking(t, nil, nil)
	model := httptest.NewServer(modelfake.New(modelfake.Options{}))
	t.Cleanup(model.Close)
	check.cfg.Providers.OpenAI.BaseURL = model.URL + "/v1"
	check.cfg.Models.Large.Model, check.cfg.Models.Embedding.Model, check.cfg.Agent.Recall = modelfake.DefaultModel, "embedder", config.RecallMeaning
	var log strings.Builder
	for _, f := range parley.Check(t.Context(), check.cfg, parley.Env{Log: slog.New(slog.NewTextHandler(&log, nil))}) {
		if !f.OK || f.Doubt {
			t.Errorf("%s: %s", f.Part, f.Text)
		}
	}
	if log.Len() > 0 {
		t.Errorf("the log says %s", log.String())
	}
}
