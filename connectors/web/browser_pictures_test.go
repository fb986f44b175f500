//go:build pictures

package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

	"parley/connectors/web"
	"parley/internal/require"
)

// talk is a conversation in several languages and directions.
var talk = [][2]string{
	{"Which lamp fits a small desk?", "The **Lark** does:\n\n| | Lark | Heron |\n|---|--:|--:|\n| Height | 38 cm | 61 cm |\n| Price | $49.00 | $1,249.00 |\n| Light | `2700 K` | `4000 K` |\n\nIt stands on 12 cm."},
	{"هل يمكنني إعادة المصباح؟", "نعم، خلال **30 يومًا**:\n\n1. احتفظ بالفاتورة (Invoice 4711).\n2. اتصل بنا على https://shop.example/returns\n3. نعيد المبلغ كاملًا."},
	{"How bright is it at 2 m?", "The illuminance falls with the square of the distance:\n\n$$E = \\frac{I}{d^2} = \\frac{120}{2^2} = 30\\ \\mathrm{lx}$$\n\nTo compute it:\n\n```python\ndef lux(candela, metres):\n    return candela / metres ** 2\n```"},
	{"האם יש משלוח לחיפה?", "כן. המשלוח לוקח **3–5 ימים**, ומעל 200 ₪ הוא חינם."},
	{"And the bulb?", "It is included. To replace it:\n\n- [x] switch the lamp off\n- [ ] wait 5 minutes\n- [ ] turn the bulb to the left\n\n> Use bulbs of at most 9 W."},
}

// TestPictures makes the pictures of the docs in the folder PARLEY_PICTURES, from the default embed on a hostile page.
func TestPictures(t *testing.T) {
	dir := os.Getenv("PARLEY_PICTURES")
	if dir == "" {
		t.Fatal("PARLEY_PICTURES is not set; make pictures sets it")
	}
	p := newTab(t, browser(t))
	l := listen(t, "127.0.0.1:0")
	loud := site(t, l, `data-open`)
	calm := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		_, _ = rw.Write([]byte(`<!doctype html><html lang="` + r.URL.Query().Get("lang") + `"><meta charset=utf-8><meta name=color-scheme content="light dark"><title>Shop</title><body style="font: 18px system-ui; margin: 40px"><h1>Lamps</h1><p>Two lamps, one desk.</p><script src="http://` + l.Addr().String() + `/widget.js" data-agent=Ada data-open></script>`))
	}))
	t.Cleanup(calm.Close)
	g := start(t, newBackend(), l, func(o *web.Options) { o.Origins = []string{loud, calm.URL} })
	take := func(name string, width, height int64, from string) { // from is at the top; without it the end is in sight
		t.Helper()
		p.do(chromedp.EmulateViewport(width, height))
		p.eval(`(all('.scroller')[0]?.scrollTo(0, 1e6), document.activeElement?.blur(), '')`)
		if from != "" {
			p.eval(`(all('` + from + `')[0].scrollIntoView({ block: 'start' }), '')`)
		}
		time.Sleep(300 * time.Millisecond) // fonts, and what appears slowly
		picture, err := chromedp.Call(p.ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{})
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "chat-"+name+".png"), picture.Data, 0o644)
		}
		require.NoError(t, err)
		if len(picture.Data) > 60<<10 {
			t.Errorf("%s has %d bytes, want at most 60 KB", name, len(picture.Data))
		}
	}
	all := func() {
		for _, said := range talk {
			p.send(said[0])
			g.next(t).finish(completed, said[1])
			p.wait(`all('.live').length === 0`)
		}
		p.wait(`all('math').length > 0 && all('code[data-language=python] span').length > 0`)
	}
	p.media("light")
	p.open(loud)
	all()
	take("hostile-page", 1000, 700, ".question")
	p.open(calm.URL)
	all()
	take("desktop", 1000, 700, ".question")
	p.media("dark")
	take("desktop-dark", 1000, 700, ".answer math")
	take("phone-dark", 390, 780, "")
	p.media("light")
	take("phone", 390, 780, ".answer math")
	if _, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "forced-colors", Value: "active"}}}); err != nil {
		t.Fatal(err)
	}
	take("forced-colors", 1000, 700, "")
	p.media("light")
	p.open(calm.URL + "/?lang=ar")
	take("right-to-left", 390, 780, ".answer ol")
	p.open(calm.URL)
	p.click(".head .icon")
	p.wait(`all('.past li').length > 0`)
	take("past-chats", 390, 780, "")
	p.open(calm.URL)
	p.send("Then order two, please.")
	order := g.next(t)
	order.say("**Order** (shop, writes)\n\n2 × Lark for $98.00, to Ada Example.")
	order.approve("order", time.Now().Add(5*time.Minute), "Approve", "Deny")
	p.wait(`all('.approval .chip').length === 2`)
	take("approval", 390, 780, "")
	p.do(chromedp.EmulateViewport(640, 400)) // 200 % zoom of 1280 pixels
	take("zoom", 640, 400, "")
}

