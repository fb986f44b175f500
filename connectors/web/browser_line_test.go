package web_test

import (
	"testing"

	"github.com/chromedp/chromedp"

	"parley/connectors/web"
	"parley/core/answer"
)

// The line is cut, and the same answer goes on (WB-05, WB-06).
func playCut(t *testing.T, g *gateway, p *tab) {
	p.offline.Store(true)
	p.open(g.url)
	p.send("go")
	r := g.next(t)
	r.tool("1", answer.Tool{Name: "T", Stage: answer.StageStart})
	r.tool("1", answer.Tool{Name: "T", Stage: answer.StageStreaming, ParametersChunk: `[1,`})
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
	p.offline.Store(true)
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

func playTooMuch(t *testing.T, p *tab) {
	p.offline.Store(true)
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
	p.wait(`all('.contact .link').length`)
	p.click(".contact .link")
	p.wait(`all('.contact textarea')[0]?.value === 'two'`)
}

// WB-13: a page that is loaded again during an answer finds it, whatever limit has been reached, and keeps the question as long as
// the gateway has too many requests to answer.
func playRejoinAtTheLimit(t *testing.T, p *tab) {
	p.offline.Store(true)
	g := start(t, newBackend(), listen(t, "127.0.0.1:0"), func(o *web.Options) { o.Limits.MessagesPerMinute = 1 })
	p.open(g.url)
	p.send("go")
	r := g.next(t)
	r.say("Half")
	p.shows(".answer .text", "Half")
	p.do(chromedp.Reload())
	p.wait(`all('.answer .text').length && shown('.answer .text') === 'Half'`)
	p.before(`
		const ask = fetch;
		let refusals = 2;
		window.fetch = async (url, options) => {
			if (!String(url).endsWith('/stream') || refusals-- <= 0) return ask(url, options);
			return new Response('{"error":"That was a lot at once."}', { status: 429, headers: { 'Retry-After': '1' } });
		};`)
	p.do(chromedp.Reload())
	p.shows(".question", "go")
	p.shows(".status", "Reconnecting…")
	p.wait(`shown('.answer .text') === 'Half'`)
	p.is(`all('textarea')[0].value`, "")
	p.is(`shown('.notice')`, "")
	r.say(" and half.")
	r.finish(completed, "")
	p.wait(`shown('.answer .text') === 'Half and half.' && all('.stop')[0].hidden`)
	p.is(`all('.question').length`, "1")
	if len(g.asked) != 0 {
		t.Error("the page asked again; want no second request")
	}
}

// The gateway stops and another takes over: the stream ends with a hint, and the page comes back (WB-08, WB-10).
func playRestart(t *testing.T, p *tab) {
	p.offline.Store(true)
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
