package clients_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"parley"
	"parley/config"
	"parley/core/llm"
	"parley/gatewaytest"
	"parley/internal/local"
	"parley/internal/require"
)

// operators is a gateway with a configuration in files, and a browser on its operator's page.
type operators struct {
	*testing.T
	ctx     context.Context // of the browser
	cfg     config.Config
	base    string
	prompt  string // the path of the prompt's file
	mu      sync.Mutex
	gates   map[string]chan struct{}
	systems map[string]string // the system prompt of each question
}

// newOperators starts both, with more lines in the configuration.
func newOperators(t *testing.T, more ...string) *operators {
	t.Helper()
	dir := t.TempDir()
	o := &operators{T: t, gates: map[string]chan struct{}{}, systems: map[string]string{}, prompt: filepath.Join(dir, "character.yaml")}
	file := filepath.Join(dir, "config.yaml")
	o.write(o.prompt, "name: Parley\nsystem: You are kind.\n")
	o.write(file, fmt.Sprintf(`
store: "sqlite:%s/parley.db"
web: {listen: "127.0.0.1:0"}
agent: {character: character.yaml}
hooks:
  - {name: build, secret: "secret-of-the-hook-0123456789", room: "telegram:-100", prompt: "A build <b>ended</b>."}
%s
`, dir, strings.Join(more, "\n")))
	load := func() (config.Config, error) {
		cfg, err := parley.LoadConfig(file, func(string) (string, bool) { return "", false })
		cfg.Web.Limits = config.Limits{}
		return cfg, err
	}
	var err error
	if o.cfg, err = load(); err != nil {
		t.Fatal(err)
	}
	g, err := parley.New(o.cfg, parley.Env{Models: llm.Models{Large: o}, Load: load, Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))})
	require.NoError(t, err)
	p := gatewaytest.Start(t.Context(), g.Run)
	t.Cleanup(func() { require.NoError(t, p.Stop()) })
	o.base = "http://" + g.Addr().String()
	o.ctx = chromium(t)
	return o
}

func (o *operators) write(path, text string) {
	o.Helper()
	require.NoError(o, os.WriteFile(path, []byte(text), 0o600))
}

// chromium starts a browser with the viewport of a phone.
func chromium(t *testing.T) context.Context {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("SKIPPED: no chromium in PATH; the operator's page was not tried in a browser")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(390, 844)))
	return ctx
}

// gate returns the channel that each part of the answer to a question waits for.
func (o *operators) gate(question string) chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.gates[question] == nil {
		o.gates[question] = make(chan struct{})
	}
	return o.gates[question]
}

// Generate implements [llm.Model]: it answers with numbered parts, and waits at a gate of the question before each but the first.
func (o *operators) Generate(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	question := req.Messages[len(req.Messages)-1].Text
	o.mu.Lock()
	o.systems[question] = fmt.Sprint(req)
	o.mu.Unlock()
	gate := o.gate(question)
	return func(yield func(llm.Chunk, error) bool) {
		for n := range 4 {
			if n > 0 {
				select {
				case <-gate:
				case <-ctx.Done():
					yield(llm.Chunk{}, context.Cause(ctx))
					return
				}
			}
			if !yield(llm.Chunk{Text: fmt.Sprintf("%s part %d. ", question, n)}, nil) {
				return
			}
		}
		yield(llm.Chunk{Finish: llm.FinishStop}, nil)
	}
}

// request sends JSON to the web API.
func (o *operators) request(path, body string) *http.Response {
	o.Helper()
	r := require.Value(http.NewRequestWithContext(o.Context(), http.MethodPost, o.base+path, strings.NewReader(body)))(o)
	r.Header.Set("Content-Type", "application/json")
	resp := require.Value(http.DefaultClient.Do(r))(o)
	return resp
}

// conversation opens a conversation as a visitor.
func (o *operators) conversation() (id string) {
	o.Helper()
	var opened struct{ Conversation struct{ ID string } }
	resp := o.request("/api/conversations", "{}")
	defer resp.Body.Close()
	require.NoError(o, json.NewDecoder(resp.Body).Decode(&opened))
	return opened.Conversation.ID
}

// ask sends a question as a visitor, and returns a function that reads the response to its end.
func (o *operators) ask(conversation, question string) (rest func() string) {
	o.Helper()
	resp := o.request("/api/conversations/"+conversation+"/messages/stream", fmt.Sprintf(`{"text": %q, "clientMessageId": "m%d"}`, question, len(question)))
	o.Cleanup(func() { _ = resp.Body.Close() })
	return func() string {
		all, err := io.ReadAll(resp.Body)
		if err != nil {
			o.Error(err)
		}
		return string(all)
	}
}

func (o *operators) do(steps ...chromedp.Action[chromedp.Void]) {
	o.Helper()
	ctx, cancel := context.WithTimeout(o.ctx, time.Minute)
	defer cancel()
	require.NoError(o, chromedp.Do(ctx, steps...))
}

func (o *operators) eval(script string) string {
	o.Helper()
	v, err := chromedp.Run(o.ctx, chromedp.Evaluate[string]("String("+script+")"))
	if err != nil {
		o.Fatalf("%s: %v", script, err)
	}
	return v
}

