package web_test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"parley/core/answer"
	"parley/core/chat"
)

// lines is who speaks in turn.
const lines = `all('.message').map((m) => (m.matches('.question') ? '> ' : '') + [...m.querySelectorAll('.text')].map((text) => text.innerText.trim()).filter(Boolean).join('\n\n')).join('|')`

// A call that waits for an approval is a card with the description, the options and the remaining time, also after a reload.
func playApproval(t *testing.T, g *gateway, p *tab) {
	p.open(g.url)
	p.send("order it")
	r := g.next(t)
	r.say("🔐 **ORDER** (shop, writes)\n```\n{\"parcel\": \"<img src=x onerror=bad()>\"}\n```")
	r.approve("ask", time.Now().Add(90*time.Second), "Approve", "Deny")
	card := func() {
		t.Helper()
		p.wait(`all('.approval .chip').length === 2 && /^Expires in (1:\d\d|0:\d\d)$/.test(shown('.approval .expires'))`)
		p.is(`shown('.approving .said').includes('ORDER') && shown('.approving pre').includes('<img src=x') && all('.approving img').length`, "0")
		p.is(`all('.approval .chip').map((chip) => chip.textContent + chip.matches('.deny')).join()`, "Approvefalse,Denytrue")
	}
	card()
	p.do(chromedp.Reload())
	card()
	g.mu.Lock() // what comes unasked is shown above it
	g.said[r.question.Room] = append(g.said[r.question.Room], chat.Memory{ID: "late", Room: r.question.Room, Author: "agent", Text: "Anyone there?", At: time.Now()})
	g.mu.Unlock()
	p.wait(lines + `.includes('Anyone there?|')`)
	card()
	p.send("how much is it?") // an answer to another message does not hide it
	other := g.next(t)
	other.say("Three euros.")
	other.finish(completed, "")
	p.wait(`shown('.answer .text').includes('Three euros.')`)
	p.do(chromedp.Reload())
	p.wait(`shown('.answer .text').includes('Three euros.')`)
	card()
	p.shots("approval")
	p.click(".approval .deny")
	p.wait(`all('.approval .chip:disabled').length === 2 && all('.expires').length === 0`)
	if c := g.choice(t); c.Question != "ask" || c.Option != 1 {
		t.Errorf("chosen %+v", c)
	}
	r.goOn()
	p.wait(`all('.approval').length === 0`)
	r.finish(completed, "Not ordered.")
	p.wait(`shown('.answer .text').includes('Not ordered.')`)

	p.send("again")
	r = g.next(t)
	r.say("🔐 **ORDER**")
	r.approve("late", time.Now().Add(-time.Second), "Approve", "Deny")
	p.wait(`all('.approval .chip:enabled').length === 2 && all('.expires').length === 0`) // the clock of the browser can be wrong
	r.goOn()
	r.finish(completed, "It has expired.")
	p.wait(`all('.approval').length === 0`)
}

// An option of an answer that has ended is pressed as one, and not sent as words, which are another message to a person.
func playEnded(t *testing.T, g *gateway, p *tab) {
	p.open(g.url)
	p.send("forget this")
	r := g.next(t)
	ask := chat.Question{ID: "forget", Run: chat.RunID("run/" + r.question.ID), Options: []string{"Forget it", "Keep it"}, Other: "Fill in"}
	g.mu.Lock()
	r.finishLocked(completed, "Shall I?")
	asker := &reply{b: g.backend, question: r.question}
	asker.Apply(answer.Change{Kind: answer.ChoicesChanged, Choices: ask.Choices()})
	g.open["forget"], g.asks = asker, []chat.Question{ask}
	g.mu.Unlock()
	p.shows(".answer .text", "Shall I?")
	p.do(chromedp.Reload())
	p.wait(`all('.answer .chip').length === 2`)
	g.mu.Lock()
	g.asks = nil
	g.mu.Unlock()
	p.click(".answer .chip")
	if c := g.choice(t); c.Question != "forget" || c.Option != 0 {
		t.Errorf("chosen %+v", c)
	}
	p.wait(`performance.getEntriesByType('resource').some(({ name }) => name.endsWith('/choices/stream')) && all('.stop')[0].hidden`)
	p.wait(`all('.answer .chip').length === 0 && all('.note').length === 0 && all('.question').length === 2 && all('.answer').length === 1`)
}

