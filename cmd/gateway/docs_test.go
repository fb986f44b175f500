package main_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"parley/config"
	"parley/internal/require"
	"time"
)

// top is the repository's folder, from here.
const top = "../.."

// notRun lists the commands of the docs that this test does not run, and why. Of programs and targets it still checks that they exist.
var notRun = map[string]string{
	"go build ./cmd/gateway":                 "TestMain builds the program the same way",
	"go test ./...":                          "it would run this test, and takes minutes",
	"make test":                              "it would run this test, and takes minutes; the target is checked",
	"make soak":                              "it takes three minutes; the target is checked",
	"go generate ./core/storage/storagetest": "it writes a file of the repository",
	"go generate ./connectors/web":           "it writes files of the repository; TestWidgetIsCurrent compares them",
	"./bench/run.sh":                         "it takes ten minutes",
	"COUNT=1 ./bench/run.sh":                 "it takes two minutes",
	"docker build -f deploy/Dockerfile --build-arg COMMIT=$(git rev-parse HEAD) -t parley .": "there is no Docker; TestContainer builds the image with buildah",
	"docker compose up -d --build":                                                  "there is no Docker; deploy_test.go reads the files",
	"docker compose build gateway1":                                                 "as above",
	"docker compose up -d --no-deps gateway1":                                       "as above",
	"docker compose exec gateway1 /gateway --config /etc/parley/config.yaml status": "as above",
	"gateway service install":                                                       "TestServiceOfAUser installs one, with a systemctl of its own",
	"gateway service status":                                                        "as above",
	"gateway service uninstall":                                                     "as above",
	"gateway migrate --to postgres://parley:PASSWORD@db.example.org/parley":         "the package backends moves stores in its tests",
	"gateway chat -p":                                                               "it is the name of a flag, without its question",
	`curl -X POST http://127.0.0.1:8080/api/agents/mine/messages -H "Authorization: Bearer a-random-secret-of-yours" \`: "TestAgentSpeaks in stories posts one",
	`curl https://chat.example.org/api/hooks/build -H "Authorization: Bearer $BUILD_SECRET" \`:                          "TestHookAnswersOncePerKey in stories calls one",
}

// outcome is how a command ends that does not simply work in a folder with an empty store.
type outcome struct {
	code int
	says string
}

// outcomes lists those commands. Words in capitals stand for something that the folder does not have.
var outcomes = map[string]outcome{
	"gateway pair":                             {1, "no code given"},
	"gateway export ROOM":                      {1, "there is no room ROOM"}, // TestPersonIsExportedAndDeleted exports one
	"gateway export --json ROOM -o a.json":     {1, "there is no room ROOM"},
	"gateway health":                           {1, "name it with --listen"}, // TestHealth asks gateways
	"gateway pair CODE":                        {1, "code"},
	"gateway pair --remove telegram:123456789": {1, "telegram:123456789"},
	"gateway pair --remove browser:3f2a9c1b":   {1, "no browser 3f2a9c1b is logged in"},
	"gateway runs retry RUN":                   {1, "RUN"},
	"gateway show RUN":                         {1, "there is no run RUN"},
	"gateway keys revoke ID":                   {1, "there is no key ID"},
	"gateway init":                             {1, "nothing was changed: config.yaml exists"}, // TestInitToTheFirstAnswer sets one up
	"gateway backup":                           {1, "no file given"},
	"gateway restore":                          {1, "no backup given"},
	"gateway restore before.db":                {1, "there is no file"}, // as below
	"gateway restore parley-2026-01-02.db":     {1, "there is no file"}, // TestBackupAndRestore makes and restores one
	"gateway person delete telegram:123456789": {1, "nothing was deleted"},
	"gateway reload":                           {1, "no gateway with this configuration is running"}, // TestReload reloads one
	"gateway mcp login NAME":                   {1, "NAME"},                                          // TestLoginToMCPServer logs in
	"gateway mcp login shop":                   {1, "shop"},
}

