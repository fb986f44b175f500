package clients_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"parley/config"
	"parley/internal/require"
)

// deepChat is a page with the component, in a real browser.
type deepChat struct {
	*stage
	ctx context.Context
}

// onDeepChat opens the page of another site, which the gateway allows. connect is the component's setting.
func onDeepChat(t *testing.T, connect string, play func(*deepChat)) {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("%v: run tools/install.sh", err)
	}
	dir := require.Value(packages())(t)
	page := ""
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/deepChat.bundle.js" {
			http.ServeFile(w, r, filepath.Join(dir, "node_modules", "deep-chat", "dist", "deepChat.bundle.js"))
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprint(w, page)
	}))
	t.Cleanup(site.Close)
	s := newStage(t, func(c *config.Config) { c.Web.Origins = []string{site.URL} })
	page = fmt.Sprintf(`<!doctype html><script type="module" src="/deepChat.bundle.js"></script><deep-chat mixedFiles="true" connect='%s'></deep-chat>`,
		strings.ReplaceAll(connect, "GATEWAY", s.base))
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	d := &deepChat{s, ctx}
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(site.URL)))
	d.until("the component is ready", `!!document.querySelector('deep-chat')?.shadowRoot?.querySelector('#text-input')`)
	play(d)
}

// until waits until a script returns true.
func (d *deepChat) until(what, script string) {
	d.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if ok, err := chromedp.Run(d.ctx, chromedp.Evaluate[bool](script)); err == nil && ok {
			return
		}
	}
	shown, _ := chromedp.Run(d.ctx, chromedp.Evaluate[string](bubbles+`.join(' | ')`))
	d.Fatalf("in vain: %s; it shows %q", what, shown)
}

// bubbles are the texts of the messages.
const bubbles = `[...document.querySelector('deep-chat').shadowRoot.querySelectorAll('.text-message, .error-message-text')].map((m) => m.innerText)`

// shows waits until the last bubble shows a text.
func (d *deepChat) shows(want string) {
	d.Helper()
	d.until(want, fmt.Sprintf(`%s.at(-1)?.trim() === %q`, bubbles, want))
}

// send sends a message, as a user does. The component takes none while it still reads an answer.
func (d *deepChat) send(text string) {
	d.Helper()
	d.until("sent", fmt.Sprintf(`%s.includes(%q) || (document.querySelector('deep-chat').submitUserMessage({text: %[2]q}), false)`, bubbles, text))
}

// The component shows three states before the model's last token, a status that is replaced, and choices.
func TestDeepChatStream(t *testing.T) {
	onDeepChat(t, `{"url": "GATEWAY/deepchat", "stream": true, "additionalBodyProps": {"conversation": "1"}}`, func(d *deepChat) {
		d.send("tell me")
		for _, want := range []string{"One", "One two", "One two three"} {
			d.shows(want)
			d.gates <- struct{}{}
		}
		d.shows("One two three four.")
		d.send("search tea")
		for _, want := range []string{"Searching the web…", "Reading 3 pages…"} {
			d.shows("I look it up.\n\n" + want)
			d.gates <- struct{}{}
		}
		d.until("the answer", bubbles+`.at(-1).includes('It is: green tea')`)
		d.until("the status is gone", `!`+bubbles+`.at(-1).includes('Reading')`)
		d.send("ask me")
		d.until("the options", bubbles+`.at(-1).includes('Blue')`)
		d.send("2")
		d.until("chosen", bubbles+`.at(-1).includes('It is: Blue')`)
		d.sendPicture()
		d.stops()
		d.loadsHistory("ask me")
		d.checkTable("CELL deepchat send\nCELL deepchat stream\nCELL deepchat tools\nCELL deepchat choices\nCELL deepchat files\nCELL deepchat stop\nCELL deepchat history\n")
	})
}

func TestDeepChatJSON(t *testing.T) {
	onDeepChat(t, `{"url": "GATEWAY/deepchat", "additionalBodyProps": {"conversation": "1"}}`, func(d *deepChat) {
		d.send("Hello")
		d.shows("You said: Hello")
		d.sendPicture()
		d.send("ask me")
		d.until("the options", bubbles+`.at(-1).includes('Blue')`)
		d.send("1")
		d.until("chosen", bubbles+`.at(-1).includes('It is: Red')`)
		d.stops()
		d.loadsHistory("Hello")
		d.checkTable("CELL deepchat-json send\nCELL deepchat-json files\nCELL deepchat-json choices\nCELL deepchat-json stop\nCELL deepchat-json history\n")
	})
}

// stops stops an answer as a page's own button does: the button of the component only disconnects.
func (d *deepChat) stops() {
	d.Helper()
	before := len(d.asked())
	d.send("tell me more")
	for end := time.Now().Add(30 * time.Second); len(d.asked()) == before && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
	d.until("stopped", fmt.Sprintf(`fetch('%s/deepchat/stop?conversation=1', {method: 'POST'}), true`, d.base))
	d.until("the answer has ended", bubbles+`.at(-1).includes('Stopped')`)
}

// loadsHistory puts another component into the page, which loads the messages.
func (d *deepChat) loadsHistory(first string) {
	d.Helper()
	load := `(() => { const old = document.querySelector('deep-chat'), chat = document.createElement('deep-chat')
		chat.loadHistory = async () => (await fetch('%s/deepchat/history?conversation=1')).json()
		old.replaceWith(chat); return true })()`
	d.until("another component", fmt.Sprintf(load, d.base))
	d.until("the history", fmt.Sprintf(`%s.includes(%q) && %[1]s.includes('You sent image/png.')`, bubbles, first))
}

// asked returns what the model was asked so far.
func (d *deepChat) asked() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.prompts
}

// sendPicture sends a picture, as a user does.
func (d *deepChat) sendPicture() {
	d.Helper()
	pixel := `new File([Uint8Array.from(atob('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='), (c) => c.charCodeAt(0))], 'a.png', {type: 'image/png'})`
	d.until("a file is sent", bubbles+`.includes('Look') || (document.querySelector('deep-chat').submitUserMessage({text: 'Look', files: [`+pixel+`]}), false)`)
	d.shows("You sent image/png.")
}