// wait returns when a script's value is true, also on the next page.
func (o *operators) wait(script string) {
	o.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		ok, err := chromedp.Run(o.ctx, chromedp.Evaluate[bool]("Boolean("+script+")"))
		if ok && err == nil {
			return
		}
		if time.Now().After(end) {
			o.Fatalf("%s never became true: %v\nthe page shows:\n%s", script, err, o.eval("document.body.innerText"))
		}
	}
}

// shows waits until the page has a text.
func (o *operators) shows(text string) {
	o.Helper()
	o.wait(fmt.Sprintf("document.readyState === 'complete' && document.body.innerText.includes(%q)", text))
}

func (o *operators) open(path string) { o.Helper(); o.do(chromedp.Navigate(o.base + path)) }

// logIn logs in with the code of the gateway's machine.
func (o *operators) logIn() {
	o.Helper()
	code := require.Value(local.WebCode(o.Context(), o.cfg))(o)
	o.open("/admin")
	o.eval(fmt.Sprintf(`(document.querySelector('#code').value = %q, document.querySelector('form button').click())`, code))
	o.wait(`document.querySelector('#live')`)
}

// On a phone, the operator logs in by code, stops a live answer, blocks a member, and edits the prompt's file. The next answer obeys, and no
// stream drops.
func TestOperatorOnAPhone(t *testing.T) {
	o := newOperators(t)
	o.logIn()
	rude := o.conversation()
	stopped, stays := o.ask(rude, "stop me"), o.ask(o.conversation(), "keep me")
	o.shows("stop me part 0.")
	o.gate("stop me") <- struct{}{}
	o.shows("stop me part 1.")
	o.shows("keep me part 0.")
	o.eval(`[...document.querySelectorAll('.run')].find((card) => card.innerText.includes('stop me')).querySelector('button').click()`)
	o.shows("is being stopped")
	if got := stopped(); !strings.Contains(got, "part 1") || strings.Contains(got, "part 2") {
		t.Errorf("the visitor of the stopped answer has read %s", got)
	}
	o.open("/admin/people")
	o.eval(fmt.Sprintf(`document.querySelector('input[value="web/%s"]').parentElement.querySelector('button').click()`, rude))
	o.shows("are blocked")
	if got := o.ask(rude, "blocked")(); strings.Contains(got, "part 0") {
		t.Errorf("a blocked visitor reads %s", got)
	}
	edit := func(text string) {
		o.open("/admin/config")
		o.eval(fmt.Sprintf(`(document.querySelector('#text').value = %q, document.querySelector('.edit button').click())`, text))
	}
	edit("name: Parley\nsystem: [broken\n")
	o.shows("Nothing was changed.")
	if text := o.eval(`document.querySelector('[role=status]').innerText`); !strings.Contains(text, "character.yaml:2:") {
		t.Errorf("the problem is %q; want the line", text)
	}
	if data, err := os.ReadFile(o.prompt); err != nil || !strings.Contains(string(data), "You are kind.") {
		t.Errorf("after a broken edit the file has %q, %v", data, err)
	}
	edit("name: Parley\nsystem: You are a pirate.\n")
	o.shows("The next answer follows it.")
	for range 3 {
		o.gate("keep me") <- struct{}{}
	}
	if got := stays(); !strings.Contains(got, "part 3") || strings.Contains(got, "reconnect") {
		t.Errorf("the visitor of the other answer has read %s", got)
	}
	next := o.ask(o.conversation(), "next")
	for range 3 {
		o.gate("next") <- struct{}{}
	}
	next()
	o.mu.Lock()
	defer o.mu.Unlock()
	if !strings.Contains(o.systems["next"], "You are a pirate.") || strings.Contains(o.systems["keep me"], "pirate") {
		t.Errorf("the prompts are %q", o.systems)
	}
}

// Without a bot, the answers to visitors are checked by the operator who is logged in, with the draft in view.
func TestOperatorChecksHeldAnswers(t *testing.T) {
	o := newOperators(t, `access: {overrides: [{rooms: ["web"], hold: true}]}`)
	o.logIn()
	close(o.gate("tea?"))
	answer := o.ask(o.conversation(), "tea?")
	for end := time.Now().Add(time.Minute); !strings.Contains(o.eval("document.body.innerText"), "tea? part 3."); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			o.Fatalf("the page shows %s", o.eval("document.body.innerText"))
		}
		o.open("/admin/requests")
	}
	o.wait(`/^59:\d\d left/.test(document.querySelector('[data-left]').textContent)`)
	o.eval(`(window.left = document.querySelector('[data-left]').textContent, '')`)
	o.wait(`document.querySelector('[data-left]').textContent < left`)
	o.eval(`(document.querySelector('[data-left]').dataset.left = 1, '')`)
	o.shows("expired")
	o.eval(`document.querySelector('td form button').click()`)
	o.shows("Sent.")
	if got := answer(); !strings.Contains(got, "being checked") || !strings.Contains(got, "part 3") {
		t.Errorf("the visitor has read %s", got)
	}
}