// says is a part of what a command prints if it does what the docs promise. To end with 0 is not enough.
var says = map[string]string{
	`cat notes.txt | gateway chat -p "summarize"`:          "> summarize\n> \n> Buy tea.",
	`gateway chat --json -p "Hello"`:                       `"fullText"`,
	"gateway check":                                        " fine",
	"gateway backup FILE":                                  "It was opened and checked.",
	"gateway backup before.db":                             "It was opened and checked.",
	"gateway backup parley-2026-01-02.db":                  "It was opened and checked.",
	"gateway restore --confirm":                            "Nothing is held.",
	"gateway export":                                       "No room has messages.",
	"gateway runs":                                         "Nothing is set aside.",
	"gateway pair --web":                                   "/login",
	"gateway person export telegram:123456789":             `"sections": {}`,
	"gateway person export telegram:123456789 -o ada.json": "0 records",
	"gateway status":                                       "Nothing waits.",
	"gateway migrate":                                      "is up to date.",
	"gateway service install --print":                      "ExecStart=",
	"gateway --help":                                       "check",
	"gateway completion bash":                              "complete -o default -F _gateway gateway",
	"gateway --version":                                    "parley ",
}

// Every command in the docs is run and works, or is listed above with the reason why it is not run.
func TestCommandsOfTheDocs(t *testing.T) {
	found := docCommands(t)
	for line, pages := range found {
		t.Run(line, func(t *testing.T) {
			if problem := tryCommand(t, line); problem != "" {
				t.Errorf("%s: %s", strings.Join(pages, ", "), problem)
			}
		})
	}
	for line := range notRun {
		if found[line] == nil {
			t.Errorf("no page has the command %q, which is said not to be run", line)
		}
	}
	for line := range outcomes {
		if found[line] == nil {
			t.Errorf("no page has the command %q, whose outcome is known", line)
		}
	}
	for line := range says {
		if found[line] == nil {
			t.Errorf("no page has the command %q, whose words are known", line)
		}
	}
}

// The page for operators names the keys that need a restart.
func TestOperatorsReadWhatNeedsARestart(t *testing.T) {
	page := require.Value(os.ReadFile("../../docs/operate.md"))(t)
	list := "`" + strings.Join(config.RestartKeys(), "`, `") + "`"
	if !strings.Contains(string(page), list) {
		t.Errorf("docs/operate.md does not have: %s", list)
	}
}

func TestWrongCommandsAreFound(t *testing.T) {
	for _, line := range []string{
		"gateway chatt", "gateway check --fast", "gateway --lisen 127.0.0.1:0", "make everything", "go test ./nowhere -run TestX",
		"go test ./cmd/gateway -run TestNoSuchThing", "grep -rnw XX-99 --include=*.md .", "gateway runs retry", "./bench/walk.sh", "npm install parley",
	} {
		if tryCommand(t, line) == "" {
			t.Errorf("%q passes", line)
		}
	}
	for line, want := range map[string]string{
		"go run ./cmd/gateway chat   # talks": "gateway chat", "FOO=1 go run ./cmd/gateway": "FOO=1 gateway", "catalog.go": "", "go.mod": "", "gateway": "gateway",
		"makes tea": "", "a := go(x)": "", "cat x | gateway chat": "cat x | gateway chat", "./gateway --version": "gateway --version",
	} {
		if got, _ := asCommand(line); got != want {
			t.Errorf("%q is the command %q, want %q", line, got, want)
		}
	}
}

// The addresses of the gateway in the README are served without any configuration.
func TestAddressesOfTheReadme(t *testing.T) {
	readme := require.Value(os.ReadFile(filepath.Join(top, "README.md")))(t)
	paths := regexp.MustCompile(`http://127\.0\.0\.1:8080(/[\w./-]*)`).FindAllSubmatch(readme, -1)
	if len(paths) == 0 {
		t.Fatal("the README names no address of the gateway; want at least one")
	}
	g := start(t, command(t, nil, "--listen", "127.0.0.1:0"))
	defer g.wait(t)
	defer g.Process.Kill()
	for _, p := range paths {
		resp := require.Value(http.Get(g.url + string(p[1])))(t)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s is %d", p[1], resp.StatusCode)
		}
	}
}

