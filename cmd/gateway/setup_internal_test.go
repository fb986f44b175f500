package main

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

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
