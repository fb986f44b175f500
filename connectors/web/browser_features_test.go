package web_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"parley/connectors/web"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/lang"
	"parley/internal/require"
)

// again answers a message again, as the runtime does: what was said since is gone.
func (b *backend) again(in chat.Edited) chat.Accepted {
	said := b.said[in.Room]
	for i, m := range said {
		if m.ID != in.ID {
			continue
		}
		m.Text = in.Text
		r := &reply{b: b, question: m}
		run := chat.RunID("run/" + in.ID)
		b.replies[run], b.said[in.Room] = r, append(said[:i:i], m)
		b.asked <- r
		return chat.Accepted{Memory: in.ID, Run: run}
	}
	return chat.Accepted{}
}

// The last message is edited and sent again, its answer is written again, rated and kept; both also after a reload.
func playAgain(t *testing.T, g *gateway, p *tab) {
	p.open(g.url)
	p.send("one")
	g.next(t).finish(completed, "First.")
	p.shows(".answer .text", "First.")
	p.click(`[aria-label="Answer again"]`)
	r := g.next(t)
	p.is(`all('.question').length + ' ' + all('.answer').length`, "1 1")
	r.finish(completed, "Second.")
	p.wait(`shown('.answer .text') === 'Second.'`)
	p.click(`[aria-label="Edit and send again"]`)
	p.wait(`all('textarea')[0].value === 'one'`)
	p.press("Escape", "", false)
	p.wait(`all('.editing').length === 0 && all('textarea')[0].value === ''`)
	p.press("ArrowUp", "", false) // recalls it, as a new message
	p.is(`all('textarea')[0].value`, "one")
	p.click(`[aria-label="Edit and send again"]`)
	p.wait(`all('.editing').length === 1`)
	p.eval(`(all('textarea')[0].value = 'two', '')`)
	p.enter()
	r = g.next(t)
	if r.question.Text != "two" {
		t.Errorf("sent %q again", r.question.Text)
	}
	r.finish(completed, "Third.")
	p.wait(`shown('.question .text') === 'two' && shown('.answer .text') === 'Third.'`)
	p.click(`[aria-label="Bad answer"]`)
	p.wait(`all('[aria-label="Bad answer"]')[0].ariaPressed === 'true'`)
	p.click(`[aria-label="Good answer"]`)
	p.wait(`all('[aria-label="Good answer"]')[0].ariaPressed === 'true' && all('[aria-label="Bad answer"]')[0].ariaPressed === 'false'`)
	p.is(`all('time').length === 2 && all('time').every((time) => Math.abs(Date.parse(time.dateTime) - Date.now()) < 3.6e6 && time.textContent)`, "true")
	p.do(chromedp.Reload())
	p.wait(`all('.answer').length === 1 && shown('.question .text') === 'two' && all('[aria-label="Good answer"]')[0].ariaPressed === 'true'`)
}

