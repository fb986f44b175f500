package main_test

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"parley/internal/require"
)

// form sends a form of the setup page, and returns the status and the page.
func form(t *testing.T, address string, values url.Values) (int, string) {
	t.Helper()
	resp := require.Value(http.PostForm(address, values))(t)
	defer resp.Body.Close()
	body := require.Value(io.ReadAll(resp.Body))(t)
	return resp.StatusCode, html.UnescapeString(string(body))
}

// page returns the status and the body of an address.
func page(t *testing.T, address string) (int, string) {
	t.Helper()
	resp := require.Value(http.Get(address))(t)
	defer resp.Body.Close()
	body := require.Value(io.ReadAll(resp.Body))(t)
	return resp.StatusCode, string(body)
}

// A gateway that nothing is configured for is set up in the browser, and answers on Telegram after a restart: from the start to the first
// answer, these are the start, the form with three answers, the restart, and a tap on the link.
func TestSetupInTheBrowser(t *testing.T) {
	fake, api, model := setupServers(t)
	g := start(t, command(t, nil, "--listen", "127.0.0.1:0"))
	link := <-g.setup
	address, err := url.Parse(link)
	if err != nil || address.Query().Get("code") == "" {
		t.Fatalf("the address of the page is %q, %v", link, err)
	}
	if status, body := page(t, g.url+"/"); status != 200 || !strings.Contains(body, `href="/setup"`) {
		t.Errorf("the first page is %d %s; want a link to the setup", status, body)
	}
	if status, body := page(t, g.url+"/setup"); status != 403 || !strings.Contains(body, "Code that the gateway printed") {
		t.Errorf("without the code: %d %s", status, body)
	}
	if status, _ := page(t, g.url+"/setup?code=wrong"); status != 403 {
		t.Errorf("with a wrong code: %d", status)
	}
	if status, body := page(t, link); status != 200 || !strings.Contains(body, `name="model"`) {
		t.Errorf("the form is %d %s", status, body)
	}
	values := url.Values{"code": address.Query()["code"], "token": {"123456789:" + strings.Repeat("a", 35)}, "api-url": {api}, "model": {model}, "name": {"Ada"}}
	setup := g.url + "/setup"
	var code string
	for _, step := range []struct {
		change url.Values
		status int
		says   string
		file   string // is written before
	}{
		{nil, 422, "token", ""},
		{url.Values{"token": {fake.Token()}, "model": {"http://127.0.0.1:1/v1"}}, 422, "check that the server runs", ""},
		{url.Values{"code": {"wrong"}, "model": {model}}, 403, "not the code", ""},
		{url.Values{"code": address.Query()["code"]}, 422, ".env exists already", ".env"},
		{url.Values{"replace": {"yes"}}, 200, "Ada is set up", ""},
		{url.Values{"replace": nil}, 422, "config.yaml exists already", ""},
	} {
		for name, value := range step.change {
			values[name] = value
		}
		if step.file != "" {
			require.NoError(t, os.WriteFile(filepath.Join(g.Dir, step.file), []byte("OTHER=1\n"), 0o600))
		}
		status, body := form(t, setup, values)
		if status != step.status || !strings.Contains(body, step.says) {
			t.Fatalf("the form with %v: %d %s; want %d, %q", step.change, status, body, step.status, step.says)
		}
		if _, err := os.Stat(filepath.Join(g.Dir, "config.yaml")); (err == nil) != (step.status == 200 || step.says == "config.yaml exists already") {
			t.Errorf("after %v, config.yaml: %v", step.change, err)
		}
		if step.status == 200 {
			tap := regexp.MustCompile(`https://t\.me/\w+\?start=([\w-]+)`).FindStringSubmatch(body)
			if tap == nil {
				t.Fatalf("the page has no link to the bot: %s", body)
			}
			code = tap[1]
		}
	}
	for name, says := range map[string]string{"config.yaml": "${env:TELEGRAM_TOKEN}", ".env": "TELEGRAM_TOKEN=" + fake.Token()} {
		info, err := os.Stat(filepath.Join(g.Dir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v; want a private file", name, info, err)
		}
		if text, err := os.ReadFile(filepath.Join(g.Dir, name)); err != nil || !strings.Contains(string(text), says) {
			t.Errorf("%s is %s, %v; want %q", name, text, err, says)
		}
	}
	_ = g.Process.Signal(syscall.SIGTERM)
	g.wait(t)
	again := command(t, nil)
	again.Dir = g.Dir
	g = start(t, again)
	ada := fake.AddUser("Ada", "ada")
	chat := fake.AddPrivate(ada)
	fake.Say(chat, ada, "/start "+code)
	await(t, fake, chat, "owner")
	fake.Say(chat, ada, "What is a lighthouse?")
	await(t, fake, chat, "lighthouse")
	if status, _ := page(t, g.url+"/setup"); status != 404 {
		t.Errorf("after the setup, its page is %d; want 404", status)
	}
	_ = g.Process.Signal(syscall.SIGTERM)
	g.wait(t)
	if address, open := <-g.setup; open {
		t.Errorf("a gateway that is set up offers %s", address)
	}
}

// Without a bot nothing needs a restart: the gateway notices the files, and the model answers.
func TestSetupOfAModelAppliesByItself(t *testing.T) {
	_, _, model := setupServers(t)
	g := start(t, command(t, nil, "--listen", "127.0.0.1:0"))
	address := require.Value(url.Parse(<-g.setup))(t)
	status, body := form(t, g.url+"/setup", url.Values{"code": address.Query()["code"], "model": {model}, "name": {"Ada"}})
	if status != 200 || !strings.Contains(body, "applies them within seconds") || strings.Contains(body, "Ctrl-C") {
		t.Fatalf("the form: %d %s", status, body)
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, body := page(t, g.url+"/"); strings.Contains(body, "Ada") {
			break
		} else if time.Now().After(end) {
			t.Fatalf("the page stays %s", body)
		}
	}
	answer := g.ask(t, "What is a lighthouse?")
	defer answer.Close()
	if text, err := io.ReadAll(answer); err != nil || !strings.Contains(string(text), "lighthouse") || strings.Contains(string(text), "demo") {
		t.Errorf("the answer is %s, %v", text, err)
	}
	_ = g.Process.Signal(syscall.SIGTERM)
	g.wait(t)
	if strings.Contains(g.stderr.String(), "need a restart") {
		t.Errorf("the log is\n%s", &g.stderr)
	}
}

// The page works in a browser, on the screen of a phone. Its policy allows no script, so it needs none.
func TestSetupInChromium(t *testing.T) {
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("SKIPPED: no chromium in PATH; the setup page was not tried in a browser")
	}
	_, _, model := setupServers(t)
	g := start(t, command(t, nil, "--listen", "127.0.0.1:0"))
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(390, 844))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, time.Minute)
	t.Cleanup(cancel)
	do := func(script string) string {
		t.Helper()
		v := require.Value(chromedp.Run(ctx, chromedp.Evaluate[string](script)))(t)
		return v
	}
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(<-g.setup)))
	do(fmt.Sprintf(`const field = (name) => document.querySelector('[name=' + name + ']'); field('model').value = %q; field('name').value = 'Ada'; ''`, model))
	if wide := do(`String(document.documentElement.scrollWidth > innerWidth)`); wide == "true" {
		t.Error("the page is wider than the screen")
	}
	do(`document.querySelector('button').click(); ''`)
	for title := ""; !strings.Contains(title, "Ada is set up"); time.Sleep(20 * time.Millisecond) {
		// It fails while the browser goes to the next page.
		title, _ = chromedp.Run(ctx, chromedp.Evaluate[string](`document.body ? document.body.innerText : ''`))
		if strings.Contains(title, "error") || ctx.Err() != nil {
			t.Fatalf("the page says %s", title)
		}
	}
	text, err := os.ReadFile(filepath.Join(g.Dir, "config.yaml"))
	if err != nil || !strings.Contains(string(text), `name: "Ada"`) {
		t.Errorf("config.yaml is %s, %v", text, err)
	}
	_ = g.Process.Signal(syscall.SIGTERM)
	g.wait(t)
}
