package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parley/internal/golden"
	"parley/internal/require"
)

// environment is a getenv over a fixed set of variables.
func environment(variables map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := variables[name]
		return value, ok
	}
}

var exact = cmp.Options{cmpopts.IgnoreTypes(Sources{}), cmpopts.EquateComparable(), cmp.Comparer(func(a, b Secret) bool { return a == b })}

func parse(t *testing.T, yaml string, variables map[string]string) Config {
	t.Helper()
	c, err := Parse("config.yaml", []byte(yaml), t.TempDir(), environment(variables), platforms...)
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return c
}

func TestDeliveredFileEqualsDefault(t *testing.T) {
	environments := map[string]map[string]string{
		"nothing set": {},
		"set but empty": {
			"OPENAI_API_KEY": "", "OPENAI_BASE_URL": "", "OPENAI_MODEL": "",
			"DISCORD_TOKEN": "", "TELEGRAM_TOKEN": "", "REDIS_URL": "",
		},
		"all set": {
			"OPENAI_API_KEY": "key", "OPENAI_BASE_URL": "http://127.0.0.1:11434/v1", "OPENAI_MODEL": "m",
			"DISCORD_TOKEN": "abc.def.ghi", "TELEGRAM_TOKEN": "1:a", "REDIS_URL": "rediss://u:p@cache:6379/1",
		},
		"key only": {"OPENAI_API_KEY": "key"},
	}
	for name, variables := range environments {
		t.Run(name, func(t *testing.T) {
			fromFile, err := Load("../config.yaml", environment(variables), catalog...)
			if err != nil {
				t.Fatalf("Load: %v", err)
			}
			inCode, err := Default(environment(variables), catalog...)
			if err != nil {
				t.Fatalf("Default: %v", err)
			}
			if diff := cmp.Diff(inCode, fromFile, exact); diff != "" {
				t.Errorf("config.yaml (+) differs from Default (-):\n%s", diff)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	c := require.Value(Default(environment(nil), platforms...))(t)
	if c.Agent.Name != "Parley" || c.Web.Listen != "127.0.0.1:8080" || c.Turns.Timeout != 15*time.Minute ||
		c.Shared != "inmem:" || c.Store != "sqlite:parley.db" || c.Providers.OpenAI.BaseURL != "" {
		t.Errorf("unexpected defaults: %+v", c)
	}
	withKey, err := Default(environment(map[string]string{"OPENAI_API_KEY": "k"}), platforms...)
	if err != nil || withKey.Providers.OpenAI.BaseURL != "https://api.openai.com/v1" {
		t.Errorf("with a key: base_url %q, error %v", withKey.Providers.OpenAI.BaseURL, err)
	}
}

func TestParseReadsEveryType(t *testing.T) {
	c := parse(t, `
agent: {name: "A", system: "B", generation: xml_steps, max_steps: 3}
models: {large: {provider: demo, max_tokens: 500, temperature: 1}}
people: {owners: ["telegram:123456789", "discord:80351110224678912"], allowed: ["telegram:-1001234567890", "discord:role:7"]}
web:
  listen: "[::1]:0"
  public: true
  origins: ["https://chat.example.org", "http://localhost:3000"]
  trusted_proxies: [10.0.0.0/8, "fd00::/8"]
connectors: {telegram: {token: "1:a"}}
turns: {direct: collect, idle: 1m30s}
access:
  direct: open
  group: off
  rooms: ["discord:20", "telegram:-1001"]
  allow: ["telegram:-1", "discord:server:8"]
  overrides:
    - rooms: ["discord:21"]
      group: ambient
      system: Be kind.
      tools: [ROLL]
    - {rooms: ["discord:server:5"], group: auto}
log: {level: debug}
`, nil)
	if c.People.Owners[0] != "telegram:123456789" || c.People.Owners[1] != "discord:80351110224678912" || len(c.People.Allowed) != 2 || len(c.Access.Allow) != 2 {
		t.Errorf("accounts: %v %v", c.People.Owners, c.Access.Allow)
	}
	if c.Access.Direct != DirectOpen || c.Access.Group != "off" || len(c.Access.Rooms) != 2 || c.Access.Rooms[1] != "telegram:-1001" {
		t.Errorf("access: %+v", c.Access)
	}
	if o := c.Access.Overrides; len(o) != 2 || *o[0].Group != GroupAmbient || o[0].System != "Be kind." || o[0].Tools[0] != "ROLL" || o[1].Group != nil {
		t.Errorf("overrides: %+v", c.Access.Overrides)
	}
	if c.Agent.Generation != GenerateSteps || c.Agent.MaxSteps != 3 {
		t.Errorf("agent: %+v", c.Agent)
	}
	if *c.Models.Large.Temperature != 1 || c.Models.Large.MaxTokens != 500 || c.Turns.Idle != 90*time.Second {
		t.Errorf("numbers: %+v %v", c.Models.Large, c.Turns.Idle)
	}
	if c.Web.TrustedProxies[1].String() != "fd00::/8" || !c.Web.Public || len(c.ConnectorsOn()) != 1 || c.Turns.Direct != "collect" {
		t.Errorf("others: %+v", c)
	}
	if c.Turns.Group != "queue" {
		t.Errorf("a key beside those given lost its default: %q", c.Turns.Group)
	}
}

func TestEmptyFileIsTheDefault(t *testing.T) {
	want, _ := Default(environment(nil), platforms...)
	for _, empty := range []string{"", "\n", "# only a comment\n", "---\n", "\ufeff# with a byte order mark\n", "{}"} {
		if diff := cmp.Diff(want, parse(t, empty, nil), exact); diff != "" {
			t.Errorf("%q: %s", empty, diff)
		}
	}
}

func TestLoadSaysWhichFileIsMissing(t *testing.T) {
	_, err := Load(filepath.Join(t.TempDir(), "absent.yaml"), environment(nil), platforms...)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "absent.yaml") {
		t.Errorf("error %v", err)
	}
}

// TestErrorsReadWell covers SE-14, DR-28 and the configuration's part of SE-02.
// Each testdata/*.yaml is wrong; the .txt beside it is the message for it.
func TestErrorsReadWell(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in testdata (%v)", err)
	}
	const secret = "hunter2-never-shown"
	variables := map[string]string{"SECRET": secret, "EMPTY": "", "TELEGRAM_TOKEN": secret, "WORD": secret}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			values := variables
			if !strings.Contains(string(data), "TELEGRAM_TOKEN") {
				values = map[string]string{"SECRET": secret, "EMPTY": "", "WORD": secret}
			}
			_, err = Parse("config.yaml", data, "testdata", environment(values), platforms...)
			if _, ok := errors.AsType[Problems](err); !ok {
				t.Fatalf("error %v is not Problems", err)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("SE-02: the message gives a secret away: %v", err)
			}
			golden.Check(t, strings.TrimSuffix(file, ".yaml")+".txt", err.Error()+"\n")
		})
	}
}