// Chats are renamed, deleted, and restored within ten seconds.
func playChats(t *testing.T, g *gateway, p *tab) {
	p.before(saving)
	p.before(`{ const later = setTimeout; window.setTimeout = (f, ms, ...rest) => later(f, ms === 9500 && window.hasty ? 100 : ms, ...rest); }`)
	p.open(g.url)
	p.send("tea")
	g.next(t).finish(completed, "Green.")
	p.shows(".answer .text", "Green.")
	p.click(`[aria-label="More"]`)
	p.wait(`all('.menu button').length === 3`)
	p.click(`.menu button`)
	p.wait(`saved.length === 1 && saved[0].text.includes('Green.')`)
	p.click(`[aria-label="Past chats"]`)
	p.wait(`all('.past li').length === 1`)
	p.click(`[aria-label="Rename tea"]`)
	p.wait(`all('.rename').length === 1`)
	p.eval(`(all('.rename')[0].value = 'About <b>tea</b>', all('.rename')[0].focus(), '')`)
	p.enter()
	p.shows(".past .title", "About <b>tea</b>")
	p.wait(`all('.past .pick')[0].matches(':focus')`)
	// Once it is deleted, no request asks for its messages: the console would show the error.
	p.eval(`(window.fetch = ((plain) => async (url, options) => {
		if (options?.method === 'DELETE' && window.failing) throw new TypeError('away');
		const reply = await plain(url, options);
		if (options?.method === 'DELETE') {
			window.dispatchEvent(new Event('online')); // ends the pause before the next look
			await new Promise((later) => setTimeout(later, 300));
		}
		return reply;
	})(fetch), '')`)
	p.eval(`(window.failing = true, all('[aria-label="Delete About <b>tea</b>"]')[0].click(), '')`)
	p.wait(`shown('.past .undo[role=alert]') && all('.past li').length === 1 && all('.message').length === 2`) // it is still there
	p.eval(`(window.failing = false, all('[aria-label="Delete About <b>tea</b>"]')[0].focus(), '')`)
	p.click(`[aria-label="Delete About <b>tea</b>"]`)
	p.wait(`all('.past li').length === 0 && all('.message').length === 0`)
	p.is(`all('.search input')[0].matches(':focus')`, "true") // the focused button is gone
	p.eval(`(all('.undo .link')[0].focus(), '')`)
	p.click(".undo .link")
	p.wait(`all('.past li').length === 1`)
	p.is(`all('.search input')[0].matches(':focus')`, "true")
	p.click(".past .pick")
	p.shows(".answer .text", "Green.")
	p.eval(`fetch('/api/conversations', { method: 'POST', headers: { 'Content-Type': 'application/json', Authorization: 'Bearer ' + JSON.parse(localStorage['parley-visitor:' + location.origin + '/']).token }, body: '{}' }).then(({ status }) => { window.opened = status })`)
	p.wait(`window.opened === 201`)
	p.click(`[aria-label="Past chats"]`)
	p.wait(`all('.past .pick').length`)
	p.is(`shown('.past .title')`, "About <b>tea</b>") // and none that is empty
	p.eval(`(window.hasty = true, all('[aria-label="Delete About <b>tea</b>"]')[0].click(), '')`)
	p.wait(`shown('.past .none') && all('.undo').length === 0`)
}

// A second tab of a conversation follows the first one.
func playTwoTabs(t *testing.T, g *gateway, p *tab) {
	p.open(g.url)
	p.send("one")
	g.next(t).finish(completed, "Yes.")
	p.shows(".answer .text", "Yes.")
	ctx, cancel := chromedp.NewContext(p.ctx)
	defer cancel()
	other := &tab{t: t, ctx: ctx}
	other.before(helpers)
	other.open(g.url)
	other.shows(".answer .text", "Yes.")
	p.send("two")
	r := g.next(t)
	r.say("Ind")
	other.shows(".answer:last-child .text", "Ind")
	r.say("eed.")
	r.finish(completed, "")
	other.wait(`shown('.answer:last-child .text') === 'Indeed.' && all('.question').length === 2 && all('.stop')[0].hidden`)
}

