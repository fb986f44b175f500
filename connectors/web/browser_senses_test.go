package web_test

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"parley/connectors/web"
	"parley/internal/lang"
	"parley/internal/require"
)

// An answer in a tab that is not in sight makes the title blink until the visitor comes back, and a sound if they want one, also after a reload.
func playSignals(t *testing.T, g *gateway, p *tab) {
	p.before(`window.chimes = 0; window.AudioContext = class { constructor() { chimes++; throw new Error('there is no sound card'); } };`)
	p.open(g.url)
	title := p.eval(`document.title`)
	hide := func(hidden string) {
		p.eval(`(Object.defineProperty(document, 'hidden', { configurable: true, get: () => ` + hidden + ` }), document.dispatchEvent(new Event('visibilitychange')), '')`)
	}
	hide("true")
	p.send("one")
	g.next(t).finish(completed, "Yes.")
	p.wait(`document.title === 'Parley has answered'`)
	p.wait(`document.title === '` + title + `'`)
	p.wait(`document.title === 'Parley has answered'`)
	hide("false")
	p.is(`document.title + chimes`, title+"0")
	p.click(`[aria-label="More"]`)
	p.wait(`shown('.menu button:nth-child(2)') === 'Sound is off'`)
	p.click(`.menu button:nth-child(2)`)
	p.wait(`shown('.menu button:nth-child(2)') === 'Sound is on' && chimes === 1`)
	p.open(g.url)
	hide("true")
	p.send("two")
	g.next(t).finish(completed, "No.")
	p.wait(`chimes === 1`)
}

// A screen reader hears an answer by sentences while it is written, and nothing of it again after a reload.
func playSentences(t *testing.T, g *gateway, p *tab) {
	const said = `all('.unseen[aria-live="polite"]').flatMap((node) => [...node.children]).map((node) => node.textContent).join('|')`
	p.open(g.url)
	p.send("hello")
	r := g.next(t)
	r.say("One. Two")
	p.wait(said + ` === 'One.'`)
	r.say(" is **it**. Three [shops](https://example.org)")
	p.wait(said + ` === 'One.|Two is it.'`)
	r.finish(completed, "")
	p.wait(said + ` === 'One.|Two is it.|Three shops'`)
	p.is(`all('.log')[0].ariaLive`, "off")
	p.open(g.url)
	p.wait(`all('.answer').length === 1 && all('.unseen[aria-live="polite"]').length === 1`)
	p.is(said, "")
	p.send("ご注文は？")
	r = g.next(t)
	r.say("紅茶です。緑茶もあります。他")
	p.wait(said + ` === '紅茶です。緑茶もあります。'`)
	r.say("に。\n\nنعم. هل تريد الشاي؟ Which one")
	p.wait(said + `.endsWith('هل تريد الشاي؟')`)
	r.offer("tea", "Assam", "Sencha") // the answer waits
	p.wait(said + `.endsWith('|Which one')`)
	r.goOn()
	r.say(". Thanks.")
	r.finish(completed, "")
	p.wait(said + `.endsWith('|Which one|. Thanks.')`)
	p.send("code")
	g.next(t).finish(completed, "# Tea\n\nPay $5 or $6 for $x$:\n\n```python\nb > 1  # cups\n```")
	p.wait(said + `.endsWith('Tea\n\nPay $5 or $6 for x:\n\npython\nb > 1  # cups')`)
}

// The Tab key goes from the head over the messages to the text field, in the order in which they are seen, and nothing moves with reduced motion.
func playFocusOrder(t *testing.T, p *tab) {
	l := listen(t, "127.0.0.1:0")
	shop := site(t, l, "data-open")
	g := start(t, newBackend(), l, func(o *web.Options) { o.Origins = []string{shop} })
	p.do(chromedp.Navigate(shop))
	p.wait(`all('.empty').length && !all('.empty')[0].hidden`)
	p.send("hello")
	g.next(t).finish(completed, "Welcome.")
	p.wait(`all('[aria-label="Answer again"]').length === 1`)
	p.eval(`(all('.head button')[0].focus(), '')`)
	var order []string
	for range 15 {
		order = append(order, p.eval(`((node) => node?.ariaLabel || node?.className)(all('parley-chat')[0].shadowRoot.activeElement)`))
		p.press("Tab", "", false)
	}
	want := []string{"Past chats", "New chat", "More", "Close the chat", "scroller", "Edit and send again", "Copy the message", "Copy the answer", "Good answer", "Bad answer", "Answer again",
		"Attach files", "Message Ada", "Send", "Close the chat"}
	if !slices.Equal(order, want) {
		t.Errorf("the focus goes to %q, want %q", order, want)
	}
	p.is(`getComputedStyle(all('.launcher')[0]).transitionProperty + ',' + getComputedStyle(all('.panel')[0]).animationName + ',' + getComputedStyle(all('.chip, .icon')[0]).transitionProperty`, "none,none,none")
}

