package main_test

import (
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/connectors/telegram/telegramfake"
	"parley/internal/require"
	"parley/models/modelfake"
)

// setupServers are the fakes of a setup.
func setupServers(t *testing.T) (fake *telegramfake.Server, api, model string) {
	t.Helper()
	fake = telegramfake.New(telegramfake.WithoutFlood())
	telegram := httptest.NewServer(fake)
	t.Cleanup(telegram.Close)
	server := httptest.NewServer(modelfake.New(modelfake.Options{Models: []string{"text-embedder", "one"}}))
	t.Cleanup(server.Close)
	return fake, telegram.URL, server.URL + "/v1"
}

// From an empty folder to the first answer on Telegram: three answers, the start, and a tap on the link of the QR code.
func TestInitToTheFirstAnswer(t *testing.T) {
	fake, api, _ := setupServers(t)
	server := httptest.NewServer(modelfake.New(modelfake.Options{Key: "sk-right-0123456789", Models: []string{"gpt-4.1-mini"}}))
	defer server.Close()
	env := []string{"OPENAI_BASE_URL=" + server.URL + "/v1"}
	inputs := 0
	answers := []string{fake.Token(), "sk-right-0123456789", "Ada, a patient teacher"}
	inputs += len(answers)
	set := command(t, env, "init", "--api-url", api, "--listen", "127.0.0.1:0")
	set.Stdin = strings.NewReader(strings.Join(answers, "\n") + "\n")
	out, code := end(t, set)
	link := regexp.MustCompile(`https://t\.me/\w+\?start=(\S+)`).FindStringSubmatch(out)
	if code != 0 || link == nil || !strings.Contains(out, "█▀▀▀▀▀█") && !strings.Contains(out, "▄▄▄▄▄") {
		t.Fatalf("it ended with %d: %s", code, out)
	}
	text, err := os.ReadFile(filepath.Join(set.Dir, "config.yaml"))
	if err != nil || strings.Count(string(text), "\n") > 12 || strings.Contains(string(text), "sk-right") || strings.Contains(string(text), fake.Token()) {
		t.Errorf("config.yaml is %s, %v", text, err)
	}
	if info, err := os.Stat(filepath.Join(set.Dir, ".env")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf(".env is %v, %v", info, err)
	}
	run := command(t, nil) // the address is in the configuration
	run.Dir = set.Dir
	inputs++
	g := start(t, run)
	ada := fake.AddUser("Ada", "ada")
	chat := fake.AddPrivate(ada)
	inputs++
	fake.Say(chat, ada, "/start "+link[1])
	await(t, fake, chat, "owner")
	fake.Say(chat, ada, "What is a lighthouse?")
	await(t, fake, chat, "lighthouse")
	_ = g.Process.Signal(syscall.SIGTERM)
	g.wait(t)
	if inputs > 5 {
		t.Errorf("%d inputs were needed", inputs)
	}
}

// The address of a provider's server is written, whether the environment or an earlier .env names it: a later start can have neither.
func TestInitWritesAddresses(t *testing.T) {
	_, _, model := setupServers(t)
	for name, c := range map[string]struct{ env, dotEnv, answer, want string }{
		"OpenAI's":           {"OPENAI_BASE_URL=" + model, "", "sk-right-0123456789", "openai: {base_url: \"" + model + "\"}"},
		"another provider's": {"VLLM_BASE_URL=" + model, "", "vllm key", "vllm: {base_url: \"" + model + "\"}"},
		"in .env":            {"OTHER=1", "OPENAI_BASE_URL=" + model + "\n", "sk-right-0123456789", "openai: {base_url: \"" + model + "\"}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := command(t, []string{c.env}, "init", "--token", "none", "--model", c.answer, "--model-name", "one", "--name", "Ada", "--listen", "127.0.0.1:0")
			if c.dotEnv != "" {
				set.Stdin = strings.NewReader("yes\n")
				require.NoError(t, os.WriteFile(filepath.Join(set.Dir, ".env"), []byte(c.dotEnv), 0o600))
			}
			out, code := end(t, set)
			text, err := os.ReadFile(filepath.Join(set.Dir, "config.yaml"))
			if code != 0 || err != nil || !strings.Contains(string(text), c.want) || strings.Contains(string(text), "right") {
				t.Fatalf("it ended with %d: %s\nconfig.yaml: %s, %v", code, out, text, err)
			}
			check := command(t, nil, "check")
			check.Dir = set.Dir
			if out, code := end(t, check); code != 0 || !strings.Contains(out, model) {
				t.Errorf("without the variable, the check ends with %d: %s", code, out)
			}
		})
	}
}

