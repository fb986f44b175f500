package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"

	"parley/core/answer"
	"parley/core/llm"
)

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
	r.tool("1", answer.Tool{Name: "<img src=x onerror=pwned()>", Stage: answer.StageEnd, Result: text, Error: text},
		llm.File{Type: "image/svg+xml", Data: []byte("<svg onload=pwned()>")}, llm.File{Name: "<img src=x onerror=pwned()>", Type: "text/html", Data: []byte("<script>pwned()</script>")})
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

// Headings of an answer are below those of the page that shows it, check boxes have labels, and columns of tables are as wide as
// their words, however narrow the page is.
func playOutline(t *testing.T, g *gateway, p *tab) {
	p.do(chromedp.EmulateViewport(390, 844))
	p.open(g.url)
	p.send("outline")
	r := g.next(t)
	r.say("# One\n\n## Two\n\n###### Six\n\n- [x] Buy tea\n- [ ] Drink it\n\n| Internationalization | Responsibilities | Characteristics | Acknowledgements |\n|---|---|---|---|\n| a | b | c | d |\n")
	r.finish(completed, "")
	p.wait(`all('.said .level6').length === 1 && all('.said td').length === 4`)
	p.is(`[...all('.said')[0].querySelectorAll('h1,h2,h3,h4,h5,h6')].map((node) => node.localName).join()`, "h3,h4,h6")
	p.is(`all('.said input').map((box) => box.getAttribute('aria-label')).join()`, "Buy tea,Drink it")
	p.is(`all('.said th').every((cell) => cell.getClientRects()[0].height < 40)`, "true")
	p.is(`all('.said .table')[0].scrollWidth > all('.said .table')[0].clientWidth && document.documentElement.scrollWidth <= innerWidth`, "true")
}
