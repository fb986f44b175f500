package parley_test

import (
	"context"
	"iter"
	"path/filepath"
	"strings"
	"testing"

	"parley"
	"parley/config"
	"parley/core/action"
	"parley/core/llm"
	"parley/gatewaytest"
	"parley/internal/require"
)

// keeper is a model that keeps the system prompts it was asked with.
type keeper struct{ systems chan string }

func (k keeper) Generate(_ context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		k.systems <- req.System
		yield(llm.Chunk{Text: "Hello."}, nil)
	}
}

// A plugin has templates for agents of one type, which agents of other types don't use.
func TestTemplatesOfAType(t *testing.T) {
	plugin := action.Plugin{
		Name: "desk", Templates: map[string]string{"messageHandler": "You help."},
		TypeTemplates: map[string]map[string]string{"support": {"messageHandler": "You help customers."}},
	}
	for agentType, want := range map[string]string{"": "You help.", "support": "You help customers.", "poet": "You help."} {
		model, door := keeper{make(chan string, 1)}, newIntercom()
		cfg := require.Value(parley.DefaultConfig(func(string) (string, bool) { return "", false }))(t)
		cfg.Agent.Type, cfg.Store = agentType, config.DSN("sqlite:"+filepath.Join(t.TempDir(), "parley.db"))
		cfg.Web.Listen, cfg.Access.Direct = "127.0.0.1:0", config.DirectOpen
		g, err := parley.New(cfg, parley.Env{
			Models: llm.Models{Large: model}, Connectors: []parley.Connector{{Connector: door}}, Plugins: []action.Plugin{plugin},
		})
		require.NoError(t, err)
		process := gatewaytest.Start(t.Context(), g.Run)
		door.ask("Hi")
		if got := <-model.systems; !strings.Contains(got, "\n\n"+want+"\n") {
			t.Errorf("the system prompt of an agent of type %q is %q; want %q", agentType, got, want)
		}
		if err := process.Stop(); err != nil {
			t.Error(err)
		}
	}
}