// What a person or a reminder says while the page is open is shown, read by screen readers, and counted as unread where the chat is closed.
func playUnasked(t *testing.T, p *tab) {
	b, l := newBackend(), listen(t, "127.0.0.1:0")
	shop := site(t, l, "data-open")
	g := start(t, b, l, func(o *web.Options) { o.Origins, o.Reasoning = []string{shop}, true })
	p.open(shop)
	p.send("one")
	r := g.next(t)
	r.Apply(answer.Change{Kind: answer.Reasoning, Text: "I think."})
	r.finish(completed, "Yes.")
	p.shows(".answer .text", "Yes.")
	p.wait(`all('.stop')[0].hidden`)
	p.click(".reasoning summary")
	post := func(id chat.MemoryID, text string, later time.Duration) {
		m := chat.Memory{ID: id, Room: r.question.Room, Author: "agent", Text: text, At: time.Now().Add(later)}
		if strings.HasPrefix(text, "**Ada**") {
			m.Actions = []string{chat.PersonAction}
		}
		if strings.Contains(text, "📎") {
			m.Calls = []answer.PastCall{{ID: "file", Tool: answer.Tool{Name: "file", Hidden: true, Stage: answer.StageEnd, Success: true}, Files: []llm.PastFile{{Name: "<b>to_do</b>.md", Type: "text/markdown", Size: 4}}}}
		}
		b.mu.Lock()
		b.said[m.Room] = append(b.said[m.Room], m)
		b.mu.Unlock()
		p.eval(`document.dispatchEvent(new Event('visibilitychange'))`) // otherwise it takes five seconds
	}
	post("ada/1", "**Ada**: Hello.", -time.Second)
	p.wait(`all('.answer').length === 2 && shown('.answer:last-child .text') === 'Ada: Hello.'`)
	p.wait(`all('.unseen[aria-live="polite"]')[0].textContent === 'Ada: Hello.'`)
	edit := func(n int, text string) {
		b.mu.Lock()
		b.said[r.question.Room][n].Text = text
		b.mu.Unlock()
		p.eval(`document.dispatchEvent(new Event('visibilitychange'))`)
	}
	edit(2, "**Ada**: Hello, Bob.")
	p.wait(`all('.answer .text')[1].innerText === 'Ada: Hello, Bob.'`)
	p.wait(`all('.unseen[aria-live="polite"]')[0].lastChild.textContent === 'Ada: Hello, Bob.'`)
	p.is(`all('.thoughts').map(({ textContent, parentNode }) => textContent + parentNode.open)`, "I think.true,false")
	p.shot("a person")
	post("ada/3", strings.Repeat("A long line.\n\n", 60), -time.Second)
	p.wait(`all('.answer').length === 3 && all('.scroller')[0].scrollTop > 400`)
	p.is(`all('.answer').map((one) => [...one.querySelectorAll('footer button')].map(({ ariaLabel }) => ariaLabel)).join('; ')`,
		"Copy the answer,Good answer,Bad answer; Copy the answer; Copy the answer,Good answer,Bad answer") // the agent can't answer again for a person
	p.write("a draft")
	p.eval(`(all('.scroller')[0].scrollTop = 40, '')`)
	p.wait(`!all('.latest')[0].hidden`)
	b.mu.Lock()
	b.said[r.question.Room] = b.said[r.question.Room][1:]
	b.mu.Unlock()
	edit(1, "**Ada**: Hi, Bob.")
	p.wait(`all('.question').length === 0 && all('.answer .text')[1].innerText === 'Ada: Hi, Bob.'`)
	p.is(`all('.answer').length + ' ' + all('textarea')[0].value + ' ' + (all('textarea')[0] === all('textarea')[0].getRootNode().activeElement) + ' ' + (all('.scroller')[0].scrollTop < 100)`, "3 a draft true true")
	post("ada/4", "**Ada**: The list.\n📎 b to do /b .md\n📎 missing.md", -time.Second)
	p.wait(`all('.save .name').at(-1)?.textContent === '<b>to_do</b>.md'`)
	p.wait(`all('.answer .text').at(-1).innerText === 'Ada: The list.\n📎 missing.md'`) // a file that did not come is named
	p.click(".latest")
	p.shot("a person's file")
	p.eval(`(parley.close(), '')`)
	post("ada/2", "**Ada**: Are you there?", time.Second)
	p.wait(`all('.launcher')[0].ariaLabel === 'Chat with Ada, 1 new'`)
}

// Messages that are deleted elsewhere, with their conversation or without it, leave the open page.
func playEmptied(t *testing.T, g *gateway, p *tab) {
	p.offline.Store(true) // an unknown conversation is an error to the console
	p.open(g.url)
	for _, empty := range []func(){g.clear, g.forget} {
		p.send("one")
		g.next(t).finish(completed, "Yes.")
		p.wait(`shown('.answer .text') === 'Yes.' && all('.stop')[0].hidden`)
		empty()
		p.eval(`document.dispatchEvent(new Event('visibilitychange'))`)
		p.wait(`all('.message').length === 0 && !all('.empty')[0].hidden`)
	}
}

