package web_test

import (
	"fmt"
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

// payloads are over 1,000 ways to run a script: each element in each place that text could break out of.
func payloads() []string {
	var all []string
	elements := strings.Split("<script>pwned()</script>|<img src=x onerror=pwned()>|<svg onload=pwned()>|<svg><script>pwned()</script></svg>|<body onload=pwned()>|<input autofocus onfocus=pwned()>|"+
		"<details open ontoggle=pwned()>x</details>|<video><source onerror=pwned()></video>|<audio src=x onerror=pwned()>|<iframe srcdoc='<script>parent.pwned()</script>'>|<iframe src=javascript:parent.pwned()>|"+
		"<object data=javascript:pwned()>|<embed src=javascript:pwned()>|<math><mi xlink:href=javascript:pwned()>x</mi></math>|<a href=javascript:pwned()>x</a>|<form action=javascript:pwned()><button>x</button></form>|"+
		"<style onload=pwned()>*{}</style>|<link rel=stylesheet href=x onerror=pwned()>|<meta http-equiv=refresh content='0;javascript:pwned()'>|<base href=javascript:pwned()//>|<template><img src=x onerror=pwned()></template>|"+
		"<kbd onclick=pwned() onpointerenter=pwned()>x</kbd>|<marquee onstart=pwned()>x</marquee>|<img/src=x/onerror=pwned()>|<IMG SRC=x OnErRoR=pwned()>|[x](javascript:pwned())|![x](javascript:pwned())|<javascript:pwned()>|"+
		"[x]: javascript:pwned()|$\\\\href{javascript:pwned()}{x}$|&lt;img src=x onerror=pwned()&gt;|\\x3cimg src=x onerror=pwned()\\x3e", "|")
	for _, before := range []string{"", `">`, "'>", "`", "</textarea>", "</style>", "-->", "]]>", "\x00", "\u202e"} {
		for _, form := range []string{"%s", "**%s**", "[%s](https://ok.example/)", "`` %s"} {
			for _, element := range elements {
				all = append(all, strings.Replace(form, "%s", before+element, 1))
			}
		}
	}
	return all
}

// SE-06: no payload runs as the text of a question or an answer, as a name, a label or an argument of a call, as the name of a file, as an
// option, as a title, in the history, after feedback, or in a shared copy.
func playPayloads(t *testing.T, g *gateway, p *tab) {
	all := payloads()
	if len(all) < 1000 {
		t.Fatalf("%d payloads, want at least 1,000", len(all))
	}
	p.before(`window.pwned = () => { window.wasPwned = true; };`)
	p.open(g.url)
	check := func(where string) {
		t.Helper()
		if got := p.eval(`window.wasPwned`); got != "undefined" {
			t.Errorf("a script ran: %s", where)
		}
		p.is(`all('.chat :is(script, iframe, style, link, object, embed, base, meta, video, audio, svg script)').length + all('.message :is(img, form)').length`, "0")
		p.is(`all('.chat *').flatMap((node) => node.getAttributeNames()).filter((name) => name.startsWith('on')).join()`, "")
		p.is(`all('.chat a').filter((a) => !/^(https?|mailto):$/.test(a.protocol)).length`, "0")
	}
	const parts = 4
	for part := range parts {
		some := all[part*len(all)/parts : (part+1)*len(all)/parts]
		text := strings.Join(some, "\n\n")
		p.send(some[0] + " " + some[1] + " " + some[2])
		r := g.next(t)
		var files []llm.File
		for i, one := range some[:20] {
			files = append(files, llm.File{Name: one, Type: "text/html", Data: []byte(one)})
			call := string(rune('a' + i))
			r.tool(call, answer.Tool{Name: one, Label: some[20+i], Stage: answer.StageStart})
			r.tool(call, answer.Tool{Name: one, Label: some[20+i], Stage: answer.StageEnd, Parameters: some[40+i], CompactParams: some[60+i], Result: some[80+i], ShortResult: some[100+i], Error: some[120+i]})
		}
		r.tool("z", answer.Tool{Name: "FILES", Stage: answer.StageStart})
		r.tool("z", answer.Tool{Name: "FILES", Stage: answer.StageEnd, Success: true}, files...)
		r.callback("z", strings.Join(some[:40], "\n"))
		r.offer("ask", some[140:160]...)
		p.wait(`all('.answer .chip').length === 20`)
		check("options")
		r.goOn()
		r.say(text)
		r.finish(completed, "")
		p.wait(fmt.Sprintf(`all('.answer [aria-label="Copy the answer"]').length === %d`, part+1))
		check("an answer")
	}
	p.eval(`(all('details').forEach((one) => { one.open = true; }), all('[aria-label="Good answer"]').forEach((one) => one.click()), '')`)
	check("opened and rated")
	p.do(chromedp.Reload())
	p.wait(fmt.Sprintf(`all('.answer').length === %d`, parts))
	p.eval(`(all('details').forEach((one) => { one.open = true; }), '')`)
	check("the history")
	p.click(`[aria-label="Past chats"]`)
	p.wait(`all('.past li').length === 1`)
	check("a title")
	p.eval(`(fetch('api/conversations/' + localStorage.getItem('parley:' + location.href) + '/shares', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' })
		.then((r) => r.json()).then(({ share }) => { window.link = share.url; }), '')`)
	p.wait(`window.link`)
	p.do(chromedp.Navigate(g.url + "/" + p.eval(`window.link`)))
	p.is(`document.contentType + document.body.innerText.includes('pwned()') + window.wasPwned`, "text/plaintrueundefined")
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