// The command that init prints at its end starts the gateway, from the same folder, however the program was called.
func TestInitPrintsTheCommandThatWorks(t *testing.T) {
	for name, c := range map[string]struct{ program, file, want string }{
		"from an archive":      {"./gateway", "", "./gateway"},
		"in the path":          {"gateway", "", "gateway"},
		"another folder":       {"./gateway", "sub dir/shop.yaml", `./gateway --config "sub dir/shop.yaml"`},
		"a folder with spaces": {"./sub dir/gateway", "", `"./sub dir/gateway"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := command(t, nil)
			require.NoError(t, os.Mkdir(filepath.Join(set.Dir, "sub dir"), 0o700))
			args := []string{"init", "--token", "none", "--model", "demo", "--name", "Ada", "--listen", "127.0.0.1:0"}
			if c.file != "" {
				args = append(args, "--config", c.file)
			}
			set.Args = append([]string{c.program}, args...) // as a shell calls it
			out, code := end(t, set)
			if code != 0 || !strings.HasSuffix(out, "\nStart the gateway with: "+c.want+"\n") {
				t.Errorf("it ended with %d: %s", code, out)
			}
		})
	}
}

// A configuration that was named and is not there is a mistake, with two ways out.
func TestNoSuchConfiguration(t *testing.T) {
	c := command(t, nil, "-c", "nope.yaml")
	c.Args[0] = "./gateway"
	if out, code := end(t, c); code != 1 || out != "gateway: there is no nope.yaml; name the right file, or make this one with: ./gateway --config nope.yaml init\n" {
		t.Errorf("it ended with %d: %s", code, out)
	}
	c = command(t, nil, "-c", "has.yaml", "check") // a file that it names is another matter
	require.NoError(t, os.WriteFile(filepath.Join(c.Dir, "has.yaml"), []byte("agent: {character: nope.yaml}\n"), 0o600))
	if out, code := end(t, c); code != 1 || strings.Contains(out, "init") || !strings.Contains(out, "nope.yaml") {
		t.Errorf("without the character it ended with %d: %s", code, out)
	}
}

// await waits until the bot has written a text.
func await(t *testing.T, fake *telegramfake.Server, chat telegramfake.Chat, text string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		var all []string
		for _, m := range fake.Messages(chat) {
			if m.From.IsBot {
				all = append(all, m.Text)
			}
		}
		if strings.Contains(strings.Join(all, "\n"), text) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the bot wrote %q; want %q", all, text)
		}
	}
}

// Each mistake ends with a sentence that tells the next step, and leaves the folder as it was.
func TestInitRefuses(t *testing.T) {
	fake, api, model := setupServers(t)
	wrong := "123456789:" + strings.Repeat("a", 35)
	taken := require.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = taken.Close() }) // the cases end later
	locked := httptest.NewServer(modelfake.New(modelfake.Options{Key: "sk-right-0123456789", Models: []string{"gpt-4.1-mini"}}))
	t.Cleanup(locked.Close)
	good := []string{"--token", fake.Token(), "--api-url", api, "--model", model, "--name", "Ada", "--listen", "127.0.0.1:0"}
	for name, c := range map[string]struct {
		args  []string // after the good ones, which they replace
		in    string
		files map[string]string
		says  string
	}{
		"a wrong token":           {[]string{"--token", wrong}, "", nil, "token"},
		"no token":                {[]string{"--token", "abc"}, "", nil, "copy the whole token"},
		"no network":              {[]string{"--api-url", "http://127.0.0.1:1"}, "", nil, "check the network"},
		"no model server":         {[]string{"--model", "http://127.0.0.1:1/v1"}, "", nil, "check that the server runs"},
		"no http://":              {[]string{"--model", "localhost:11434/v1"}, "", nil, "a server with http://"},
		"no /v1":                  {[]string{"--model", strings.TrimSuffix(model, "/v1")}, "", nil, "usually ends with /v1"},
		"a server with a key":     {[]string{"--model", locked.URL + "/v1"}, "", nil, "wants a key"},
		"a wrong key":             {[]string{"--model", "sk-wrong-0123456789"}, "", nil, "key"},
		"an unknown key":          {[]string{"--model", "unknown-key"}, "", nil, "the provider of this key is unknown"},
		"no such model":           {[]string{"--model-name", "three"}, "", nil, "three"},
		"a taken port":            {[]string{"--listen", taken.Addr().String()}, "", nil, "choose another address"},
		"an existing file":        {nil, "", map[string]string{"config.yaml": "agent: {name: Bob}\n"}, "config.yaml exists already"},
		"an existing file and no": {nil, "no\n", map[string]string{".env": "A=1\n"}, ".env exists already"},
		"no folder":               {[]string{"--config", "no/config.yaml"}, "", nil, "make it first"},
		"a file for a folder":     {[]string{"--config", "file/config.yaml"}, "", map[string]string{"file": ""}, "can't be written"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := command(t, []string{"OPENAI_BASE_URL=" + locked.URL + "/v1"}, append(append([]string{"init"}, good...), c.args...)...)
			set.Stdin = strings.NewReader(c.in)
			for file, text := range c.files {
				require.NoError(t, os.WriteFile(filepath.Join(set.Dir, file), []byte(text), 0o600))
			}
			out, code := end(t, set)
			if code != 1 || !strings.Contains(out, c.says) || strings.Contains(out, wrong) || strings.Contains(out, "sk-wrong-0123456789") {
				t.Errorf("it ended with %d: %s", code, out)
			}
			left, err := os.ReadDir(set.Dir)
			if err != nil || len(left) != len(c.files) {
				t.Errorf("the folder has %v, %v", left, err)
			}
			for file, text := range c.files {
				if now, err := os.ReadFile(filepath.Join(set.Dir, file)); err != nil || string(now) != text {
					t.Errorf("%s is %q now, %v", file, now, err)
				}
			}
		})
	}
}

// Flags answer everything; a yes replaces the configuration, and other secrets stay.
func TestInitReplaces(t *testing.T) {
	fake, api, model := setupServers(t)
	set := command(t, nil, "init", "--token", fake.Token(), "--api-url", api, "--model", model, "--name", "Ada", "--character", "Costs ${env:NOT_SET}.", "--listen", "127.0.0.1:0")
	set.Stdin = strings.NewReader("yes\n")
	configure(t, set, "agent: {name: Bob}\n")
	require.NoError(t, os.WriteFile(filepath.Join(set.Dir, ".env"), []byte("# mine\nOTHER=1\nTELEGRAM_TOKEN=old"), 0o600))
	if out, code := end(t, set); code != 0 {
		t.Fatalf("it ended with %d: %s", code, out)
	}
	if env, err := os.ReadFile(filepath.Join(set.Dir, ".env")); err != nil || string(env) != fmt.Sprintf("# mine\nOTHER=1\nTELEGRAM_TOKEN=%s\n", fake.Token()) {
		t.Errorf(".env is %q, %v", env, err)
	}
	check := command(t, nil, "check")
	check.Dir = set.Dir
	if out, code := end(t, check); code != 0 || !strings.Contains(out, "Ada") || !strings.Contains(out, "connectors.telegram") {
		t.Errorf("the check ends with %d: %s", code, out)
	}
}

// A user who leaves a question gets no configuration: with Ctrl-D, with Ctrl-C, and by closing the terminal. One signal is enough.
func TestInitIsLeft(t *testing.T) {
	t.Run("by the end of a terminal", func(t *testing.T) {
		p := inPane(t, binary+" init --listen 127.0.0.1:0; echo ENDED $?; ls -A; sleep 600")
		p.want("a question", func(s string) bool { return strings.Contains(s, "chat):") })
		p.keys("C-d")
		if s := p.want("the end", func(s string) bool { return strings.Contains(s, "ENDED") }); !strings.Contains(s, "ENDED 1") || !strings.Contains(s, "again") || strings.Contains(s, "config.yaml") {
			t.Errorf("the screen is %s", s)
		}
	})
	for name, signal := range map[string]syscall.Signal{"by Ctrl-C": syscall.SIGINT, "by closing the terminal": syscall.SIGHUP} {
		t.Run(name, func(t *testing.T) {
			set := command(t, nil, "init", "--listen", "127.0.0.1:0")
			in, err := set.StdinPipe() // stays open
			require.NoError(t, err)
			t.Cleanup(func() { _ = in.Close() })
			out := require.Value(set.StdoutPipe())(t)
			require.NoError(t, set.Start())
			for text := make([]byte, 1000); ; {
				n := require.Value(out.Read(text))(t)
				if strings.Contains(string(text[:n]), "Token of") {
					break
				}
			}
			require.NoError(t, set.Process.Signal(signal))
			if code := status(t, set.Wait()); code != 1 {
				t.Errorf("it ended with %d", code)
			}
			if left, err := os.ReadDir(set.Dir); err != nil || len(left) != 0 {
				t.Errorf("left are %v, %v", left, err)
			}
		})
	}
}
