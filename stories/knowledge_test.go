package stories_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"parley"
	"parley/backends/sqlite/sqlitetest"
	"parley/config"
	"parley/core/llm"
	"parley/internal/require"
	"parley/models/modelfake"
	"parley/sim"
)

// A page of agent.knowledge is read at the start, found by its meaning, and named as the source. The embedder is synthetic.
func TestKnowledgeOfAPage(t *testing.T) {
	const question, want = "May I bring my puppy?", `From faq.html, The museum › Dogs:\n  Only guide dogs may come in.`
	dir := t.TempDir()
	for name, text := range map[string]string{
		"docs/faq.html": "<!doctype html><h1>The museum</h1><h2>Hours</h2><p>We open at ten.</p><h2>Dogs</h2><p>Only guide dogs may come in.</p><h2>Food</h2><p>None.</p>",
		"config.yaml":   "agent: {knowledge: [docs]}\n",
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	loaded := require.Value(parley.LoadConfig(filepath.Join(dir, "config.yaml"), func(string) (string, bool) { return "", false }))(t)
	model := modelfake.New(modelfake.Options{Choose: func(r modelfake.Request) modelfake.Script {
		if bytes.Contains(r.Raw, []byte(want)) {
			return modelfake.Script{modelfake.Text("Only guide dogs (faq.html).")}
		}
		return modelfake.Script{modelfake.Text("I don't know.")}
	}})
	cfg := postgresConfig(t, "sqlite:"+sqlitetest.Path(t), model)
	cfg.Web.Limits = config.Limits{}
	cfg.Agent.Sources, cfg.Agent.Documents = loaded.Agent.Sources, loaded.Agent.Documents
	g, end := startGateway(t, cfg, parley.Env{
		Models: llm.Models{Embedder: modelfake.Concepts{"open hours", "dogs puppy", "food eat"}},
		Parser: inProcess{},
	})
	defer end()
	b := &sim.Browser{HTTP: http.DefaultClient, Base: "http://" + g.Addr().String()}
	id := require.Value(b.Open(t.Context()))(t)
	got := ""
	for n, begun := 0, time.Now(); time.Since(begun) < time.Minute; n++ { // it is read in the background
		st := require.Value(b.Send(t.Context(), id, fmt.Sprint("m", n), question))(t)
		require.Value(st.All())(t)
		if got = st.Text(); got != "I don't know." {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if got != "Only guide dogs (faq.html)." {
		t.Errorf(`the answer is %q; want "Only guide dogs (faq.html)."`, got)
	}
}
