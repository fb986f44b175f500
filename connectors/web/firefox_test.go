//go:build nightly

package web_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"parley/connectors/web"
	"parley/internal/require"
)

// firefox is a tab of Firefox, driven by WebDriver BiDi, which it speaks itself.
type firefox struct {
	t    *testing.T
	conn *websocket.Conn
	tab  string
	last int
}

// newFirefox starts Firefox ESR.
func newFirefox(t *testing.T) *firefox {
	t.Helper()
	path, err := exec.LookPath("firefox-esr")
	if err != nil {
		t.Fatal("no firefox-esr in PATH: apt-get install firefox-esr")
	}
	command := exec.Command(path, "--headless", "--no-remote", "--remote-debugging-port=0", "--profile", t.TempDir())
	command.Env = append(os.Environ(), "HOME="+t.TempDir())
	said, err := command.StderrPipe()
	if err == nil {
		err = command.Start()
	}
	require.NoError(t, err)
	address := ""
	lines := bufio.NewScanner(said)
	for address == "" && lines.Scan() {
		if found := regexp.MustCompile(`BiDi listening on (ws://\S+)`).FindStringSubmatch(lines.Text()); found != nil {
			address = found[1]
		}
	}
	go func() {
		for lines.Scan() { // until it ends
		}
	}()
	conn, refused, err := websocket.DefaultDialer.DialContext(t.Context(), address+"/session", nil)
	if err != nil {
		t.Fatalf("connect with Firefox at %q: %v", address, err)
	}
	t.Cleanup(func() { _ = refused.Body.Close() })
	f := &firefox{t: t, conn: conn}
	f.call("session.new", map[string]any{"capabilities": map[string]any{}}, nil)
	t.Cleanup(func() {
		_ = conn.WriteJSON(map[string]any{"id": f.last + 1, "method": "browser.close", "params": map[string]any{}})
		_ = command.Wait()
	})
	var tree struct{ Contexts []struct{ Context string } }
	f.call("browsingContext.getTree", map[string]any{}, &tree)
	f.tab = tree.Contexts[0].Context
	return f
}

// call sends a command, and decodes its result.
func (f *firefox) call(method string, params map[string]any, into any) {
	f.t.Helper()
	f.last++
	err := f.conn.WriteJSON(map[string]any{"id": f.last, "method": method, "params": params})
	if err == nil {
		err = f.conn.SetReadDeadline(time.Now().Add(patience))
	}
	if err != nil {
		f.t.Fatal(err)
	}
	for {
		var reply struct {
			ID      int
			Type    string
			Result  json.RawMessage
			Message string
		}
		if err := f.conn.ReadJSON(&reply); err != nil {
			f.t.Fatalf("%s: %v", method, err)
		}
		if reply.ID != f.last {
			continue
		}
		if reply.Type == "error" {
			f.t.Fatalf("%s: %s", method, reply.Message)
		}
		if into != nil {
			if err := json.Unmarshal(reply.Result, into); err != nil {
				f.t.Fatal(err)
			}
		}
		return
	}
}

func (f *firefox) open(url string) {
	f.t.Helper()
	f.call("browsingContext.navigate", map[string]any{"context": f.tab, "url": url, "wait": "complete"}, nil)
}

func (f *firefox) eval(script string) string {
	f.t.Helper()
	var reply struct {
		Type   string
		Result struct{ Value string }
	}
	f.call("script.evaluate", map[string]any{"expression": helpers + "String(" + script + ")", "target": map[string]any{"context": f.tab}, "awaitPromise": true}, &reply)
	if reply.Type != "success" {
		f.t.Fatalf("%s fails in Firefox", script)
	}
	return reply.Result.Value
}

func (f *firefox) wait(script string) {
	f.t.Helper()
	for until := time.Now().Add(patience); f.eval("Boolean("+script+")") != "true"; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(until) {
			f.t.Fatalf("%s never became true; the page shows %s", script, f.eval("shown('.chat')"))
		}
	}
}

// press presses keys, one after the other, in the focused element.
func (f *firefox) press(keys string) {
	f.t.Helper()
	var actions []map[string]any
	for _, key := range keys {
		actions = append(actions, map[string]any{"type": "keyDown", "value": string(key)}, map[string]any{"type": "keyUp", "value": string(key)})
	}
	f.call("input.performActions", map[string]any{"context": f.tab, "actions": []any{map[string]any{"type": "key", "id": "keys", "actions": actions}}}, nil)
}

const enterKey = "\ue007"

// In Firefox ESR, on a hostile page: ask with the keyboard, read an answer that grows, with maths, code and a table, reload, find it again and rate it.
func TestFirefox(t *testing.T) {
	f := newFirefox(t)
	l := listen(t, "127.0.0.1:0")
	shop := site(t, l, "")
	g := start(t, newBackend(), l, func(o *web.Options) { o.Origins = []string{shop} })
	f.open(shop)
	f.wait(`all('.launcher').length === 1`)
	f.eval(`(all('.launcher')[0].click(), '')`)
	f.wait(`shown('.empty h2').includes('Ada')`)
	f.press("How bright is it?" + enterKey)
	r := g.next(t)
	r.say("It is **bright")
	f.wait(`all('.answer strong')[0]?.innerText === 'bright'`)
	r.say("**:\n\n$$E = \\frac{I}{d^2}$$\n\n```python\ndef lux(): pass\n```\n\n| a | b |\n|---|--:|\n| 1 | $2.00 |")
	r.finish(completed, "")
	look := `all('.answer math').length === 1 && all('.answer code[data-language=python] span').length > 0 && all('.answer td').map((cell) => cell.innerText).join() === '1,$2.00'`
	f.wait(look)
	if got := f.eval(`['color', 'textTransform', 'letterSpacing', 'visibility', 'direction'].map((name) => getComputedStyle(all('.answer .text')[0])[name]).join()`); got != "rgb(31, 29, 26),none,normal,visible,ltr" {
		t.Errorf("the hostile page changes the look to %s", got)
	}
	f.open(shop)
	f.eval(`(parley.open(), '')`)
	f.wait(look)
	f.eval(`(all('[aria-label="Good answer"]')[0].click(), '')`)
	f.wait(`all('[aria-label="Good answer"]')[0].getAttribute('aria-pressed') === 'true'`)
	f.press("again" + enterKey)
	g.next(t).finish(completed, "Once more.")
	f.wait(`shown('.answer').includes('Once more.')`)
	f.eval(`(all('.head .icon')[0].click(), '')`)
	f.wait(`shown('.past').includes('How bright')`)
	if dir := os.Getenv("PARLEY_ARTIFACTS"); dir != "" {
		var shot struct{ Data []byte }
		f.call("browsingContext.captureScreenshot", map[string]any{"context": f.tab}, &shot)
		if err := os.WriteFile(fmt.Sprintf("%s/firefox.png", strings.TrimSuffix(dir, "/")), shot.Data, 0o644); err != nil {
			t.Error(err)
		}
	}
}
