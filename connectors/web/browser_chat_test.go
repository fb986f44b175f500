package web_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"parley/core/answer"
	"parley/core/llm"
	"parley/internal/lang"
)

const told = "Here is what I did, in [three steps](https://example.org/):\n\n1. **Read** the request\n2. Ran `PLAY_DEMO`\n3. ~~Waited~~ Wrote this\n\n" +
	"```go\nfunc main() {\n\tfmt.Println(\"Hello, Parley\")\n}\n```\n\n| Step | Time |\n|---|--:|\n| Think | 0.8 s |\n| Act | 2.4 s |\n"

// seen is all that a page shows of an answer, folded or not, but for the button that was pressed.
const seen = `(() => {
	const copy = all('.answer')[0].cloneNode(true);
	copy.querySelectorAll('.code-head .icon, time').forEach((node) => node.remove());
	return copy.outerHTML;
})()`

func playConversation(t *testing.T, g *gateway, p *tab) {
	p.open(g.url)
	p.shows("h2", "Hello, I’m Parley.")
	p.is(`all('.chip').map((chip) => chip.innerText).join()`, "What can you do?,Show me progress,Roll a die")
	p.is(`all('textarea')[0].getRootNode().activeElement === all('textarea')[0]`, "true")
	p.shots("empty")
	p.click(".chip:nth-child(2)")
	r := g.next(t)
	p.shows(".question", "Show me progress")
	p.shows(".status", "Thinking…")
	r.say("Let me ")
	p.shows(".answer .text", "Let me")
	r.say("show you.")
	p.shows(".answer .text", "Let me show you.")
	p.eval(`window.first = all('.answer .text p')[0]`)
	r.tool("1", answer.Tool{Name: "PLAY_DEMO", Stage: answer.StageStart})
	r.tool("1", answer.Tool{Name: "PLAY_DEMO", Stage: answer.StageStreaming, ParametersChunk: `{"track":`})
	p.wait(`all('.tool dd')[0]?.textContent === '{"track":'`)
	r.tool("1", answer.Tool{Name: "PLAY_DEMO", Stage: answer.StageRunning, Parameters: `{"track":"Dunes"}`})
	p.shows(".status", "Running PLAY_DEMO…")
	r.Apply(answer.Change{Kind: answer.Callback, Call: "1", Text: "A sketch", Files: []llm.File{onePixel()}})
	p.wait(`all('.pictures img')[0]?.naturalWidth === 1`)
	r.tool("1", answer.Tool{Name: "PLAY_DEMO", Stage: answer.StageRunning, Parameters: `{"track":"Dunes"}`, ShortResult: "half way"})
	p.shows(".tool summary", "half way")
	p.is(`all('.pictures img').length`, "1")
	r.Apply(answer.Change{Kind: answer.Callback, Call: "1", Text: "Looking up the track…", Important: "Looking up the track…"})
	p.wait(`all('.pictures img').length === 0`)
	p.shows(".answer .text", "Looking up the track…")
	p.is(`shown(".status").includes("update")`, "false")
	p.shots("streaming")
	r.callback("1", "Now playing **Dunes**")
	p.wait(`shown('.answer .text strong') === 'Dunes'`)
	p.is(`shown('.answer .text').includes('Looking')`, "false")
	p.is(`all('.answer .text p').length`, "2")
	r.tool("1", answer.Tool{Name: "PLAY_DEMO", Stage: answer.StageEnd, Parameters: `{"track":"Dunes"}`, CompactParams: "Dunes, of the record that everybody knows", Result: `{"seconds":2.4}`, ShortResult: "done in 2.4 s", Success: true}, onePixel())
	p.wait(`all('.pictures img')[0]?.naturalWidth === 1`)
	p.shows(".tool summary", "done in 2.4 s")
	p.is(`all('.tool')[0].open`, "false")
	for part := range strings.SplitAfterSeq(told, " ") {
		r.Apply(answer.Change{Kind: answer.Text, Step: 1, Text: part})
	}
	r.finish(completed, "")
	p.wait(`all('.answer [aria-label="Copy the answer"]').length === 1`)
	p.wait(`all('.status').every((line) => line.hidden) && all('.stop')[0].hidden`)
	p.shows(".trail summary", "3 steps")
	p.is(`shown('.answer pre')`, "func main() {\n\tfmt.Println(\"Hello, Parley\")\n}")
	p.is(`shown('.code-head')`, "go")
	p.is(`all('.answer a')[0].rel`, "noopener noreferrer")
	p.shots("done")
	p.wait(`(all('.code-head .icon')[0].click(), true)`)
	p.wait(`all('.code-head .icon')[0].getAttribute('aria-label') === 'Copied'`)
	p.is(`all('.tool')[0].open = true`, "true")
	p.is(`JSON.parse(all('.tool dd')[0].innerText).track`, "Dunes")
	p.do(chromedp.EmulateViewport(200, 740))
	p.wait(`all('.tool').every((tool) => tool.getBoundingClientRect().right <= innerWidth)`)
	p.do(chromedp.EmulateViewport(1200, 800))

	p.eval(`all('.tool')[0].open = false`)
	p.wait(`all('.hl-keyword').length > 0`)
	live := p.eval(seen)
	p.do(chromedp.Reload())
	p.wait(`all('.answer').length === 1 && all('.hl-keyword').length > 0`)
	p.shows(".answer .text", "Now playing Dunes")
	p.wait(`all('.pictures img')[0]?.naturalWidth === 1`)
	p.is(seen, live)
	p.shows(".trail summary", "3 steps")
	p.is(`all('.trail')[0].open`, "false")
	p.is(`all('.trail li').map((line) => line.textContent).join('|')`, "A sketch|Looking up the track…|Now playing Dunes")
	p.is(`shown('.trail li strong') || all('.trail li strong')[0].textContent`, "Dunes")
	p.is(`all('.question').length`, "1")
	p.shots("reloaded")
}