// While a person has the chat, no line below a message says that it needs no reply, also after a reload.
func playRelayed(t *testing.T, g *gateway, p *tab) {
	g.relayed = true
	p.open(g.url)
	for range 2 {
		p.send("Is anyone there?")
		p.wait(`all('.question').length && all('.stop')[0].hidden`)
		p.is(`all('.answer, .note').length`, "0")
		p.do(chromedp.Reload())
		p.wait(`all('.question').length && all('.stop')[0].hidden`)
		p.wait(`all('.answer').length === 0`)
	}
	ctx, cancel := chromedp.NewContext(p.ctx)
	defer cancel()
	other := &tab{t: t, ctx: ctx}
	other.before(helpers)
	other.open(g.url)
	for _, tab := range []*tab{p, other} { // two tabs don't wake each other without end
		tab.eval(`(window.asked = 0, new PerformanceObserver((list) => { asked += list.getEntries().filter(({ name }) => name.endsWith('/stream')).length }).observe({ type: 'resource' }), '')`)
	}
	p.send("Hello?")
	other.wait(`all('.question').length === 3`)
	time.Sleep(time.Second)
	for _, tab := range []*tab{p, other} {
		tab.wait(`asked < 4`)
		tab.is(`all('.answer').length`, "0")
	}
}

// rich has all that Markdown can, in both directions.
const rich = "# تقرير\n\nمرحبا **بالعالم**، see [a link](https://example.org) and \\(a^2 + b^2 = c^2\\).\n\n1. واحد\n2. اثنان\n\n| السعر | Price |\n|---|--:|\n| شاي | 12,345.6/7 |\n\n" +
	"> quoted\n\n- [x] done\n\n```go\nfunc main() {}\n```\n\n\\[\\frac{1}{2}\\]\n\n<details><summary>More</summary>\n\n`code` and <kbd>Ctrl</kbd>[^1]\n\n</details>\n\n[^1]: A note."

// The page passes axe-core in every state, with a rich conversation in both directions.
func playAccessible(t *testing.T, g *gateway, p *tab) {
	source := require.Value(os.ReadFile(filepath.Join(packages(t), "node_modules", "axe-core", "axe.min.js")))(t)
	p.before(string(source))
	p.open(g.url)
	p.accessible("empty")
	p.send("Tell me everything")
	r := g.next(t)
	r.tool("1", answer.Tool{Name: "PLAY_DEMO", Stage: answer.StageRunning, Parameters: "{}"})
	r.say("Half of")
	p.shows(".answer .text", "Half of")
	p.accessible("streaming")
	r.tool("1", answer.Tool{Name: "PLAY_DEMO", Stage: answer.StageEnd, Parameters: "{}", Result: `{"a":1}`, Success: true}, onePixel())
	r.say(" it.\n\n" + rich)
	r.finish(completed, "")
	p.wait(`all('math').length === 2 && all('.hl-keyword').length === 1 && all('.pictures img').length === 1`)
	p.eval(`(all('details').forEach((node) => { node.open = true; }), '')`)
	p.accessible("rich")
	p.click(".pictures .zoom")
	p.wait(`all('.viewer[open]').length === 1`)
	p.accessible("viewer")
	p.press("Escape", "", false)
	p.wait(`all('.viewer').length === 0`)
	p.send("order it")
	r = g.next(t)
	r.say("🔐 **ORDER** (shop, writes)\n```\n{}\n```")
	r.approve("ask", time.Now().Add(time.Hour), "Approve", "Deny")
	p.wait(`all('.approval .chip').length === 2`)
	p.accessible("approval")
	r.goOn()
	r.finish(completed, "")
	p.wait(`all('.approval').length === 0`)
	p.click(`[aria-label="More"]`)
	p.accessible("menu")
	p.click(`[aria-label="Past chats"]`)
	p.wait(`all('.past li').length === 1`)
	p.accessible("past")
	p.click(`[aria-label="Back to the chat"]`)
	p.send("fail")
	r = g.next(t)
	r.offer("q", "Yes", "No")
	p.wait(`all('.answer .chip').length === 2`)
	p.accessible("choices")
	r.finish(answer.Outcome{Status: answer.Failed, Failure: llm.RateLimited}, llm.RateLimited.Sentence(lang.Voice{}))
	p.wait(`all('.retry').length === 1`)
	p.accessible("failed")
	p.click(`p.contact button`)
	p.accessible("contact")
}