// A chat that opens at load leaves the focus where it is, and so does one that closes, unless it has the focus.
func playHostFocus(t *testing.T, p *tab) {
	l := listen(t, "127.0.0.1:0")
	shop := site(t, l, "data-open")
	start(t, newBackend(), l, func(o *web.Options) { o.Origins = []string{shop} })
	p.before(`document.addEventListener('DOMContentLoaded', () => { const field = document.createElement('input'); field.style.visibility = 'visible'; document.body.prepend(field); field.focus(); });`)
	p.open(shop)
	p.is(`document.activeElement.localName`, "input")
	p.eval(`(parley.close(), '')`)
	p.is(`all('.panel')[0].hidden + document.activeElement.localName`, "trueinput")
	p.eval(`(parley.open(), '')`)
	p.is(`document.activeElement.shadowRoot?.activeElement.localName`, "textarea")
	p.eval(`(parley.close(), '')`)
	p.is(`document.activeElement.shadowRoot?.activeElement.className`, "launcher")
}

// On a phone, Enter is a newline, and files can be pictures of the camera. Esc ends an answer.
func playPhone(t *testing.T, g *gateway, p *tab) {
	p.before(`const ask = window.matchMedia.bind(window); window.matchMedia = (query) => query.includes('pointer') ? { matches: query.includes('coarse') } : ask(query);`)
	p.do(chromedp.EmulateViewport(390, 844))
	p.open(g.url)
	p.is(`all('textarea')[0].enterKeyHint + ' ' + all('input[type=file]')[0].accept.split(',').includes('image/*') + all('input[type=file]')[0].multiple`, "enter truetrue")
	p.write("one")
	p.enter()
	p.write("two")
	p.is(`all('textarea')[0].value + all('.question').length`, "one\ntwo0")
	p.click(".send")
	r := g.next(t)
	if r.question.Text != "one\ntwo" {
		t.Errorf("sent %q", r.question.Text)
	}
	r.say("Once upon a time")
	p.shows(".answer .text", "Once upon a time")
	p.eval(`(all('textarea')[0].focus(), '')`)
	p.press("Escape", "", false)
	p.shows(".note", "Stopped.")
}

// The progress of a file is shown, and one that is removed is not sent any more.
func playCancel(t *testing.T, g *gateway, p *tab) {
	p.before(`
		window.aborted = 0;
		XMLHttpRequest.prototype.send = function () { this.upload.dispatchEvent(new ProgressEvent('progress', { lengthComputable: true, loaded: 1, total: 4 })); };
		XMLHttpRequest.prototype.abort = function () { aborted++; };`)
	p.open(g.url)
	p.wait(`(() => {
		const names = ['notes.txt'];
		all('.chat')[0].dispatchEvent(new DragEvent('drop', { dataTransfer: ` + transfer + `, bubbles: true, cancelable: true }));
		return true;
	})()`)
	p.wait(`all('.attached progress').length === 1 && !all('.attached progress')[0].hidden && all('.attached progress')[0].value === 0.25`)
	p.click(`[aria-label="Remove notes.txt"]`)
	p.wait(`aborted === 1 && all('.attached li').length === 0`)
	p.send("hello")
	if r := g.next(t); len(r.question.Files) != 0 {
		t.Errorf("sent %+v", r.question)
	}
}

// The closed chat costs one request. Its label, and the words of one that can't be loaded, are in the language of the attribute, the page, or
// the browser.
func playClosedLabel(t *testing.T, p *tab) {
	page, attributes := "", ""
	g, shop := exampleSite(t, func(l net.Listener) string {
		return "<!doctype html><html " + page + "><meta charset=utf-8><title>Shop</title><script src=http://" + l.Addr().String() + "/widget.js data-agent=Ada data-contact=/help " + attributes + "></script>"
	})
	p.offline.Store(true)
	p.before(`Object.defineProperty(navigator, 'language', { value: 'ar-EG' }); window.fetch = () => Promise.reject(new Error('no network'))`)
	for _, c := range []struct{ page, attributes, language string }{
		{"", "", "ar"}, {"lang=ja", "", "ja"}, {"lang=ja", "data-locale=pt_BR", "pt"}, {"lang=xx", "", "en"}, {"", "data-locale=de-AT", "de"},
	} {
		page, attributes = c.page, c.attributes
		p.do(chromedp.Navigate(shop))
		p.wait(`all('.launcher').length === 1`)
		v := lang.In(c.language)
		p.is(`all('.launcher')[0].ariaLabel`, strings.ReplaceAll(v.Say("front.title"), "{agent}", "Ada"))
		p.is(`performance.getEntriesByType('resource').filter(({ name }) => name.startsWith('`+g.url+`')).length`, "1")
		p.eval(`(parley.open(), '')`)
		p.shows(".down", v.Say("front.down")+" "+v.Say("front.contact"))
		p.complains("the chat can't be loaded")
		p.is(`getComputedStyle(all('.down')[0]).direction`, map[bool]string{true: "rtl", false: "ltr"}[c.language == "ar"])
	}
}