func playStop(t *testing.T, g *gateway, p *tab) {
	p.open(g.url)
	p.send("a long story")
	r := g.next(t)
	r.say("Once upon a time")
	p.shows(".answer .text", "Once upon a time")
	p.click(".stop")
	p.shows(".note", "Stopped.")
	p.is(`shown('.answer .text')`, "Once upon a time")
	p.wait(`all('.stop')[0].hidden`)
	if got := r.View().Outcome.Status; got != answer.Stopped {
		t.Errorf("the answer ended %q", got)
	}
	p.do(chromedp.Reload())
	p.wait(`shown('.note') === 'Stopped.' && shown('.answer .text') === 'Once upon a time'`)
}

func playFailure(t *testing.T, g *gateway, p *tab) {
	p.open(g.url)
	p.send("hello")
	g.next(t).finish(answer.Outcome{Status: answer.Failed, Failure: llm.RateLimited}, llm.RateLimited.Sentence(lang.Voice{}))
	p.shows(".failed .text", "The model is busy right now.")
	p.shots("failed")
	p.click(".retry")
	r := g.next(t)
	if r.question.Text != "hello" {
		t.Errorf("tried again with %q", r.question.Text)
	}
	r.say("Now it works.")
	r.finish(completed, "")
	p.shows(".answer:last-child .text", "Now it works.")
}

func playSuperseded(t *testing.T, g *gateway, p *tab) {
	p.before(`
		const ask = fetch;
		let asked = 0;
		window.fetch = async (url, options) => { // the first message is slow on its way
			if (String(url).endsWith('/stream') && asked++ === 0) await new Promise((resolve) => setTimeout(resolve, 200));
			return ask(url, options);
		};`)
	p.open(g.url)
	p.send("first")
	p.send("second")
	old, later := g.next(t), g.next(t)
	if old.question.Text != "first" || old.question.Room != later.question.Room {
		t.Errorf("%q in %s came first, %q in %s second", old.question.Text, old.question.Room, later.question.Text, later.question.Room)
	}
	p.is(`all('.answer').length`, "2")
	old.End(answer.Outcome{Status: answer.Superseded, Withdrawn: true})
	p.shows(".note", "Your newer message is being answered instead.")
	later.say("Both.")
	later.finish(completed, "")
	p.shows(".answer:last-child .text", "Both.")
}

