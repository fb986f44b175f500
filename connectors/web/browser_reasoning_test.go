package web_test

import (
	"testing"

	"github.com/chromedp/chromedp"

	"parley/core/answer"
)

// Reasoning is shown while it comes, collapsed, above an answer that holds nothing of it. After a reload it is gone.
func playReasoning(t *testing.T, g *gateway, p *tab) {
	p.open(g.url)
	p.send("How many?")
	r := g.next(t)
	r.Apply(answer.Change{Kind: answer.Thinking})
	p.shows(".status", "Thinking…")
	p.is(`all('.reasoning')[0].hidden`, "true")
	r.Apply(answer.Change{Kind: answer.Reasoning, Text: "<b>I count"})
	r.Apply(answer.Change{Kind: answer.Reasoning, Text: " to 3."})
	p.wait(`all('.reasoning .thoughts')[0].textContent === '<b>I count to 3.'`)
	p.is(`all('.reasoning')[0].open`, "false")
	r.say("It is 3.")
	p.shows(".answer .said", "It is 3.")
	p.wait(`all('.status').every((line) => line.hidden)`)
	p.click(".reasoning summary")
	p.is(`all('.reasoning')[0].open && shown('.reasoning .thoughts')`, "<b>I count to 3.")
	p.offline.Store(true)
	g.tap.cut() // the next stream starts over
	r.say(" Yes.")
	p.shows(".answer .said", "It is 3. Yes.")
	p.is(`all('.reasoning .thoughts')[0].textContent`, "<b>I count to 3.")
	r.finish(completed, "")
	p.wait(`all('.stop')[0].hidden`)
	if text := r.View().Text(); text != "It is 3. Yes." {
		t.Errorf("the answer is %q", text)
	}
	p.do(chromedp.Reload())
	p.shows(".answer .said", "It is 3. Yes.")
	p.is(`document.body.textContent.includes('count')`, "false")
}

// A gateway that does not allow reasoning sends none, whatever the page asks for.
func playNoReasoning(t *testing.T, g *gateway, p *tab) {
	p.open(g.url)
	p.send("How many?")
	r := g.next(t)
	r.Apply(answer.Change{Kind: answer.Thinking})
	r.Apply(answer.Change{Kind: answer.Reasoning, Text: "I count to 3."})
	r.say("It is 3.")
	r.finish(completed, "")
	p.shows(".answer .said", "It is 3.")
	p.is(`all('.reasoning').every((block) => block.hidden && !block.textContent.includes('count'))`, "true")
}
