package web_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"parley/core/answer"
)

// order is what the last answer says and its calls, from top to bottom.
const order = `[...all('.said').at(-1).children].filter((node) => node.matches('.tool') || node.innerText.trim())
	.map((node) => node.matches('.tool') ? '[' + node.querySelector('.name').title + ']' : node.innerText.trim().replaceAll('\n\n', '¶')).join('|')`

// ordered waits until the last answer stands so. While it is written a mark may follow.
func (p *tab) ordered(want string) {
	p.t.Helper()
	p.wait(fmt.Sprintf("%s === %q", order, want))
}

func (r *reply) step(n int, text string) {
	r.Apply(answer.Change{Kind: answer.Text, Step: n, Text: text})
}

// Calls stand where they happened among the text: while it is written, for who joins late, and after a reload. What a call says
// stands below it and may be replaced by something longer or shorter, with text below. What is in sight stays where it is.
func playCalls(t *testing.T, g *gateway, p *tab) {
	p.before(`navigator.clipboard.writeText = async (text) => { window.copied = text; };`)
	p.open(g.url)
	p.send("go")
	r := g.next(t)
	look := answer.Tool{Name: "LOOK", Stage: answer.StageStart}
	r.say("First 🎉 I look it up, for naïve 👩🏽‍💻")
	p.ordered("First 🎉 I look it up, for naïve 👩🏽‍💻")
	first := `all('.said .text p')[0]`
	p.eval(`[window.first, window.place] = [` + first + `, JSON.stringify(` + first + `.getBoundingClientRect())]`)
	stays := func() {
		t.Helper()
		p.is(first+` === window.first && JSON.stringify(window.first.getBoundingClientRect()) === window.place`, "true")
	}
	r.tool("1", look)
	p.ordered("First 🎉 I look it up, for naïve 👩🏽‍💻|[LOOK]")
	p.eval(`[window.first, window.place] = [` + first + `, JSON.stringify(` + first + `.getBoundingClientRect())]`) // the mark at its end is gone
	look.Stage, look.Success = answer.StageEnd, true
	r.tool("1", look)
	p.wait(`all('.tool')[0].dataset.stage === 'end'`)
	stays()
	r.step(1, "Ça y est — 見つけた 🗾.\n\nNow the second:")
	p.ordered("First 🎉 I look it up, for naïve 👩🏽‍💻|[LOOK]|Ça y est — 見つけた 🗾.¶Now the second:")
	play := answer.Tool{Name: "PLAY", Stage: answer.StageStart}
	r.tool("2", play)
	play.Stage = answer.StageRunning
	r.tool("2", play)
	r.callback("2", "Searching 🔎")
	above := "First 🎉 I look it up, for naïve 👩🏽‍💻|[LOOK]|Ça y est — 見つけた 🗾.¶Now the second:|[PLAY]"
	p.ordered(above + "|Searching 🔎")
	stays()
	p.shots("calls-streaming")
	r.step(2, "Below.")
	p.ordered(above + "|Searching 🔎¶Below.")
	r.callback("2", "Found something that is much longer.\n\nIt has two paragraphs.")
	p.ordered(above + "|Found something that is much longer.¶It has two paragraphs.¶Below.")
	r.callback("2", "שיר")
	p.ordered(above + "|שיר¶Below.")
	r.tool("3", look)
	p.ordered(above + "|שיר¶Below.|[LOOK]")
	p.eval(`all('.tool')[1].open = true`)
	r.callback("2", "🎵 **Dunes**, at last") // above a call
	p.ordered(above + "|🎵 Dunes, at last¶Below.|[LOOK]")
	p.is(`all('.tool')[1].open`, "true") // stays open while it is being read
	stays()
	p.do(chromedp.Reload()) // who joins late
	p.wait(`all('.said').length === 1`)
	p.ordered(above + "|🎵 Dunes, at last¶Below.|[LOOK]")

	long := strings.TrimSpace(strings.Repeat("Much more of it, ééé. ", 300)) // whole texts come in between
	for part := range strings.SplitAfterSeq(long, " ") {
		r.step(3, part)
		r.callback("2", "🎵 **Dunes**, at last")
	}
	p.ordered(above + "|🎵 Dunes, at last¶Below.|[LOOK]|" + long)
	r.step(4, "The end.")
	r.finish(completed, "")
	p.wait(`all('.answer [aria-label="Copy the answer"]').length === 1`)
	ends(t, r, p, above+"|🎵 Dunes, at last¶Below.|[LOOK]|"+long+"¶The end.")
}