// What an action asks while it waits can be chosen at once, also by who joins late; then the answer goes on where it stands.
func playChoices(t *testing.T, g *gateway, p *tab) {
	p.open(g.url)
	p.send("tea, please")
	r := g.next(t)
	r.say("Which one?")
	r.tool("1", answer.Tool{Name: "ASK", Stage: answer.StageStart})
	r.tool("1", answer.Tool{Name: "ASK", Stage: answer.StageRunning, Parameters: "{}"})
	r.offer("first", "Assam", "Sencha", "<b>Hot water</b>")
	offered := func() {
		t.Helper()
		p.wait(`all('.answer .chip').length === 3 && !all('.stop')[0].hidden`)
		p.is(`all('.answer .chip').map((chip) => chip.textContent).join()`, "Assam,Sencha,<b>Hot water</b>")
		p.is(`all('.answer .chips').length`, "1")
		p.shows(".status", "Running ASK…")
	}
	offered()
	p.shots("choices")
	p.do(chromedp.EmulateViewport(360, 740))
	p.is(`all('.scroller')[0].scrollWidth <= all('.scroller')[0].clientWidth`, "true")
	p.media("dark")
	p.shot("choices-360-dark")
	p.media("light")
	p.do(chromedp.EmulateViewport(1200, 800))
	p.do(chromedp.Reload())
	p.wait(`all('.answer').length === 1`)
	offered()

	p.click(".answer .chip:nth-child(2)")
	p.wait(`all('.answer .chip').every((chip) => chip.matches(':disabled'))`)
	p.click(".answer .chip:nth-child(1)") // too late
	if c := g.choice(t); c.Question != "first" || c.Option != 1 {
		t.Errorf("chosen %+v", c)
	}
	p.shots("pressed")
	r.goOn()
	p.wait(`all('.answer .chip').length === 0`)
	r.callback("1", "→ **Sencha**")
	p.wait(lines + ` === '> tea, please|> Sencha|Which one?\n\n→ Sencha'`)
	p.is(`shown('.note')`, "")

	r.offer("second", "Hot", "Cold") // another question of the same answer
	p.wait(`all('.answer .chip').length === 2`)
	p.do(chromedp.Reload()) // between the choices: the answer is joined, not the choice
	p.wait(`all('.answer .chip').length === 2`)
	// The options can be there before the text.
	p.wait(lines + ` === '> tea, please|> Sencha|Which one?\n\n→ Sencha'`)
	r.goOn() // its time is over
	p.wait(`all('.answer .chip').length === 0`)
	r.callback("1", "Here you are.")
	r.finish(completed, "")
	p.wait(`all('.stop')[0].hidden`)
	ended := `> tea, please|> Sencha|Which one?` + "\n\n" + `Here you are.`
	p.is(lines, ended)
	p.is(`shown('.note')`, "")
	p.do(chromedp.Reload())
	p.wait(`all('.answer').length === 1`)
	p.is(lines, ended)
	if len(g.asked)+len(g.chosen) != 0 {
		t.Error("the page asked or chose a second time; want once")
	}
}

// To write an option or its number is to choose it: the answer goes on, and nothing looks as if it had been cut off.
func playChosen(t *testing.T, g *gateway, p *tab) {
	p.open(g.url)
	p.send("tea, please")
	r := g.next(t)
	r.say("Which one?")
	for i, c := range []struct {
		options       []string
		write, option string
		n             int
	}{
		{[]string{"Assam", "Sencha"}, "2.", "Sencha", 1},
		{[]string{"Hot", "Cold"}, " hot ", "Hot", 0},
		{[]string{"2", "1"}, "1", "1", 1}, // what it says goes before where it stands
	} {
		id := string(rune('a' + i))
		r.offer(id, c.options...)
		p.wait(`all('.answer .chip').length === 2 && all('.answer .chip').every((chip) => chip.matches(':enabled'))`)
		p.send(c.write)
		if got := g.choice(t); got.Question != id || got.Option != c.n {
			t.Errorf("%q chose %+v", c.write, got)
		}
		p.wait(`all('.question:has(+ .answer) .text')[0].innerText === '` + c.option + `'`)
		r.goOn()
		p.wait(`all('.answer .chip').length === 0`)
		p.is(`all('textarea')[0].value`, "")
	}
	p.do(chromedp.Reload()) // joins the answer that goes on, not what was chosen
	p.wait(lines + ` === '> tea, please|> Sencha|> Hot|> 1|Which one?'`)
	r.say(" Coming.")
	r.finish(completed, "")
	p.wait(`all('.stop')[0].hidden`)
	said := "> tea, please|> Sencha|> Hot|> 1|Which one? Coming."
	p.is(lines, said)
	p.is(`all('.answer .note').length`, "0")
	p.shots("chosen")
	p.do(chromedp.Reload())
	p.wait(`all('.answer').length === 1`)
	p.is(lines, said)
}