// Right to left, the numbers of lists and the page itself stay in sight on a phone, also at 200 % zoom and with forced colors.
func playRightToLeft(t *testing.T, g *gateway, p *tab) {
	p.prefers("ar")
	p.do(chromedp.EmulateViewport(390, 844))
	p.open(g.url)
	p.is(`getComputedStyle(all('.chat')[0]).direction`, "rtl")
	p.shows(".empty h2", "مرحبًا، أنا Parley.")
	p.is(`all('textarea')[0].placeholder`, "رسالة إلى Parley")
	p.send("مرحبا")
	r := g.next(t)
	r.say(rich)
	r.finish(completed, "")
	p.wait(`all('.said ol li').length === 2 && all('math').length === 2`)
	fits := func(state string) {
		t.Helper()
		p.is(`document.documentElement.scrollWidth <= innerWidth && all('.scroller')[0].scrollWidth <= all('.scroller')[0].clientWidth`, "true")
		p.is(`all('.said ol')[0].getBoundingClientRect().right <= innerWidth && parseFloat(getComputedStyle(all('.said ol')[0]).paddingInlineStart) >= 24`, "true")
		p.shot("rtl-" + state)
	}
	fits("phone")
	p.do(chromedp.EmulateViewport(195, 422)) // 200 %
	fits("zoomed")
	p.do(chromedp.EmulateViewport(1200, 800))
	if _, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "forced-colors", Value: "active"}}}); err != nil {
		t.Fatal(err)
	}
	fits("forced")
}

// A page drives the chat by its JavaScript API, and by attributes; a script that is injected later works too.
func playAPI(t *testing.T, p *tab) {
	l := listen(t, "127.0.0.1:0")
	shop := site(t, l, `data-accent="#ffe066" data-position=left data-greeting="Ahoy!" data-suggestions="Where is it?|How much?" data-privacy="We keep chats for a month." data-avatar="data:image/gif;base64,`+pixel+`"`)
	g := start(t, newBackend(), l, func(o *web.Options) { o.Origins = []string{shop} })
	p.do(chromedp.Navigate(shop))
	p.wait(`all('.launcher').length === 1`)
	p.is(`document.documentElement.lastElementChild.localName + ' ' + all('.launcher')[0].getBoundingClientRect().left`, "parley-chat 20")
	p.is(`performance.getEntriesByType('resource').filter(({ name }) => name.startsWith('`+g.url+`')).map(({ name }) => new URL(name).pathname).join()`, "/widget.js")
	p.eval(`(window.heard = [], ['open', 'ready', 'answer', 'close'].forEach((name) => parley.on(name, ({ text = '' }) => heard.push(name + text))), parley.open(), '')`)
	p.shows(".empty h2", "Ahoy!")
	p.is(`all('.chip').map((chip) => chip.innerText).join() + shown('.privacy')`, "Where is it?,How much?We keep chats for a month.")
	p.is(`performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('.js')).length`, "2")
	p.wait(`all('.avatar img').length === 2 && all('.avatar img').every((img) => img.naturalWidth === 1)`)
	p.eval(`(parley.send('hello'), '')`)
	g.next(t).finish(completed, "Welcome.")
	p.shows(".answer .text", "Welcome.")
	p.is(`performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('.js')).length`, "3")
	p.is(`performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname).filter((path) => /\.js(on)?$/.test(path)).map((path) => path.replace(/-.*/, '')).sort().join()`, "/chat,/markdown,/widget.js,/words.json")
	p.is(`getComputedStyle(all('.question .text')[0]).color`, "lab(0 0 0)") // on a light accent
	p.shots("accent")
	p.eval(`(parley.close(), '')`)
	p.wait(`heard.join() === 'open,ready,answerWelcome.,close'`)
	p.eval(`(parley.toggle(), parley.toggle(), '')`)
	p.is(`heard.slice(4).join() + all('.panel')[0].hidden`, "open,closetrue")
	p.eval(`(document.body.replaceWith(document.createElement('body')), '')`) // as Turbo does
	p.is(`all('.launcher').length`, "1")
	p.eval(`(document.head.append(Object.assign(document.createElement('script'), { src: '` + g.url + `/widget.js' })), '')`)
	p.wait(`all('.launcher').length === 2`) // in the other corner
	p.is(`(() => { const [a, b] = all('.launcher').map((node) => node.getBoundingClientRect()); return a.right < b.left || b.right < a.left; })()`, "true")
	p.eval(`(parley.destroy(), '')`)
	p.wait(`all('parley-chat').length === 0`)
	p.do(chromedp.Reload())
	p.wait(`all('.launcher').length === 1`)
	p.eval(`(parley.open(), '')`)
	p.shows(".answer .text", "Welcome.")
}