// TestFigures measures the chat where computers and networks are slow, and writes the figures to the file PARLEY_FIGURES.
func TestFigures(t *testing.T) {
	name := os.Getenv("PARLEY_FIGURES")
	if name == "" {
		t.Fatal("PARLEY_FIGURES is not set; make figures sets it")
	}
	ctx := browser(t)
	l := listen(t, "127.0.0.1:0")
	shop := site(t, l, `data-open`)
	g := start(t, newBackend(), l, func(o *web.Options) { o.Origins = []string{shop} })
	var out strings.Builder
	fmt.Fprintf(&out, "date: %s\ngo: %s %s/%s, %d cores\n\n", time.Now().UTC().Format("2006-01-02T15:04Z"), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	var opened []int
	for range 9 {
		t.Run("open", func(t *testing.T) { opened = append(opened, openSlowly(newTab(t, ctx), shop)) })
	}
	slices.Sort(opened)
	fmt.Fprintf(&out, "open and usable, 4 x CPU, slow 3G (400 kbit/s, 400 ms): %d ms after the navigation, the median of %d\n", opened[len(opened)/2], opened)
	p := newTab(t, ctx)
	p.open(shop)
	if _, err := chromedp.Call(p.ctx, performance.Enable, performance.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	for _, rate := range []float64{1, 4} {
		if _, err := chromedp.Call(p.ctx, emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: rate}); err != nil {
			t.Fatal(err)
		}
		p.send("write much")
		r := g.next(t)
		p.eval(`(window.frames_ = 0, window.counts = true, (function count() { frames_++; if (counts) requestAnimationFrame(count); })(), '')`)
		before := metrics(t, p)
		for n := 0; n < 100_000; n += 100 {
			r.say(strings.Repeat("some words of it ", 5) + "and **bold**.\n\n")
			time.Sleep(5 * time.Millisecond)
		}
		r.finish(completed, "")
		p.wait(`all('.live').length === 0`)
		after := metrics(t, p)
		frames, _ := strconv.ParseFloat(p.eval(`(counts = false, frames_)`), 64)
		fmt.Fprintf(&out, "while 100,000 characters stream, %.0f x CPU: %.1f ms of scripting and %.1f ms of layout in a frame, of %.0f frames\n", rate,
			1000*(after["ScriptDuration"]-before["ScriptDuration"])/frames, 1000*(after["LayoutDuration"]-before["LayoutDuration"])/frames, frames)
	}
	t.Log(out.String())
	require.NoError(t, os.WriteFile(name, []byte(out.String()), 0o644))
}

// openSlowly returns after how many milliseconds a chat is usable with a slow processor and network.
func openSlowly(p *tab, shop string) int {
	p.t.Helper()
	_, err := chromedp.Call(p.ctx, emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: 4})
	require.NoError(p.t, err)
	slow := []*network.Conditions{{Latency: 400, DownloadThroughput: 400_000 / 8, UploadThroughput: 400_000 / 8}}
	require.Value(chromedp.Call(p.ctx, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: slow}))(p.t)
	p.before(`(function look() {
		if (document.querySelector('parley-chat')?.shadowRoot.querySelector('.empty:not([hidden])')) window.usable = performance.now();
		else requestAnimationFrame(look);
	})()`)
	p.open(shop)
	ms, err := strconv.Atoi(p.eval(`Math.round(usable)`))
	require.NoError(p.t, err)
	return ms
}

// metrics are the browser's own of a page.
func metrics(t *testing.T, p *tab) map[string]float64 {
	t.Helper()
	now := require.Value(chromedp.Call(p.ctx, performance.GetMetrics, cdp.Empty{}))(t)
	all := map[string]float64{}
	for _, m := range now.Metrics {
		all[m.Name] = m.Value
	}
	return all
}