// tryCommand tries a command; it returns what is wrong with it, or nothing.
func tryCommand(t *testing.T, line string) string {
	t.Helper()
	words := strings.Fields(regexp.MustCompile(settings).ReplaceAllString(line, ""))
	switch {
	case words[0] == "make":
		return runs(t, top, "make -n "+strings.Join(words[1:], " "), outcome{})
	case strings.HasPrefix(words[0], "./"):
		return runs(t, top, "test -x "+words[0]+" && sh -n "+words[0], outcome{})
	case notRun[line] != "":
		return ""
	case strings.Contains(line, "/releases/latest/download/install.sh | sh"): // stories/install runs it
		return ""
	case strings.Contains(line, `-H "$AUTH"`): // TestCurlExamples in stories/clients runs the guide's section with these
		return ""
	case words[0] == "go" && words[1] == "test":
		return testsExist(words[2:])
	case words[0] == "grep":
		return runs(t, top, line, outcome{})
	case words[0] == "gateway" && (len(words) == 1 || strings.HasPrefix(words[1], "--listen") || words[1] == "run"):
		return serves(t, line)
	case words[0] == "gateway" || strings.Contains(line, "| gateway "):
		want := outcomes[line]
		if want.says == "" {
			want.says = says[line]
		}
		dir := emptyFolder(t)
		knock(t, dir, nil) // the gateway was started before
		return runs(t, dir, line, want)
	}
	return "this test has no way to try it: add one, or list it in notRun with the reason"
}

// emptyFolder returns a folder without a store. Its configuration takes a free port and keeps the bots off the real platforms.
func emptyFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range map[string]string{
		"config.yaml": "web: {listen: 127.0.0.1:0}\nconnectors: {discord: {api_url: http://127.0.0.1:1}, telegram: {api_url: http://127.0.0.1:1}}\n",
		"notes.txt":   "Buy tea.\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600))
	}
	return dir
}

// shell prepares a line for a shell that finds the program that is tested.
func shell(ctx context.Context, dir, line string) *exec.Cmd {
	c := exec.CommandContext(ctx, "sh", "-c", line)
	c.Dir = dir
	c.Env = []string{"PATH=" + filepath.Dir(binary) + ":" + os.Getenv("PATH"), "HOME=" + dir}
	return c
}

func runs(t *testing.T, dir, line string, want outcome) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := shell(ctx, dir, line).CombinedOutput()
	if code := status(t, err); code != want.code || !strings.Contains(string(out), want.says) {
		return fmt.Sprintf("it ended with %d, want %d, and wrote %s, want %q", code, want.code, out, want.says)
	}
	return ""
}

// serves starts a gateway, waits for its address, and has it end.
func serves(t *testing.T, line string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	line = strings.ReplaceAll(line, "TELEGRAM_TOKEN=your-token", "TELEGRAM_TOKEN=123456789:"+strings.Repeat("a", 35)) // its form is checked
	c := shell(ctx, emptyFolder(t), "exec env "+line)
	out := require.Value(c.StdoutPipe())(t)
	require.NoError(t, c.Start())
	first := make([]byte, 256)
	n, err := out.Read(first)
	_ = c.Process.Signal(os.Interrupt)
	ended := c.Wait()
	if err != nil || ended != nil || !strings.HasPrefix(string(first[:n]), "Parley is at http://") {
		return "it printed " + string(first[:n])
	}
	return ""
}

// testsExist looks for the package and the test that go test is told to run. To run them from a test would take minutes.
func testsExist(args []string) string {
	files, err := filepath.Glob(filepath.Join(top, args[0], "*_test.go"))
	if err != nil || len(files) == 0 {
		return "there are no tests in " + args[0]
	}
	i := slices.Index(args, "-run")
	if i < 0 {
		return ""
	}
	name, _, _ := strings.Cut(strings.Trim(args[i+1], "'"), "/")
	pattern := name + `\w*`
	if exact, ok := strings.CutSuffix(name, "$"); ok {
		pattern = exact
	}
	for _, file := range files {
		if code, err := os.ReadFile(file); err == nil && regexp.MustCompile(`(?m)^func `+pattern+`\(t \*testing\.T\)`).Match(code) {
			return ""
		}
	}
	return "there is no " + name
}
