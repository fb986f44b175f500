package main_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"parley"
	"parley/internal/require"
)

// deployed is what the tests read of compose.yaml.
type deployed struct {
	Services map[string]struct {
		Build       struct{ Context, Dockerfile string }
		Command     []string
		Environment map[string]string
		Volumes     []string
	}
	Networks map[string]struct {
		IPAM struct{ Config []struct{ Subnet string } }
	}
}

func deployFile(t *testing.T, name string) string {
	t.Helper()
	data := require.Value(os.ReadFile(filepath.Join(top, "deploy", name)))(t)
	return string(data)
}

// exampleEnv is .env.example.
func exampleEnv(t *testing.T) map[string]string {
	t.Helper()
	env := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^(\w+)=(.*)$`).FindAllStringSubmatch(deployFile(t, ".env.example"), -1) {
		env[m[1]] = m[2]
	}
	return env
}

// composed is compose.yaml with the variables of .env.example. Those that must be set are, and each is used.
func composed(t *testing.T) (d deployed) {
	t.Helper()
	env, used := exampleEnv(t), map[string]bool{}
	text := regexp.MustCompile(`\$\{(\w+)(:[?-][^}]*)?\}`).ReplaceAllStringFunc(deployFile(t, "compose.yaml"), func(use string) string {
		name := regexp.MustCompile(`\w+`).FindString(use)
		value, ok := env[name]
		if !ok || value == "" && !strings.Contains(use, ":-") {
			t.Errorf("compose.yaml uses %s, and .env.example has %q", use, value)
		}
		used[name] = true
		return value
	})
	for name := range env {
		if !used[name] {
			t.Errorf("compose.yaml does not use %s of .env.example", name)
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(text), &d))
	return d
}

var replicaNames = []string{"gateway1", "gateway2", "gateway3"}

// namedVariables returns the environment variables that config.yaml names.
func namedVariables(t *testing.T) (names []string) {
	t.Helper()
	text := require.Value(os.ReadFile(filepath.Join(top, "deploy", "config.yaml")))(t)
	for _, m := range regexp.MustCompile(`\$\{env:(\w+)`).FindAllStringSubmatch(string(text), -1) {
		names = append(names, m[1])
	}
	if len(names) == 0 {
		t.Fatal("config.yaml names no variable")
	}
	return names
}

// The program accepts the configuration, with the environment of each replica and no more.
func TestDeployedConfiguration(t *testing.T) {
	d := composed(t)
	for _, name := range replicaNames {
		s := d.Services[name]
		used := map[string]bool{}
		cfg, err := parley.LoadConfig(filepath.Join(top, "deploy", "config.yaml"), func(name string) (string, bool) {
			used[name] = true
			value, ok := s.Environment[name]
			return value, ok
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		used["PGPASSWORD"] = true // the driver reads it
		for variable := range s.Environment {
			if !used[variable] {
				t.Errorf("%s has the variable %s, which config.yaml does not use", name, variable)
			}
		}
		for _, variable := range namedVariables(t) { // the rest are default places of optional keys
			if _, ok := s.Environment[variable]; !ok {
				t.Errorf("%s lacks %s", name, variable)
			}
		}
		if !strings.Contains(cfg.Store.Reveal(), "@postgres/") || cfg.Shared.Reveal() != "redis://redis:6379" || len(cfg.Warnings) > 0 {
			t.Errorf("%s uses %s and %s, with the warnings %q", name, cfg.Store, cfg.Shared, cfg.Warnings)
		}
		if subnet := d.Networks["inner"].IPAM.Config[0].Subnet; cfg.Web.TrustedProxies[0].String() != subnet {
			t.Errorf("the proxy is in %s, and %v are trusted", subnet, cfg.Web.TrustedProxies)
		}
		if !slices.Equal(cfg.Web.Origins, []string{"https://" + d.Services["proxy"].Environment["PARLEY_SITE"]}) {
			t.Errorf("the origins are %q", cfg.Web.Origins)
		}
	}
	for _, name := range []string{"postgres", "redis", "proxy"} {
		if _, ok := d.Services[name]; !ok {
			t.Errorf("there is no service %s", name)
		}
	}
}

// The commands and files that the containers are given exist, and the program reads the configuration that its flag names.
func TestDeployedCommands(t *testing.T) {
	d := composed(t)
	for name, s := range d.Services {
		for _, v := range s.Volumes {
			if file, _, _ := strings.Cut(v, ":"); strings.HasPrefix(file, "./") {
				deployFile(t, file)
			}
		}
		if !slices.Contains(replicaNames, name) {
			continue
		}
		if _, err := os.Stat(filepath.Join(top, "deploy", s.Build.Context, s.Build.Dockerfile)); err != nil {
			t.Error(err)
		}
		if !slices.Contains(s.Volumes, "./config.yaml:"+s.Command[1]+":ro") || s.Command[0] != "--config" {
			t.Errorf("%s runs %q with %q", name, s.Command, s.Volumes)
		}
		args := slices.Concat([]string{"--config", filepath.Join(t.TempDir(), "none.yaml")}, s.Command[2:])
		out, err := command(t, nil, args...).CombinedOutput()
		if status(t, err) != 1 || !strings.Contains(string(out), "none.yaml") || strings.Contains(string(out), "--help") {
			t.Errorf("gateway %q: %s", args, out)
		}
	}
}

// The proxy knows the replicas, buffers nothing, and refuses what is for programs of the same machine.
func TestDeployedProxy(t *testing.T) {
	text, d := deployFile(t, "Caddyfile"), composed(t)
	found := strings.Fields(d.Services["proxy"].Environment["PARLEY_GATEWAYS"])
	if len(found) != len(replicaNames) {
		t.Errorf("the proxy knows %q", found)
	}
	for _, part := range []string{"reverse_proxy {$PARLEY_GATEWAYS} {", "flush_interval -1", "respond /local/* 404", "health_uri /readyz"} {
		if !strings.Contains(text, part) {
			t.Errorf("the proxy's configuration lacks %q", part)
		}
	}
	for _, m := range regexp.MustCompile(`\{\$(\w+)\}`).FindAllStringSubmatch(text, -1) {
		if _, ok := d.Services["proxy"].Environment[m[1]]; !ok {
			t.Errorf("the proxy lacks %s", m[1])
		}
	}
	for name := range maps.Keys(d.Services) {
		if strings.HasPrefix(name, "gateway") && !slices.Contains(replicaNames, name) {
			t.Errorf("the service %s is not tested", name)
		}
	}
}

// The image is built from what there is, with the Go of go.mod. It has no other program, checks its health, and does not run as root.
func TestDockerfile(t *testing.T) {
	text := deployFile(t, "Dockerfile")
	mod := require.Value(os.ReadFile(filepath.Join(top, "go.mod")))(t)
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(mod))[1]
	entry := regexp.MustCompile(`(?m)^ENTRYPOINT (.*)$`).FindStringSubmatch(text)
	var program []string
	require.NoError(t, json.Unmarshal([]byte(entry[1]), &program))
	for _, part := range []string{"FROM golang:" + version + " AS build\n", "CGO_ENABLED=0 go build", "-o /out" + program[0] + " ./cmd/gateway\n",
		"COPY --from=program /out" + program[0] + " " + program[0] + "\n", "FROM scratch\n"} { // TestContainer tries the rest
		if !strings.Contains(text, part) {
			t.Errorf("it lacks %q", part)
		}
	}
}

// The single gateway has the same variables, a read-only root, and its store in a volume.
func TestDeployedSingleGateway(t *testing.T) {
	env := exampleEnv(t)
	var d deployed
	text := regexp.MustCompile(`\$\{(\w+)(:[?-][^}]*)?\}`).ReplaceAllStringFunc(deployFile(t, "compose.single.yaml"), func(use string) string {
		name := regexp.MustCompile(`\w+`).FindString(use)
		if _, ok := env[name]; !ok {
			t.Errorf(".env.example lacks %s", name)
		}
		return env[name]
	})
	require.NoError(t, yaml.Unmarshal([]byte(text), &d))
	g := d.Services["gateway"]
	cfg, err := parley.LoadConfig(filepath.Join(top, "deploy", "config.single.yaml"), func(name string) (string, bool) {
		value, ok := g.Environment[name]
		return value, ok
	})
	require.NoError(t, err)
	if cfg.Store.Reveal() != "sqlite:parley.db" || len(cfg.Warnings) > 0 || cfg.Web.TrustedProxies[0].String() != d.Networks["inner"].IPAM.Config[0].Subnet {
		t.Errorf("it uses %s behind %v, with the warnings %q", cfg.Store, cfg.Web.TrustedProxies, cfg.Warnings)
	}
	if !slices.Equal(g.Volumes, []string{"./config.single.yaml:" + g.Command[1] + ":ro", "data:/data"}) || !strings.Contains(text, "read_only: true") {
		t.Errorf("it has the volumes %q", g.Volumes)
	}
	if d.Services["proxy"].Environment["PARLEY_GATEWAYS"] != "gateway:8080" {
		t.Error("the proxy does not lead to it")
	}
}

// The manifests have no field that Kubernetes does not know, the program accepts their configuration, and a pod has enough time to stop.
func TestKubernetesManifests(t *testing.T) {
	file := require.Value(filepath.Abs(filepath.Join(top, "deploy/kubernetes/parley.yaml")))(t)
	check := func(file string) ([]byte, error) {
		c := exec.CommandContext(t.Context(), "go", "run", "-C", filepath.Join(top, "tools/kubernetes"), ".", file) // a module of its own: the types are heavy
		return c.CombinedOutput()
	}
	out, err := check(file)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := strings.Count(string(out), "\n"); got != 4 {
		t.Errorf("%d objects: %s", got, out)
	}
	text := deployFile(t, "kubernetes/parley.yaml")
	wrong := filepath.Join(t.TempDir(), "wrong.yaml")
	require.NoError(t, os.WriteFile(wrong, []byte(strings.Replace(text, "readinessProbe", "readynessProbe", 1)), 0o600))
	if out, err := check(wrong); err == nil || !strings.Contains(string(out), "readynessProbe") {
		t.Errorf("a wrong field passes: %v %s", err, out)
	}
	var m struct{ Data map[string]string }
	first, _, _ := strings.Cut(text, "\n---\n")
	require.NoError(t, yaml.Unmarshal([]byte(first), &m))
	env := map[string]string{"PARLEY_STORE": "postgres://db/parley", "PARLEY_SHARED": "redis://redis", "OPENAI_API_KEY": "k", "PARLEY_ORIGIN": "https://chat.example.org"}
	cfg, err := parley.ParseConfig("config.yaml", []byte(m.Data["config.yaml"]), "", func(name string) (string, bool) { value, ok := env[name]; return value, ok })
	if err != nil || len(cfg.Warnings) > 0 {
		t.Fatalf("%v, %q", err, cfg.Warnings)
	}
	if cfg.Shutdown.Seconds() != 20 || !strings.Contains(text, "terminationGracePeriodSeconds: 45\n") { // preStop, grace, goodbye, and a margin
		t.Errorf("the grace is %v", cfg.Shutdown)
	}
}