// The configuration sets the look, which attributes and the page's styles override.
func playLook(t *testing.T, p *tab) {
	l := listen(t, "127.0.0.1:0")
	shop, other := site(t, l, "data-open"), site(t, l, `data-open data-position=right data-greeting="Hello!"`)
	g := start(t, newBackend(), l, func(o *web.Options) {
		o.Origins, o.Suggestions = []string{shop, other}, []string{"Where is it?"}
		o.Look = web.Look{Greeting: "Ahoy!", Privacy: "We keep chats for a month.", Position: "left", Accent: "#0a7d55"}
	})
	const look = `shown('.empty h2') + shown('.chip') + shown('.privacy') + ' ' + all('.send').map((node) => getComputedStyle(node).backgroundColor)`
	p.do(chromedp.Navigate(g.url))
	p.wait(look + ` === 'Ahoy!Where is it?We keep chats for a month. rgb(10, 125, 85)'`)
	p.do(chromedp.Navigate(shop))
	p.wait(look + ` === 'Ahoy!Where is it?We keep chats for a month. rgb(10, 125, 85)'`)
	p.is(`all('.launcher')[0].getBoundingClientRect().left`, "20")
	p.shots("look")
	p.do(chromedp.Navigate(other))
	p.wait(`shown('.empty h2') === 'Hello!'`)
	p.is(`all('.launcher')[0].getBoundingClientRect().left > 600`, "true")
}

// Any accent has a contrast of 4.5 to the text on it, and to the ground where it is the color of text.
func playAccents(t *testing.T, g *gateway, p *tab) {
	for _, scheme := range []string{"light", "dark"} {
		p.media(scheme)
		p.open(g.url)
		p.is(`(() => {
			const [host] = all('parley-chat');
			const [chat] = all('.chat');
			const probe = chat.appendChild(document.createElement('span'));
			const canvas = Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d', { willReadFrequently: true });
			const light = (css) => {
				canvas.fillStyle = css;
				canvas.fillRect(0, 0, 1, 1);
				const [x, y, z] = [...canvas.getImageData(0, 0, 1, 1).data].map((c) => (c <= 10 ? c / 3294.6 : ((c / 255 + 0.055) / 1.055) ** 2.4));
				return 0.2126 * x + 0.7152 * y + 0.0722 * z;
			};
			const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
			const shown = (name) => { probe.style.color = 'var(--' + name + ')'; return getComputedStyle(probe).color; };
			const wrong = [];
			for (let i = 0; i < 512; i++) {
				const accent = 'rgb(' + [(i & 7) * 36, (i >> 3 & 7) * 36, (i >> 6) * 36].join(' ') + ')';
				host.style.setProperty('--parley-accent', accent);
				if (contrast(accent, shown('on-accent')) < 4.5) wrong.push('on ' + accent);
				if (contrast(getComputedStyle(chat).backgroundColor, shown('link')) < 4.5) wrong.push('in ' + accent);
			}
			return wrong.join();
		})()`, "")
	}
}