// playFailover shows an answer whose model fails in the middle of a text: that is taken back, what was done stays, and another model goes on
// below a notice.
func playFailover(t *testing.T, g *gateway, p *tab) {
	p.open(g.url)
	p.send("What is playing, and how will the weather be?")
	r := g.next(t)
	r.tool("1", answer.Tool{Name: "PLAY_DEMO", Stage: answer.StageRunning, Parameters: `{"track":"Dunes"}`})
	r.tool("1", answer.Tool{Name: "PLAY_DEMO", Stage: answer.StageEnd, Parameters: `{"track":"Dunes"}`, ShortResult: "Dunes", Success: true})
	r.Apply(answer.Change{Kind: answer.Text, Step: 1, Text: "It will rain all day"})
	p.shows(".answer .text", "It will rain all day")
	r.Apply(answer.Change{Kind: answer.Withdrawn, Step: 1})
	r.Apply(answer.Change{Kind: answer.Text, Step: 1, Notice: true, Text: "_(" + lang.Voice{}.Say("notice.another_model") + ")_"})
	r.Apply(answer.Change{Kind: answer.Text, Step: 1, Text: "It will be dry and sunny."})
	p.wait(`shown('.answer').includes('dry and sunny') && shown('.answer').includes('Another one answers') && !shown('.answer').includes('rain')`)
	p.is(`all('.tool').length`, "1")
	p.shots("failover")
	r.finish(completed, "")
	p.do(chromedp.Reload())
	p.wait(`!shown('.answer').includes('rain') && shown('.answer').includes('dry and sunny')`)
}

func playKeys(t *testing.T, g *gateway, p *tab) {
	p.open(g.url)
	p.write("one")
	p.press("Enter", "\r", true)
	p.write("two")
	p.eval(`all('textarea')[0].dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', isComposing: true, bubbles: true, cancelable: true }))`)
	p.is(`all('.question').length`, "0")
	p.is(`all('textarea')[0].value`, "one\ntwo")
	p.enter()
	if r := g.next(t); r.question.Text != "one\ntwo" {
		t.Errorf("sent %q", r.question.Text)
	}
	p.is(`all('textarea')[0].value`, "")
	p.enter() // nothing written, nothing sent
	p.is(`all('.question').length`, "1")
}

func playNewChat(t *testing.T, g *gateway, p *tab) {
	p.open(g.url)
	p.send("one")
	r := g.next(t)
	r.say("Yes.")
	p.shows(".answer .text", "Yes.")
	p.click(`[aria-label="New chat"]`)
	p.wait(`!all('.empty')[0].hidden && all('.message').length === 0`)
	p.send("two")
	again := g.next(t)
	if again.question.Room == r.question.Room {
		t.Error("the new chat is the old conversation")
	}
	again.finish(completed, "No.")
	r.say(" Indeed.")
	r.finish(completed, "")
	p.shows(".answer .text", "No.")
	p.click(`[aria-label="Past chats"]`) // the old one continued, and can be found
	p.wait(`all('.past li').length === 2`)
	p.shots("past")
	p.eval(`all('.search input')[0].value = 'one', all('.search input')[0].dispatchEvent(new Event('input'))`)
	p.wait(`all('.past li').length === 1`)
	p.click(".past .pick")
	p.shows(".answer .text", "Yes. Indeed.")
}