// ends looks at an answer that has ended: what is copied, and that a reload shows the same.
func ends(t *testing.T, r *reply, p *tab, whole string) {
	t.Helper()
	p.ordered(whole)
	p.click(`.answer [aria-label="Copy the answer"]`)
	p.wait(`window.copied !== undefined`)
	if got := p.eval(`window.copied`); got != r.View().Text() {
		t.Errorf("copied %q, not %q", got, r.View().Text())
	}
	p.wait(`(all('.answer footer .icon')[0].remove(), true)`)
	const drawn = `(() => {
		const copy = all('.answer')[0].cloneNode(true);
		copy.querySelector('footer').remove();
		return copy.outerHTML;
	})()`
	live := p.eval(drawn)
	p.eval(`(all('.scroller')[0].scrollTop = 0, '')`)
	p.shots("calls-end")
	p.do(chromedp.Reload())
	p.wait(`all('.answer').length === 1`)
	p.ordered(whole)
	p.is(drawn, live)
	p.eval(`(all('.scroller')[0].scrollTop = 0, '')`)
	p.shots("calls-reloaded")
	p.do(chromedp.EmulateViewport(360, 740))
	p.is(`all('.scroller')[0].scrollWidth <= all('.scroller')[0].clientWidth`, "true")
	p.is(`all('.said')[0].querySelectorAll('.text:empty').length`, "0")
}

// Code that is open where a call begins is not parted, and the answer goes on below it as it should.
func playCodeOverCalls(t *testing.T, g *gateway, p *tab) {
	p.open(g.url)
	p.send("go")
	r := g.next(t)
	call := answer.Tool{Name: "LOOK", Stage: answer.StageStart}
	r.say("Look:\n\n```go\nfunc a() {}")
	r.tool("1", call)
	p.wait(`all('.said pre').length === 1 && all('.tool').length === 1`)
	r.step(1, "func b() {}\n```\n\nAfter.")
	p.wait(`shown('.said').includes('After.')`)
	check := func() {
		t.Helper()
		p.is(`all('.said pre').map((pre) => pre.innerText).join('|')`, "func a() {}\n\nfunc b() {}")
		p.is(`[...all('.said')[0].children].map((node) => node.className + ' ' + node.children.length).join()`, "text 2,tool 2,text 1")
	}
	check()
	r.tool("2", call)
	r.finish(completed, "")
	p.wait(`all('.stop')[0].hidden`)
	p.do(chromedp.Reload())
	p.wait(`all('.tool').length === 2`)
	p.is(`all('.said pre').map((pre) => pre.innerText).join('|')`, "func a() {}\n\nfunc b() {}")
}

// The gateway stops in the middle of a call, and another goes on: with the same answer, and with one of its own.
func playRestartInCall(t *testing.T, p *tab) {
	p.offline.Store(true)
	b := newBackend()
	l := listen(t, "127.0.0.1:0")
	g := start(t, b, l, nil)
	p.open(g.url)
	p.send("go")
	r := g.next(t)
	r.say("Before 🎉")
	r.tool("1", answer.Tool{Name: "LOOK", Stage: answer.StageStart})
	r.callback("1", "Looking")
	p.ordered("Before 🎉|[LOOK]|Looking")
	g.stop()
	p.shows(".status", "Reconnecting…")
	r.callback("1", "Found 🎵 it")
	r.tool("1", answer.Tool{Name: "LOOK", Stage: answer.StageEnd, Success: true})
	r.step(1, "Between")
	r.tool("2", answer.Tool{Name: "PLAY", Stage: answer.StageStart})
	g = start(t, b, listen(t, l.Addr().String()), nil)
	p.ordered("Before 🎉|[LOOK]|Found 🎵 it¶Between|[PLAY]")
	r.callback("2", "After")
	p.ordered("Before 🎉|[LOOK]|Found 🎵 it¶Between|[PLAY]|After")
	g.stop()
	p.shows(".status", "Reconnecting…")

	again := b.restarted(r)
	start(t, b, listen(t, l.Addr().String()), nil)
	again.say("I was away.")
	again.tool("9", answer.Tool{Name: "AGAIN", Stage: answer.StageStart})
	again.step(1, "Back.")
	again.finish(completed, "")
	p.wait(`all('.stop')[0].hidden`)
	p.is(order+`.replace('[LOOK]|[PLAY]|', '')`, "I was away.|[AGAIN]|Back.")
	p.do(chromedp.Reload())
	p.wait(`all('.answer').length === 1`)
	p.ordered("I was away.|[AGAIN]|Back.")
}