// retryScript runs the script of the page with an event source that the test ends. The first argument is the script.
const retryScript = `
const { readFileSync } = require('node:fs'), { runInNewContext } = require('node:vm')
const sources = [], timers = []
class EventSource {
  static CLOSED = 2
  constructor(url) { this.url = url; this.readyState = 0; sources.push(this) }
}
const document = { querySelector: (what) => (what === '#live' ? {} : null), querySelectorAll: () => [] }
runInNewContext(readFileSync(process.argv[1], 'utf8'), { document, location: {}, EventSource, setTimeout: (f, ms, ...args) => timers.push([f, ms, args]) })
sources[0].onerror() // the connection was cut: the browser connects again itself
console.log(sources.length, timers.length)
for (let n = 1; n <= 3; n++) { // refused
  sources.at(-1).readyState = EventSource.CLOSED
  sources.at(-1).onerror()
  const [f, ms, args] = timers.at(-1)
  f(...args)
  console.log(sources.length, timers.length, sources.at(-1).url, ms >= 5000 && ms < 10000)
}`

// After a refusal, such as 429, a browser does not connect again. The page does, after five to ten seconds, as often as it takes.
func TestLivePageReconnectsAfterARefusal(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "node", "-e", retryScript, filepath.Join("..", "..", "internal", "admin", "pages", "admin.js")).CombinedOutput()
	const want = "1 0\n2 1 /admin/events true\n3 2 /admin/events true\n4 3 /admin/events true\n"
	if string(out) != want || err != nil {
		t.Errorf("%v\n%s\nwant\n%s", err, out, want)
	}
}

// Each page passes axe-core, light and dark, on a desktop and on a phone.
func TestOperatorsPagesAreAccessible(t *testing.T) {
	dir, err := packages()
	if err != nil {
		t.Fatalf("install axe-core: %v; run tools/install.sh", err)
	}
	axe := require.Value(os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js")))(t)
	o := newOperators(t)
	if _, err := chromedp.Call(o.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: string(axe)}); err != nil {
		t.Fatal(err)
	}
	o.ask(o.conversation(), "A question with <b>markup</b>")
	check := func(path string) {
		o.open(path)
		for _, as := range []struct {
			width  int64
			scheme string
			axe    bool // of the same combination of sizes and colors there is one of each
		}{{1200, "light", true}, {1200, "dark", false}, {390, "light", false}, {390, "dark", true}} {
			if !as.axe && os.Getenv("PARLEY_ARTIFACTS") == "" {
				continue
			}
			o.do(chromedp.EmulateViewport(as.width, 844))
			if _, err := chromedp.Call(o.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: as.scheme}}}); err != nil {
				t.Fatal(err)
			}
			o.shot(fmt.Sprintf("admin%s-%d-%s", strings.ReplaceAll(strings.TrimPrefix(strings.Split(path, "?")[0], "/admin"), "/", "-"), as.width, as.scheme))
			if !as.axe {
				continue
			}
			o.eval(`(window.result = '', axe.run({ resultTypes: ['violations'], iframes: false }).then((r) => { window.result = 'done ' + r.violations.map((v) => v.id + ': ' + v.nodes.map((n) => n.html).join(' ')).join('; ') }), 0)`)
			o.wait("window.result")
			if found := o.eval("window.result"); found != "done " {
				t.Errorf("%s at %d pixels, %s: %s", path, as.width, as.scheme, found)
			}
			if wide := o.eval("document.documentElement.scrollWidth - innerWidth"); wide != "0" {
				t.Errorf("%s at %d pixels is %s pixels too wide", path, as.width, wide)
			}
		}
	}
	check("/admin/login")
	o.logIn()
	for _, path := range []string{"", "/requests", "/people", "/runs", "/review", "/spending", "/tasks", "/config", "/health", "/audit"} {
		check("/admin" + path)
	}
	visitor := o.conversation()
	o.ask(visitor, "/person my order has not come")()
	check("/admin/requests")
	o.eval(`document.querySelector('button[value="take over"]').click()`)
	o.shows("talks to The team")
	write := func(do, text string) {
		o.eval(fmt.Sprintf(`(document.querySelector('#text').value = %q, document.querySelector('button[value=%q]').click())`, text, do))
		o.shows(text)
	}
	path := o.eval("location.pathname + location.search")
	o.ask(visitor, "I ordered two kilos of coffee last Monday, and have heard nothing since.")
	o.shows("two kilos of coffee") // by the script, without a reload
	write("write", "I'm sorry. It left our warehouse this morning.")
	write("note", "The warehouse forgot it")
	check(path)
	for _, n := range []int{0, 1} { // the first answer, and its room
		o.open("/admin/runs")
		link := fmt.Sprintf("document.querySelectorAll('td a')[%d]", n)
		check(o.eval(link + ".pathname + " + link + ".search"))
	}
}

// shot saves a picture for people.
func (o *operators) shot(name string) {
	dir := os.Getenv("PARLEY_ARTIFACTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(o.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600)
	}
	if err != nil {
		o.Errorf("no picture %s: %v", name, err)
	}
}