func TestProblemsCanBeTakenApart(t *testing.T) {
	_, err := Parse("f.yaml", []byte("log:\n  level: loud\nweb:\n  public: 3\n"), "", environment(nil), platforms...)
	problem, ok := errors.AsType[Problem](err)
	if !ok || problem.File != "f.yaml" || problem.Line != 2 || problem.Column != 10 || problem.Key != "log.level" {
		t.Errorf("first problem: %+v", problem)
	}
}

// FuzzParse: no input panics, every error is Problems, and what the environment
// holds never occurs in an error (SE-02, SE-14).
func FuzzParse(f *testing.F) {
	files := require.Value(filepath.Glob("testdata/*.yaml"))(f)
	for _, file := range append(files, "../config.yaml") {
		data := require.Value(os.ReadFile(file))(f)
		f.Add(data)
	}
	const secret = "Zq7-secret-of-the-environment"
	getenv := func(string) (string, bool) { return secret, true }
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := Parse("config.yaml", data, dir, getenv, platforms...)
		if err == nil {
			return
		}
		problems, ok := errors.AsType[Problems](err)
		if !ok || len(problems) == 0 {
			t.Fatalf("not Problems: %v", err)
		}
		for _, part := range []string{secret, secret[:12], secret[len(secret)-12:]} {
			if strings.Contains(err.Error(), part) {
				t.Fatalf("the error shows a secret: %v", err)
			}
		}
	})
}

// A file that ends too early is refused, wherever it ends.
func TestTruncatedJSON(t *testing.T) {
	const whole = `{"name": "Ada", "style": {"all": ["short", {"x": 1}]}, "n": null}`
	if _, wrong := readJSON([]byte(whole)); wrong != nil {
		t.Fatal(wrong)
	}
	for n := 1; n < len(whole); n++ {
		if got, wrong := readJSON([]byte(whole[:n])); wrong == nil {
			t.Errorf("%s is read as %+v", whole[:n], got)
		}
		// A bracket of the other kind ends nothing either.
		for _, end := range []string{"}", "]"} {
			if text := whole[:n] + end; strings.Count(text, "{") != strings.Count(text, "}") || strings.Count(text, "[") != strings.Count(text, "]") {
				if got, wrong := readJSON([]byte(text)); wrong == nil {
					t.Errorf("%s is read as %+v", text, got)
				}
			}
		}
	}
}

// The file adds to the environment, which takes precedence. Errors name the line, and show no value.
func TestWithDotEnv(t *testing.T) {
	environment := func(name string) (string, bool) { return "set", name == "SET" }
	path := filepath.Join(t.TempDir(), ".env")
	if get, err := WithDotEnv(path, environment); err != nil {
		t.Errorf("without a file: %v", err)
	} else if _, ok := get("A"); ok {
		t.Error("without a file, A is set")
	}
	text := "\ufeff# secrets\r\n\nA=1=2\nexport B = \"two words\" \nC='# no comment'\nD=\nSET=file\n"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	get := require.Value(WithDotEnv(path, environment))(t)
	for name, want := range map[string]string{"A": "1=2", "B": "two words", "C": "# no comment", "D": "", "SET": "set"} {
		if got, ok := get(name); !ok || got != want {
			t.Errorf("%s is %q, %v", name, got, ok)
		}
	}
	open, _ := os.ReadDir("/proc/self/fd") // there is none on other systems than Linux
	for _, fd := range open {
		if file, _ := os.Readlink(filepath.Join("/proc/self/fd", fd.Name())); file == path {
			t.Error("the file is still open")
		}
	}
	for _, line := range []string{"hunter2", "1A=hunter2", "A=\"hunter2", "=hunter2"} {
		require.NoError(t, os.WriteFile(path, []byte("A=1\n"+line+"\n"), 0o600))
		if _, err := WithDotEnv(path, environment); err == nil || !strings.Contains(err.Error(), ".env:2:") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", line, err)
		}
	}
}
