package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/require"
	"parley/models/modelfake"
)

// Servers of models on this machine are found if they have a model that can answer, and offered in order.
func TestLocalServersAreFound(t *testing.T) {
	base := func(h http.Handler) string {
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		return server.URL + "/v1"
	}
	ollama := localServer{"Ollama", base(modelfake.New(modelfake.Options{Models: []string{"embedder", "llama3"}}))}
	studio := localServer{"LM Studio", base(modelfake.New(modelfake.Options{Models: []string{"qwen"}}))}
	empty := localServer{"only an embedder", base(modelfake.New(modelfake.Options{Models: []string{"text-embedder"}}))}
	other := localServer{"another program", base(http.NotFoundHandler())}
	none := localServer{"nothing", "http://127.0.0.1:1/v1"}
	got := running(t.Context(), []localServer{none, other, empty, ollama, studio})
	if diff := cmp.Diff([]localServer{ollama, studio}, got, cmp.AllowUnexported(localServer{})); diff != "" {
		t.Errorf("the servers (-want +got):\n%s", diff)
	}
	for i, want := range []string{"http://127.0.0.1:11434/v1", "http://127.0.0.1:1234/v1"} {
		if localServers[i].base != want {
			t.Errorf("%s is looked for at %s; want %s", localServers[i].title, localServers[i].base, want)
		}
	}
}

// The configuration of the machine is for its service, in the way that its program was installed.
func TestStartOfTheService(t *testing.T) {
	want := "sudo " + thisProgram() + " service install"
	if packaged() {
		want = "sudo systemctl enable --now parley"
	}
	if got := startOf(machineConfig); runtime.GOOS == "linux" && got != want {
		t.Errorf("it is started with %q; want %q", got, want)
	}
}

// The service of the machine looks at the copies that it was handed, not at the files of root: a change there does not apply yet.
func TestServiceWatchesItsCopies(t *testing.T) {
	root, creds, later := t.TempDir(), t.TempDir(), t.TempDir()
	t.Setenv("CREDENTIALS_DIRECTORY", creds)
	t.Setenv("RUNTIME_DIRECTORY", later)
	write := func(dir, text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "shop.yaml"), []byte(text), 0o600))
	}
	write(creds, "agent: {name: Ann}\n")
	s := &source{c: &cli{Config: filepath.Join(root, "shop.yaml")}}
	name := func() string {
		t.Helper()
		cfg, _, err := s.load()
		require.NoError(t, err)
		return cfg.Agent.Name
	}
	first := name()
	write(root, "agent: {name: Beatrice}\n")
	if _, changed := s.stamp(); changed || first != "Ann" {
		t.Errorf("%s is changed by a file that the service can't read", first)
	}
	require.NoError(t, filesFor(s.c.Config).handOver(later))
	if got := name(); got != "Beatrice" {
		t.Errorf("after the reload it is %s", got)
	}
}