// The chat passes axe-core on a page of another site too: closed, open in another language, with an answer, and where it can't be reached.
func playAccessibleEmbed(t *testing.T, p *tab) {
	source := require.Value(os.ReadFile(filepath.Join(packages(t), "node_modules", "axe-core", "axe.min.js")))(t)
	p.before(string(source))
	g, shop := exampleSite(t, func(l net.Listener) string {
		return "<!doctype html><html lang=ar dir=rtl><meta charset=utf-8><title>Shop</title><main><h1>Shop</h1></main><script src=http://" + l.Addr().String() + "/widget.js data-accent=gold data-contact=mailto:help@example.com></script>"
	})
	p.do(chromedp.Navigate(shop))
	p.wait(`all('.launcher').length === 1`)
	p.accessible("closed")
	p.eval(`(parley.open(), '')`)
	p.wait(`all('.empty').length && !all('.empty')[0].hidden`)
	p.accessible("opened")
	p.send("hello")
	r := g.next(t)
	r.say(rich)
	r.finish(completed, "")
	p.wait(`all('math').length === 2 && all('.hl-keyword').length === 1`)
	p.accessible("answered")
	p.do(chromedp.Reload())
	p.wait(`all('.launcher').length === 1 && all('.answer').length === 1`) // loaded for its unread answers
	p.offline.Store(true)
	g.stop()
	p.eval(`(document.querySelector('parley-chat').remove(), document.documentElement.append(Object.assign(document.createElement('parley-chat'), { base: '` + g.url + `/' })), parley.open(), '')`)
	p.wait(`all('.down').length === 1`)
	p.accessible("down")
	p.complains("the chat can't be loaded")
}

// A tag manager adds the script in a way that gives it no currentScript. The gateway speaks the language of the page, too.
func playTagManager(t *testing.T, p *tab) {
	g, shop := exampleSite(t, func(l net.Listener) string {
		return "<!doctype html><html lang=de><meta charset=utf-8><title>Shop</title><script>const tag = Object.assign(document.createElement('script'), { type: 'module', src: 'http://" + l.Addr().String() +
			"/widget.js' }); tag.dataset.agent = 'Ada'; setTimeout(() => document.head.append(tag), 50)</script>"
	})
	p.do(chromedp.Navigate(shop))
	p.wait(`all('.launcher').length === 1`)
	p.is(`all('.launcher')[0].ariaLabel`, "Chat mit Ada")
	p.eval(`(parley.send('hello'), '')`)
	r := g.next(t)
	if r.locale != "de" {
		t.Errorf("the gateway is asked to speak %q", r.locale)
	}
	r.finish(completed, "Welcome.")
	p.shows(".answer .text", "Welcome.")
}

// What the guide's plugin for WordPress writes into a page is a chat.
func playWordPressExample(t *testing.T, p *tab) {
	g, shop := exampleSite(t, func(l net.Listener) string {
		written := regexp.MustCompile(`echo '(.+)';`).FindStringSubmatch(example(t, "php", "wp_footer", "http://"+l.Addr().String()))
		if written == nil {
			t.Fatal("the plugin writes nothing")
		}
		return "<!doctype html><html lang=de><meta charset=utf-8><title>Blog</title><body class=wp-site-blocks><main>Hello world!</main>" + written[1] + "</body></html>"
	})
	p.do(chromedp.Navigate(shop))
	p.wait(`all('.launcher').length === 1`)
	p.click(".launcher")
	p.wait(`all('.empty').length && !all('.empty')[0].hidden`)
	p.send("hello")
	g.next(t).finish(completed, "Welcome.")
	p.shows(".answer .text", "Welcome.")
}

// The attributes, calls, events, parts and variables of the guide are those of the widget.
func TestEmbedGuideNamesWhatExists(t *testing.T) {
	page := require.Value(os.ReadFile("../../docs/embed.md"))(t)
	source := ""
	for _, name := range []string{"widget.ts", "widget.css", "chat.css", "more.css", "view/app.tsx", "view/composer.tsx", "view/contact.tsx", "view/messages.tsx"} {
		text := require.Value(os.ReadFile("widget/src/" + name))(t)
		source += string(text)
	}
	names := func(text, pattern string) (all []string) {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			all = append(all, strings.Fields(strings.NewReplacer("`", " ", ",", " ", " and ", " ").Replace(m[1]))...)
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	without := func(all []string, some ...string) []string {
		return slices.DeleteFunc(all, func(name string) bool { return slices.Contains(some, name) })
	}
	for what, c := range map[string]struct{ guide, code []string }{
		"attributes": {without(names(string(page), "\n\\| `data-([a-z]+)`"), "target", "open", "name"), names(source, `settings = '([a-z ]+)'`)},
		"events":     {names(string(page), "The events are (.+?)\\."), names(source, `#tell\('([a-z]+)'`)},
		"parts":      {names(string(page), "The parts are (.+?)\\."), names(source, `part(?:="| = ')([a-z]+)`)},
		"variables":  {names(string(page), `--parley-([a-z-]+)`), names(source, `var\(--parley-([a-z-]+)`)},
	} {
		if len(c.guide) == 0 || !slices.Equal(c.guide, c.code) {
			t.Errorf("the guide has the %s %q, the widget %q", what, c.guide, c.code)
		}
	}
}