// A chat that is opened while the gateway is down says so, and goes on when it is back. A page that is loaded then shows the site's contact.
func playDown(t *testing.T, p *tab) {
	p.offline.Store(true)
	b, l := newBackend(), listen(t, "127.0.0.1:0")
	shop := site(t, l, `data-contact="mailto:help@example.org"`)
	origins := func(o *web.Options) { o.Origins = []string{shop} }
	g := start(t, b, l, origins)
	p.do(chromedp.Navigate(shop))
	p.wait(`all('.launcher').length === 1`)
	g.stop()
	p.eval(`(parley.open(), '')`)
	p.shows(".down", "The chat can’t be reached.")
	p.is(`all('.down a')[0].href`, "mailto:help@example.org")
	p.complains("the chat can't be loaded")
	start(t, b, listen(t, l.Addr().String()), origins)
	p.wait(`all('.empty').length && !all('.empty')[0].hidden`)
	gone := listen(t, "127.0.0.1:0")
	_ = gone.Close()
	p.do(chromedp.Navigate(serving(t, func() string {
		return "<!doctype html>" + example(t, "html", "onerror", "http://"+gone.Addr().String())
	})))
	p.wait(`document.querySelector('#help').checkVisibility() && all('.launcher').length === 0`)
}

// The page needs no weaker policy than the strictest, with trusted types.
func playTrustedTypes(t *testing.T, g *gateway, p *tab) {
	proxy := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Security-Policy", "default-src 'none'; script-src "+g.url+"; connect-src "+g.url+"; img-src data:; require-trusted-types-for 'script'; trusted-types 'none'")
		_, _ = rw.Write([]byte(`<!doctype html><script src="` + g.url + `/widget.js" data-open></script>`))
	}))
	t.Cleanup(proxy.Close)
	p.offline.Store(true) // the site is not listed
	p.do(chromedp.Navigate(proxy.URL))
	p.wait(`all('.empty').length && !all('.empty')[0].hidden`)
	p.is(`all('.problem').length`, "0")
}

// A page that takes no untrusted address of a script loads the service that tells people from programs by the policy "parley".
func playTrustedProof(t *testing.T, p *tab) {
	l := listen(t, "127.0.0.1:0")
	from := "http://" + l.Addr().String()
	shop := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Security-Policy", "default-src 'none'; script-src "+from+"; connect-src "+from+"; img-src data:; require-trusted-types-for 'script'; trusted-types parley")
		_, _ = rw.Write([]byte(`<!doctype html><script src="` + from + `/widget.js" data-open></script>`))
	}))
	t.Cleanup(shop.Close)
	g := start(t, newBackend(), l, func(o *web.Options) {
		o.Origins = []string{shop.URL}
		o.Verify = web.Verify{SiteKey: "0x4AAA", Secret: "secret", Client: &http.Client{Transport: &verifier{}}}
	})
	p.before(`
		const append = Element.prototype.append;
		Element.prototype.append = function (...nodes) {
			const [script] = nodes;
			if (!script.src?.startsWith('https://challenges.cloudflare.com/turnstile/')) return append.apply(this, nodes);
			window.turnstile = { render: (place, { callback }) => callback('good') };
			script.onload();
		};`)
	p.open(shop.URL)
	p.send("hello")
	g.next(t).finish(completed, "Hi.")
	p.shows(".answer .text", "Hi.")
}

