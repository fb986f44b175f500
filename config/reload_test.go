package config

import (
	"slices"
	"strings"
	"testing"

	"parley/internal/require"
)

// Keys that need a restart keep their values, and are named with their paths, in order; other keys change.
func TestAfter(t *testing.T) {
	parse := func(text string) Config {
		t.Helper()
		c := require.Value(Parse("config.yaml", []byte(text), ".", func(string) (string, bool) { return "", false }, catalog...))(t)
		return c
	}
	running := parse("web: {listen: '127.0.0.1:1'}\nlog: {level: debug}")
	next := parse("agent: {name: Zoe}\nweb: {listen: '127.0.0.1:2'}\nlog: {level: warn, format: json}\nstore: 'sqlite:b.db'\n" +
		"connectors: {telegram: {token: '123456789:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', limits: {per_second: 7}}}\nshutdown: 7s")
	got, changed := next.After(running)
	want := []string{"connectors.telegram.token", "connectors.telegram.limits.per_second", "web.listen", "store", "shutdown", "log.format"}
	if !slices.Equal(changed, want) {
		t.Errorf("these need a restart: %q", changed)
	}
	if got.Agent.Name != "Zoe" || got.Log.Level != "warn" || got.Web.Listen != "127.0.0.1:1" || got.Store != running.Store || len(got.ConnectorsOn()) != 0 {
		t.Errorf("applied is %+v", got)
	}
	if next.Web.Listen != "127.0.0.1:2" || len(next.ConnectorsOn()) != 1 {
		t.Error("the argument has changed")
	}
	if _, changed := running.After(running); changed != nil {
		t.Errorf("without a change: %q", changed)
	}
	for path, want := range map[string]bool{"web.listen": true, "web.limits.open_requests": false, "connectors.discord.progress": true, "shutdown": true, "models.chat[].name": false, "store": true} {
		if slices.ContainsFunc(RestartKeys(), func(key string) bool { return path == key || strings.HasPrefix(path, key+".") }) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
}
