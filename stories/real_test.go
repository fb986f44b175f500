package stories_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"parley"
	"parley/backends/redis/redistest"
	"parley/config"
	"parley/gatewaytest"
	"parley/internal/require"
	"parley/models/modelfake"
	"parley/sim"
)

// startOnSockets runs a gateway on real sockets and a real clock, and returns its address.
func startOnSockets(t *testing.T, edit func(*config.Config)) string {
	t.Helper()
	cfg := require.Value(parley.DefaultConfig(func(string) (string, bool) { return "", false }))(t)
	cfg.Web.Listen = "127.0.0.1:0"
	cfg.Store = config.DSN("sqlite:" + filepath.Join(t.TempDir(), "parley.db"))
	cfg.Shutdown = 0
	edit(&cfg)
	g := require.Value(parley.New(cfg, parley.Env{Log: slog.New(slog.DiscardHandler)}))(t)
	p := gatewaytest.Start(context.Background(), g.Run)
	t.Cleanup(func() { require.NoError(t, p.Stop()) })
	return "http://" + g.Addr().String()
}

// Turns are kept in a real Redis: the second message cancels the first one's model call.
func TestSecondMessageThroughRedis(t *testing.T) {
	redis := redistest.Start(t)
	asked, cancelled := make(chan struct{}), make(chan struct{})
	model := modelfake.New(modelfake.Options{Choose: func(r modelfake.Request) modelfake.Script {
		if r.LastUser() == "A" {
			close(asked)
			return modelfake.Script{modelfake.Open(), modelfake.Stall()}
		}
		return modelfake.Echo(r)
	}})
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		model.ServeHTTP(w, r)
		if r.Context().Err() != nil {
			close(cancelled)
		}
	}))
	t.Cleanup(provider.Close)
	base := startOnSockets(t, func(c *config.Config) {
		c.Shared = config.DSN(redis.URL())
		c.Providers.OpenAI.BaseURL, c.Models.Large.Model = provider.URL+"/v1", modelfake.DefaultModel
	})
	b := &sim.Browser{HTTP: http.DefaultClient, Base: base}
	conversation := require.Value(b.Open(t.Context()))(t)
	send := func(key, text string) *sim.Stream {
		s, err := b.Send(t.Context(), conversation, key, text)
		if err != nil || s.Status != http.StatusOK {
			t.Fatalf("%+v, %v", s, err)
		}
		return s
	}
	first := send("a", "A")
	<-asked
	second := send("b", "B")
	if _, err := second.All(); err != nil || second.Text() != "You said: B" {
		t.Errorf(`B is answered with %q, %v; want "You said: B"`, second.Text(), err)
	}
	if events, err := first.All(); err != nil || events[len(events)-1].NoResponse != "superseded" {
		t.Errorf("A ended with %v, %v", events, err)
	}
	<-cancelled // or the test times out: A's call was never ended
}

// A person opens the page of a gateway with nothing configured, sees an answer grow and end, reloads, and finds it.
// The pictures are kept where PARLEY_ARTIFACTS says.
func TestPageInBrowser(t *testing.T) {
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("SKIPPED: no chromium in PATH; the page was not tried in a browser")
	}
	base := startOnSockets(t, func(*config.Config) {})
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1200, 800))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx)
	defer cancel()
	page := view{t, ctx}
	page.do(chromedp.Navigate(base))
	page.wait(`root.querySelectorAll('.chip').length === 4`)
	page.picture("empty")
	page.wait(`(root.querySelector('.chip:nth-child(2)').click(), true)`)
	page.wait(`text.includes('demo model')`)
	page.wait(`text.includes('Searching')`)
	page.picture("progress")
	page.wait(`text.includes('Now playing') && !text.includes('Searching')`)
	page.wait(`text.includes('rewritten in place') && !root.querySelector('.live')`)
	page.picture("end")
	end := page.text()
	page.do(chromedp.Reload())
	page.wait(`root.querySelector('.trail summary')?.innerText === '4 steps'`)
	page.picture("reloaded")
	if again := page.text(); again != end || !strings.Contains(end, "Now playing: Clair de Lune") {
		t.Errorf("the answer was %q, after a reload it is %q", end, again)
	}
}

// view is the page in a browser.
type view struct {
	*testing.T
	ctx context.Context
}

// inPage are names for what scripts look at.
const inPage = `const root = document.querySelector('parley-chat')?.shadowRoot ?? document;
	const text = [...root.querySelectorAll('.answer .text')].map((stretch) => stretch.innerText).join('\n\n');`

func (v view) do(a chromedp.Action[chromedp.Void]) {
	v.Helper()
	require.NoError(v, chromedp.Do(v.ctx, a))
}

func (v view) wait(script string) {
	v.Helper()
	poll := chromedp.Poll[bool](`(() => {`+inPage+` return Boolean(`+script+`)})()`, chromedp.WithPollingTimeout(30*time.Second))
	if _, err := chromedp.Run(v.ctx, poll); err != nil {
		v.Fatalf("%s never became true: %v\nthe page shows: %s", script, err, v.text())
	}
}

func (v view) text() string {
	v.Helper()
	text, err := chromedp.Run(v.ctx, chromedp.Evaluate[string](`(() => {`+inPage+` return text})()`))
	if err != nil {
		v.Error(err)
	}
	return text
}

func (v view) picture(name string) {
	v.Helper()
	dir := os.Getenv("PARLEY_ARTIFACTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(v.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "gateway-"+name+".png"), png, 0o644)
	}
	if err != nil {
		v.Errorf("no picture %s: %v", name, err)
	}
}