// After a failure a visitor leaves a message for a person. A refused one stays in the form.
func playContact(t *testing.T, p *tab) {
	left, fails := make(chan web.Contact, 2), atomic.Bool{}
	fails.Store(true)
	g := start(t, newBackend(), listen(t, "127.0.0.1:0"), func(o *web.Options) {
		o.Contact = func(_ context.Context, c web.Contact) error {
			if fails.Swap(false) {
				return chat.ErrUnreached
			}
			left <- c
			return nil
		}
	})
	p.open(g.url)
	p.send("When do you open?")
	r := g.next(t)
	p.is(`all('.contact').length`, "0")
	r.finish(answer.Outcome{Status: answer.Failed, Failure: llm.RateLimited}, "Busy.")
	p.wait(`shown('p.contact') === 'Leave a message for a person'`)
	p.click(`p.contact button`)
	p.is(`all('.contact textarea')[0].value`, "When do you open?")
	p.eval(`(all('.contact input')[0].value = 'ada@example.org', '')`)
	p.shots("contact")
	p.offline.Store(true)
	p.click(`.contact [type=submit]`)
	p.wait(`shown('.notice').startsWith('Your message could not be passed on.') && all('form.contact').length === 1`)
	p.click(`.contact [type=submit]`)
	p.wait(`shown('.notice') === 'Thank you. Your message has been passed on.' && all('form.contact').length === 0`)
	if c := <-left; c.ReplyTo != "ada@example.org" || c.Text != "When do you open?" || c.Page != g.url+"/" || c.Locale != "en" {
		t.Errorf("left %+v", c)
	}
}

// verifier answers as a siteverify service does: one proof is good.
type verifier struct{ asked atomic.Int32 }

func (v *verifier) RoundTrip(r *http.Request) (*http.Response, error) {
	v.asked.Add(1)
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(fmt.Sprintf(`{"success": %t}`, r.FormValue("response") == "good")))}, nil
}

// If the script of the service can't be loaded, the page says so, and tries again with the next message.
func playNoProof(t *testing.T, p *tab) {
	g := start(t, newBackend(), listen(t, "127.0.0.1:0"), func(o *web.Options) {
		o.Verify = web.Verify{SiteKey: "0x4AAA", Secret: "secret", Client: &http.Client{Transport: &verifier{}}}
	})
	p.before(`
		const append = Element.prototype.append;
		Element.prototype.append = function (...nodes) { return nodes[0]?.src?.includes('turnstile') ? nodes[0].onerror() : append.apply(this, nodes); };`)
	p.offline.Store(true) // a refusal is an error to the console
	p.open(g.url)
	p.send("hello")
	p.shows(".notice", "“challenges.cloudflare.com” can’t be loaded right now. Please try again.")
	p.is(`(window.turnstile = { render: (place, { callback }) => callback('good') }, all('textarea')[0].value)`, "hello")
	p.enter()
	g.next(t).finish(completed, "Hi.")
	p.shows(".answer .text", "Hi.")
}

// A new visitor solves the challenge of the service once, and again after a wrong proof. The stand-in for its script solves it by itself.
func playProof(t *testing.T, p *tab) {
	v := &verifier{}
	g := start(t, newBackend(), listen(t, "127.0.0.1:0"), func(o *web.Options) {
		o.Verify = web.Verify{SiteKey: "0x4AAA", Secret: "secret", Client: &http.Client{Transport: v}}
	})
	p.offline.Store(true) // a refusal is an error to the console
	p.before(`window.turnstile = { render: (place, { sitekey, callback }) => callback(place.isConnected && sitekey === '0x4AAA' && window.person ? 'good' : 'bad') };`)
	p.open(g.url)
	p.send("hello")
	p.shows(".notice", "Please confirm that you are a person.")
	p.is(`(window.person = true, all('textarea')[0].value)`, "hello")
	p.enter()
	g.next(t).finish(completed, "Hi.")
	p.shows(".answer .text", "Hi.")
	p.do(chromedp.Reload())
	p.eval(`(window.person = true, '')`)
	p.shows(".answer .text", "Hi.")
	p.send("again")
	g.next(t).finish(completed, "Yes.")
	if n := v.asked.Load(); n != 2 {
		t.Errorf("the visitor was verified %d times", n)
	}
}
