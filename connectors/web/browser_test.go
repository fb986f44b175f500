package web_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	"parley/core/answer"
	"parley/internal/require"
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
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate("about:blank")))
	return ctx
}

// tab is one page with a storage of its own.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	problems []string
	offline  atomic.Bool // failed requests are expected, as they are once the test is over and its gateway stops
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
				if over := t.Context().Err() != nil; !p.offline.Load() && !over || m.Source != "network" && !strings.Contains(m.Text, "blocked by CORS policy") {
					p.problems = append(p.problems, m.Source+" "+m.String()+" "+m.URL)
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

// complains waits for a problem in the console that holds text, and takes it for wanted.
func (p *tab) complains(text string) {
	p.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		p.mu.Lock()
		i := slices.IndexFunc(p.problems, func(s string) bool { return strings.Contains(s, text) })
		if i >= 0 {
			p.problems = slices.Delete(p.problems, i, i+1)
		}
		p.mu.Unlock()
		if i >= 0 {
			return
		}
	}
	p.t.Fatalf("the console never says %q, but %q", text, p.problems)
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
	e.WindowsVirtualKeyCode = map[string]int64{"Enter": 13, "Tab": 9}[key]
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

// shot saves a screenshot for manual review.
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

var completed = answer.Outcome{Status: answer.Completed}

func TestBrowser(t *testing.T) {
	ctx := browser(t)
	for name, play := range map[string]func(*testing.T, *gateway, *tab){
		"a conversation":  playConversation,
		"stop":            playStop,
		"failure":         playFailure,
		"superseded":      playSuperseded,
		"failover":        playFailover,
		"keys":            playKeys,
		"new chat":        playNewChat,
		"gone":            playGone,
		"hostile text":    playHostile,
		"payloads":        playPayloads,
		"cut line":        playCut,
		"silent line":     playSilent,
		"reload":          playReload,
		"scrolling":       playScrolling,
		"pictures":        playPictures,
		"documents":       playDocuments,
		"outline":         playOutline,
		"calls":           playCalls,
		"code over calls": playCodeOverCalls,
		"files":           playFiles,
		"files alone":     playFilesAlone,
		"choices":         playChoices,
		"an approval":     playApproval,
		"chosen":          playChosen,
		"chosen later":    playEnded,
		"a form":          playForm,
		"an unasked form": playUnaskedForm,
		"emptied":         playEmptied,
		"notifications":   playNotifications,
		"refused":         playRefused,
		"carried out":     playCarried,
		"no reasoning":    playNoReasoning,
		"again":           playAgain,
		"chats":           playChats,
		"two tabs":        playTwoTabs,
		"relayed":         playRelayed,
		"accessible":      playAccessible,
		"right to left":   playRightToLeft,
		"accents":         playAccents,
		"trusted types":   playTrustedTypes,
		"signals":         playSignals,
		"sentences":       playSentences,
		"a phone":         playPhone,
		"cancel a file":   playCancel,
		"preload":         playPreload,
	} {
		t.Run(name, func(t *testing.T) {
			g := start(t, newBackend(), listen(t, "127.0.0.1:0"), nil)
			play(t, g, newTab(t, ctx))
		})
	}
	t.Run("reasoning", func(t *testing.T) {
		g := start(t, newBackend(), listen(t, "127.0.0.1:0"), func(o *web.Options) { o.Reasoning = true })
		playReasoning(t, g, newTab(t, ctx))
	})
	t.Run("too much", func(t *testing.T) { playTooMuch(t, newTab(t, ctx)) })
	t.Run("rejoining at the limit", func(t *testing.T) { playRejoinAtTheLimit(t, newTab(t, ctx)) })
	t.Run("restart", func(t *testing.T) { playRestart(t, newTab(t, ctx)) })
	t.Run("restart while something is asked", func(t *testing.T) { playAskedRestart(t, newTab(t, ctx)) })
	t.Run("restart in a call", func(t *testing.T) { playRestartInCall(t, newTab(t, ctx)) })
	t.Run("proof of a person", func(t *testing.T) { playProof(t, newTab(t, ctx)) })
	t.Run("no proof of a person", func(t *testing.T) { playNoProof(t, newTab(t, ctx)) })
	t.Run("proof of a person with trusted types", func(t *testing.T) { playTrustedProof(t, newTab(t, ctx)) })
	t.Run("contact", func(t *testing.T) { playContact(t, newTab(t, ctx)) })
	t.Run("login", func(t *testing.T) { playLogIn(t, newTab(t, ctx)) })
	t.Run("embedded", func(t *testing.T) { playEmbedded(t, newTab(t, ctx)) })
	t.Run("accounts", func(t *testing.T) { playAccounts(t, newTab(t, ctx)) })
	t.Run("embedded in an element", func(t *testing.T) { playTarget(t, newTab(t, ctx)) })
	t.Run("embedded where it may not be", func(t *testing.T) { playForbidden(t, newTab(t, ctx)) })
	t.Run("driven by the page", func(t *testing.T) { playAPI(t, newTab(t, ctx)) })
	t.Run("configured look", func(t *testing.T) { playLook(t, newTab(t, ctx)) })
	t.Run("embedded while it is down", func(t *testing.T) { playDown(t, newTab(t, ctx)) })
	t.Run("embedded twice", func(t *testing.T) { playTwoEmbeds(t, newTab(t, ctx)) })
	t.Run("embedded in a missing element", func(t *testing.T) { playWrongTarget(t, newTab(t, ctx)) })
	t.Run("attributes to try", func(t *testing.T) { playTry(t, newTab(t, ctx)) })
	t.Run("example in HTML", func(t *testing.T) { playHTMLExample(t, newTab(t, ctx)) })
	t.Run("example in React", func(t *testing.T) { playReactExample(t, newTab(t, ctx)) })
	t.Run("example of an element", func(t *testing.T) { playElementExample(t, newTab(t, ctx)) })
	t.Run("focus of the page", func(t *testing.T) { playHostFocus(t, newTab(t, ctx)) })
	t.Run("focus order", func(t *testing.T) { playFocusOrder(t, newTab(t, ctx)) })
	t.Run("closed", func(t *testing.T) { playClosedLabel(t, newTab(t, ctx)) })
	t.Run("accessible elsewhere", func(t *testing.T) { playAccessibleEmbed(t, newTab(t, ctx)) })
	t.Run("an odd page", func(t *testing.T) { playOddPage(t, newTab(t, ctx)) })
	t.Run("unasked", func(t *testing.T) { playUnasked(t, newTab(t, ctx)) })
	t.Run("tag manager", func(t *testing.T) { playTagManager(t, newTab(t, ctx)) })
	t.Run("example in WordPress", func(t *testing.T) { playWordPressExample(t, newTab(t, ctx)) })
	t.Run("example of a frame", func(t *testing.T) { playFrameExample(t, newTab(t, ctx)) })
}