func playGone(t *testing.T, g *gateway, p *tab) {
	p.offline.Store(true)
	p.open(g.url)
	p.send("one")
	g.next(t).finish(completed, "Yes.")
	p.shows(".answer .text", "Yes.")
	g.forget()
	p.send("two")
	p.shows(".notice", "This conversation is gone.")
	p.is(`all('textarea')[0].value`, "two")
	p.is(`all('.message').length`, "0")
	p.enter()
	if r := g.next(t); r.question.Text != "two" {
		t.Errorf("sent %q", r.question.Text)
	}
	g.forget()
	p.do(chromedp.Reload())
	p.wait(`all('.empty').length && !all('.empty')[0].hidden && !all('.chat')[0].hidden`)
}

func playScrolling(t *testing.T, g *gateway, p *tab) {
	p.open(g.url)
	p.send("go")
	r := g.next(t)
	atEnd := `(() => { const s = all('.scroller')[0]; return s.scrollHeight - s.scrollTop - s.clientHeight < 48; })()`
	for i := range 60 {
		r.say(fmt.Sprintf("Line %d.\n\n", i))
	}
	p.shows(".answer .text", "Line 59.")
	p.wait(atEnd)
	p.eval(`(() => { // much comes at once, and only then the page hears that it was scrolled
		all('.answer .text')[0].append(Object.assign(document.createElement('pre'), { textContent: '\n'.repeat(20) }));
		all('.scroller')[0].dispatchEvent(new Event('scroll'));
	})()`)
	p.wait(atEnd)
	p.eval(`all('.scroller')[0].scrollTop = 0`)
	p.wait(`!all('.latest')[0].hidden`)
	r.say("More.")
	p.shows(".answer .text", "More.")
	p.is(`all('.scroller')[0].scrollTop`, "0")
	p.click(".latest")
	p.wait(atEnd)
	r.finish(completed, "")
}

// transfer is a DataTransfer with pictures of one pixel, and whatever else.
const transfer = `(() => {
	const bytes = Uint8Array.from(atob('` + pixel + `'), (c) => c.charCodeAt(0));
	const transfer = new DataTransfer();
	for (const name of names) {
		const picture = name.endsWith('.gif');
		transfer.items.add(new File([picture ? bytes : 'milk'], name, { type: picture ? 'image/gif' : 'text/plain' }));
	}
	return transfer;
})()`

func playPictures(t *testing.T, g *gateway, p *tab) {
	p.open(g.url)
	drop := func(names string) {
		t.Helper()
		p.wait(fmt.Sprintf(`(() => {
			const names = %s;
			all('.chat')[0].dispatchEvent(new DragEvent('drop', { dataTransfer: %s, bubbles: true, cancelable: true }));
			return true;
		})()`, names, transfer))
	}
	drop(`['a.gif', 'b.gif']`)
	p.wait(`all('.attached li').length === 2 && all('.attached img').every((img) => img.naturalWidth === 1)`)
	p.wait(`(all('.attached [aria-label="Remove a.gif"]')[0]?.click(), all('.attached li').length === 1)`)
	p.wait(`(() => {
		const names = ['c.gif'];
		all('textarea')[0].dispatchEvent(new ClipboardEvent('paste', { clipboardData: ` + transfer + `, bubbles: true, cancelable: true }));
		return true;
	})()`)
	p.wait(`all('.attached li').length === 2`)
	p.wait(`(() => {
		const names = ['d.gif', 'e.gif'];
		const input = all('input[type=file]')[0];
		input.files = ` + transfer + `.files;
		input.dispatchEvent(new Event('change'));
		return true;
	})()`)
	p.wait(`all('.attached li').length === 4 && all('.attached progress').every((bar) => bar.hidden)`)
	p.is(`all('.attached img').map((img) => img.alt).join()`, "b.gif,c.gif,d.gif,e.gif")
	p.is(`getComputedStyle(all('.send')[0]).opacity`, "1")
	p.shots("attached")
	p.enter() // pictures alone
	r := g.next(t)
	if len(r.question.Files) != 4 || r.question.Files[1].Name != "c.gif" || r.question.Files[1].Type != "image/gif" || r.question.Text != "Please describe the attached image." {
		t.Errorf("sent %+v", r.question)
	}
	p.wait(`all('.attached li').length === 0`)
	r.finish(completed, "Four dots.")
	p.shows(".answer .text", "Four dots.")
	const thumbnails = `all('.question .files img').length === 4 && all('.question .files img').every((img) => img.naturalWidth === 1)`
	p.wait(thumbnails)
	p.shots("sent")
	asked := `all('.question .files')[0].outerHTML.replace(/ src="[^"]*"/g, '')`
	live := p.eval(asked)
	p.do(chromedp.Reload())
	p.wait(`all('.answer').length === 1`)
	p.wait(thumbnails)
	p.is(asked, live)
	p.is(`all('.question .files img').every((img) => img.src.startsWith('data:image/jpeg;base64,'))`, "true")

	p.send("just text")
	if r := g.next(t); len(r.question.Files) != 0 || r.question.Text != "just text" {
		t.Errorf("sent %+v", r.question)
	}
}