// A choice that comes too late changes nothing, and people are told. What stands below a finished answer is chosen as well.
func playRefused(t *testing.T, g *gateway, p *tab) {
	p.offline.Store(true) // a refusal is an error to the console
	g.refuse = "This question has closed."
	p.open(g.url)
	p.send("tea, please")
	r := g.next(t)
	r.say("Which one?")
	r.offer("first", "Assam", "Sencha")
	p.wait(`all('.answer .chip').length === 2`)
	p.click(".answer .chip")
	p.shows(".notice", "This question has closed.")
	p.wait(lines + ` === '> tea, please|Which one?'`) // the text is drawn in a frame of its own
	p.is(`all('textarea')[0].value + all('.answer .chip:enabled').length`, "2")
	p.shots("refused")

	p.send("Never mind") // is no option
	later := g.next(t)
	r.End(answer.Outcome{Status: answer.Superseded})
	p.wait(`all('.answer .chip').length === 0`)
	later.say("Which tea?")
	later.finish(answer.Outcome{Status: answer.Completed, Offer: &answer.Choices{ID: "last", Options: []string{"Green", "Black"}}}, "")
	p.wait(`all('.answer .chip').length === 2 && all('.stop')[0].hidden`)
	p.click(".answer .chip:nth-child(2)")
	p.shows(".notice", "This question has closed.")
	p.wait(`all('.answer .chip').length === 0`)
}

// Where a choice brings an answer of its own, that stands below the one that asked, which goes on.
func playCarried(t *testing.T, g *gateway, p *tab) {
	g.carries = true
	p.open(g.url)
	p.send("tea, please")
	r := g.next(t)
	r.say("Which one?")
	r.offer("first", "Assam", "Sencha")
	p.wait(`all('.answer .chip').length === 2`)
	p.click(".answer .chip")
	carrier := g.next(t)
	p.wait(`all('.answer .chip:disabled').length === 2`)
	p.is(`all('.answer').length`, "1")
	carrier.say("Assam is noted.")
	p.wait(lines + ` === '> tea, please|> Assam|Which one?|Assam is noted.'`)
	r.goOn()
	r.say(" Thanks.")
	p.shows(".answer .text", "Thanks.")
	carrier.finish(completed, "")

	r.offer("second", "Hot", "Cold")
	p.wait(`all('.answer .chip').length === 2`)
	p.send("cold")
	slow := g.next(t)
	r.finish(completed, "")
	p.wait(`all('.answer').length === 3 && shown('.answer:last-child .status') === 'Thinking…'`) // nothing else is awaited now
	slow.say("Cold it is.")
	slow.finish(completed, "")
	p.wait(`all('.stop')[0].hidden`)
	p.is(lines, "> tea, please|> Assam|> Cold|Which one? Thanks.|Assam is noted.|Cold it is.")
}

// What a gateway asked that is gone can't be chosen any more.
func playAskedRestart(t *testing.T, p *tab) {
	p.offline.Store(true)
	b := newBackend()
	l := listen(t, "127.0.0.1:0")
	g := start(t, b, l, nil)
	p.open(g.url)
	p.send("tea, please")
	r := g.next(t)
	r.say("Which one?")
	r.offer("first", "Assam", "Sencha")
	p.wait(`all('.answer .chip').length === 2`)
	g.stop()
	p.shows(".status", "Reconnecting…")
	again := b.restarted(r)
	start(t, b, listen(t, l.Addr().String()), nil)
	again.say("I was away.")
	p.shows(".answer .text", "I was away.")
	p.is(`all('.answer .chip').length`, "0")
	again.finish(completed, "")
	p.wait(`all('.stop')[0].hidden`)
}