// A document is uploaded beside its message, with its progress; what can't be read is named with the reason, and a file that is
// taken out is not sent.
func playDocuments(t *testing.T, g *gateway, p *tab) {
	p.open(g.url)
	p.is(`all('.attachments input')[0].accept`, "image/*,.pdf")
	p.offline.Store(true) // refusals are in the console
	drop := func(names string) {
		t.Helper()
		p.wait(fmt.Sprintf(`(() => {
			const names = %s;
			all('.chat')[0].dispatchEvent(new DragEvent('drop', { dataTransfer: %s, bubbles: true, cancelable: true }));
			return true;
		})()`, names, transfer))
	}
	drop(`['notes.txt', 'film.mp4', 'report.pdf', 'a.gif', 'pass\u202egnp.txt']`)
	p.wait(`all('.attached li').length === 5 && all('.attached progress').every((bar) => bar.hidden)`)
	p.is(`all('.attached .why').map((why) => why.textContent).filter(Boolean).join()`, "This file can't be read: this file type can't be read here.")
	p.is(`all('.attached .name').at(-1).innerText`, "passgnp.txt") // without the mark that makes it look like a picture
	p.shots("documents")
	p.wait(`(all('.attached [aria-label="Remove report.pdf"]')[0]?.click(), all('.attached [aria-label="Remove report.pdf"]').length === 0)`)
	p.send("What do they say?")
	r := g.next(t)
	p.shows(".notice", "Sent without film.mp4.") // which can't be read, and does not block the message
	if len(r.question.Files) != 3 || r.question.Files[0].Name != "notes.txt" || r.question.Files[1].Name != "a.gif" || r.question.Text != "What do they say?" {
		t.Errorf("sent %+v", r.question)
	}
	g.unread("notes.txt", "it is damaged")
	r.finish(completed, "Milk.")
	p.shows(".answer .text", "Milk.")
	p.shows(".question .files", "notes.txt")
	p.is(`all('.question .files li').at(-1).innerText`, "passgnp.txt")
	p.eval(`(all('.question .files img')[0].width = 400, '')`) // a wide picture
	p.is(`all('.question .files :is(li, img)').every((part) => Math.abs(part.getBoundingClientRect().right - all('.question .text')[0].getBoundingClientRect().right) < 1)`, "true")
	p.shows(".question .files", "Not read: it is damaged")
	p.is(`all('.question .why').length`, "1")
	p.do(chromedp.Reload())
	p.wait(`all('.answer').length === 1 && all('.question .files img')[0]?.naturalWidth === 1`)
	p.shows(".question .files", "Not read: it is damaged")
	p.shots("documents-sent")
	drop(`['1.txt', '2.txt', '3.txt', '4.txt', '5.txt', '6.txt', '7.txt', '8.txt', '9.txt']`)
	p.shows(".notice", "A message may have 8 files.")
	p.enter() // files alone
	if r := g.next(t); len(r.question.Files) != 8 || r.question.Text != "Please read the attached files." {
		t.Errorf("sent %+v", r.question)
	}
}
