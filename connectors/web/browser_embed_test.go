package web_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/golang-jwt/jwt/v5"

	"parley/connectors/web"
	"parley/connectors/web/identity"
	"parley/core/answer"
	"parley/core/llm"
	"parley/internal/lang"
	"parley/internal/require"
)

// site is another site's page that holds the chat once for each of attributes. Its own styles are loud, and its policy is strict.
func site(t *testing.T, gateway net.Listener, attributes ...string) string {
	t.Helper()
	from := "http://" + gateway.Addr().String()
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			rw.Header().Set("Content-Security-Policy", strings.ReplaceAll("default-src 'none'; img-src 'self' data:; media-src GATEWAY blob:; style-src 'self' GATEWAY; "+
				"script-src GATEWAY; connect-src GATEWAY", "GATEWAY", from))
			_, _ = fmt.Fprintf(rw, `<!doctype html><title>Shop</title><link rel=stylesheet href=/shop.css><h1>A shop</h1>
				<p>It sells things.</p><div id=here></div><div id=there></div>`)
			for _, a := range attributes {
				_, _ = fmt.Fprintf(rw, `<script src="%s/widget.js" data-agent=Ada %s></script>`, from, a)
			}
		case "/shop.css":
			rw.Header().Set("Content-Type", "text/css")
			_, _ = rw.Write([]byte("html { font-size: 62.5%; direction: rtl } * { color: red; text-transform: uppercase; letter-spacing: 3px; visibility: hidden } " +
				"body { text-align: right; cursor: wait } #here, #there { height: 400px }"))
		default:
			rw.WriteHeader(http.StatusNoContent)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func playTarget(t *testing.T, p *tab) {
	l := listen(t, "127.0.0.1:0")
	shop := site(t, l, `data-target="#here" data-theme=dark`)
	g := start(t, newBackend(), l, func(o *web.Options) { o.Origins = []string{shop} })
	p.before(saving)
	p.open(shop)
	p.is(`document.querySelector('#here > parley-chat').clientHeight`, "400")
	p.is(`all('.launcher').length`, "0")
	p.send("hello")
	g.next(t).finish(completed, "Welcome.")
	p.wait(`shown('.answer .text') === 'Welcome.'`)
	p.is(`['color', 'textTransform', 'letterSpacing', 'visibility', 'direction', 'fontSize'].map((name) => getComputedStyle(all('.answer .text')[0])[name]).join()`,
		"rgb(237, 234, 229),none,normal,visible,ltr,16px")
	p.is(`['.head h1', '.avatar'].map((name) => getComputedStyle(all(name)[0])[name === '.avatar' ? 'width' : 'fontSize']).join()`, "16px,32px")
	p.shot("target")

	g.keep(silence(), llm.File{Name: "a.txt", Type: "text/plain", Data: []byte("text")}) // what it shows can be heard and saved there too
	p.send("play")
	r := g.next(t)
	r.tool("1", answer.Tool{Name: "PLAY", Stage: answer.StageStart})
	r.tool("1", answer.Tool{Name: "PLAY", Stage: answer.StageEnd, Success: true}, silence(), llm.File{Name: "a.txt", Type: "text/plain", Data: []byte("text")})
	r.finish(completed, "")
	for range 2 {
		p.wait(`all('audio').length === 1`)
		p.plays()
		if got := p.save("a.txt"); got != "1|a.txt|application/octet-stream|text|blob" {
			t.Errorf("saved %s", got)
		}
		p.open(shop)
	}
}

func playEmbedded(t *testing.T, p *tab) {
	l := listen(t, "127.0.0.1:0")
	shop := site(t, l, `data-name="Grace Hopper"`)
	g := start(t, newBackend(), l, func(o *web.Options) { o.Origins = []string{shop} })
	p.do(chromedp.Navigate(shop))
	p.wait(`all('.launcher').length && !all('.bubble')[0].hidden`)
	p.is(`all('.launcher')[0].getAttribute('aria-label')`, "Chat with Ada")
	p.is(`['visibility', 'direction', 'letterSpacing', 'cursor'].map((name) => getComputedStyle(all('.launcher')[0])[name]).join()`,
		"visible,ltr,normal,pointer")
	p.is(`all('.launcher')[0].getBoundingClientRect().width + ',' + (innerWidth - all('.launcher')[0].getBoundingClientRect().right)`, "56,20")
	p.click(".launcher")
	p.wait(`all('.empty').length && !all('.empty')[0].hidden && !all('.chat')[0].hidden`)
	p.send("hello")
	r := g.next(t)
	r.say("Welcome to the shop. What are you looking for?")
	p.shows(".answer .text", "Welcome to the shop.")
	p.shots("embedded")
	p.click(`[aria-label="Close the chat"]`)
	p.wait(`all('.panel')[0].hidden`)
	p.is(`all('.launcher')[0].getRootNode().activeElement === all('.launcher')[0]`, "true")
	r.finish(completed, "")
	p.wait(`all('.launcher.unread')[0]?.getAttribute('aria-label') === 'Chat with Ada, 1 new'`)
	p.do(chromedp.Reload()) // it is still unread
	p.wait(`all('.launcher.unread')[0]?.getAttribute('aria-label') === 'Chat with Ada, 1 new' && all('.launcher')[0].dataset.unread === '1' && all('.panel')[0].hidden`)
	p.click(".launcher")
	p.wait(`!all('.panel')[0].hidden && !all('.launcher.unread').length`)
	p.press("Escape", "", false) // nothing is written that it could stop
	p.wait(`all('.panel')[0].hidden`)
	p.do(chromedp.Reload())
	p.wait(`all('.launcher').length && !all('.bubble')[0].hidden`)
	p.click(".launcher")
	p.shows(".answer .text", "Welcome to the shop.")

	names := []string{r.question.Name}
	for _, identify := range []string{`parley.identify({name: 'Ada'})`, `parley.identify({})`} {
		p.eval(identify)
		p.send("and now?")
		r := g.next(t)
		r.finish(completed, "Now it is "+identify)
		p.wait(`all('.answer .text').at(-1).textContent.startsWith('Now it is ' + ` + "`" + identify + "`" + `)`)
		names = append(names, r.question.Name)
	}
	if !slices.Equal(names, []string{"Grace Hopper", "Ada", ""}) {
		t.Errorf("the visitor is called %q", names)
	}
}

// playAccounts signs in and out on a page: the conversation of before is offered to the account, which keeps it, and after signing out the
// browser is a new visitor.
func playAccounts(t *testing.T, p *tab) {
	const secret = "a secret of the shop, of 32 bytes"
	accounts, err := identity.NewSite(identity.SiteConfig{Secret: secret, Audience: "shop"})
	require.NoError(t, err)
	account := func(name string) string {
		token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
			"sub": name, "aud": "shop", "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
		}).SignedString([]byte(secret))
		require.NoError(t, err)
		return token
	}
	token := account("ada")
	l := listen(t, "127.0.0.1:0")
	shop := site(t, l, "data-open")
	g := start(t, newBackend(), l, func(o *web.Options) { o.Origins, o.Site, o.Public = []string{shop}, accounts, true })
	p.offline.Store(true)                                                                                                                 // a conversation of another account is an error to the console
	p.before(`const later = setTimeout; window.setTimeout = (f, ms, ...rest) => later(f, ms === 500 || ms === 5000 ? 1e9 : ms, ...rest)`) // a switch shows at once
	p.do(chromedp.Navigate(shop))
	p.wait(`all('.empty').length && !all('.empty')[0].hidden && !all('.chat')[0].hidden`)
	p.send("hello")
	g.next(t).finish(completed, "Welcome, stranger.")
	p.shows(".answer .text", "Welcome, stranger.")
	p.eval(`window.asked = []`)
	p.eval(`window.confirm = (text) => asked.push(text) > 0`)
	p.eval(`parley.identify({name: 'Ada', token: '` + token + `'})`)
	p.wait(`asked.length === 1 && all('.answer .text').length === 1 && all('.answer .text')[0].textContent === 'Welcome, stranger.'`)
	p.is(`asked[0]`, "Keep your earlier conversations in your account?")
	p.send("who am I?")
	g.next(t).finish(completed, "You are Ada.")
	p.wait(`all('.answer .text').at(-1).textContent === 'You are Ada.' && all('.stop')[0].hidden`)
	p.eval(`parley.identify({token: '` + account("bob") + `'})`)
	p.wait(`!all('.empty')[0].hidden && all('.message').length === 0`)
	p.send("who am I?")
	g.next(t).finish(completed, "You are Bob.")
	p.shows(".answer .text", "You are Bob.")
	p.eval(`parley.identify({})`)
	p.wait(`!all('.empty')[0].hidden && all('.answer').length === 0`)
	p.send("and now?")
	r := g.next(t)
	r.finish(completed, "Hello, stranger.")
	p.wait(`all('.answer .text').length === 1 && all('.answer .text')[0].textContent === 'Hello, stranger.'`)
	if string(r.question.Author) == "web/user/ada" {
		t.Errorf("after signing out, the visitor is %s", r.question.Author)
	}
	p.eval(`window.confirm = (text) => asked.push(text) === 0`)
	p.eval(`parley.identify({token: '` + token + `'})`)
	p.wait(`asked.length === 2 && !all('.empty')[0].hidden && all('.answer').length === 0`) // it is not wanted
}

func playForbidden(t *testing.T, p *tab) {
	p.offline.Store(true)
	l := listen(t, "127.0.0.1:0")
	shop := site(t, l, "")
	g := start(t, newBackend(), l, func(o *web.Options) { o.Origins = []string{"https://another.example"} })
	p.do(chromedp.Navigate(shop))
	p.wait(`all('.launcher').length && !all('.bubble')[0].hidden`)
	p.click(".launcher")
	p.wait(`all('.empty').length && !all('.empty')[0].hidden && !all('.chat')[0].hidden`)
	p.send("hello")
	p.shows(".notice", "not set up for this site")
	p.is(`all('textarea')[0].value`, "hello")
	p.complains("add \"" + shop + "\" to web.origins")
	if len(g.asked) != 0 {
		t.Error("a site that is not listed reached the agent")
	}
	p.eval(`localStorage.setItem('parley:http://` + l.Addr().String() + `/', '0123456789abcdef0123456789abcdef')`) // it was listed once
	p.do(chromedp.Reload())
	p.wait(`all('.launcher').length && !all('.bubble')[0].hidden`)
	p.click(".launcher")
	p.shows(".notice", "not set up for this site")
	p.complains("web.origins")
}

// Two chats on one page have a conversation each, also after a reload, and one button in the corner is enough.
func playTwoEmbeds(t *testing.T, p *tab) {
	l := listen(t, "127.0.0.1:0")
	shop := site(t, l, `data-target="#here"`, `data-target="#there"`, "", "")
	g := start(t, newBackend(), l, func(o *web.Options) { o.Origins = []string{shop} })
	p.do(chromedp.Navigate(shop))
	p.wait(`all('.launcher').length === 1 && all('parley-chat').length === 3 && all('.empty').length === 2 && all('.empty').every((e) => !e.hidden)`)
	p.complains("this page has the chat already")
	const chat = `document.querySelector("#%[1]s parley-chat").shadowRoot`
	for _, place := range []string{"here", "there"} {
		p.eval(fmt.Sprintf(chat+`.querySelector('textarea').value = 'I am %[1]s', `+chat+`.querySelector('form').requestSubmit()`, place))
		g.next(t).finish(completed, "You are "+place+".")
		p.wait(fmt.Sprintf(chat+`.querySelector('.answer .text')?.textContent === 'You are %[1]s.'`, place))
	}
	p.do(chromedp.Reload())
	p.wait(`all('parley-chat').length === 3`)
	for _, place := range []string{"here", "there"} {
		p.wait(fmt.Sprintf(chat+`.querySelector('.answer .text')?.textContent === 'You are %[1]s.' && `+chat+`.querySelectorAll('.answer').length === 1`, place))
	}
	p.complains("this page has the chat already")
}

// A target that is not there, or is no selector, is told to the page's author in the console.
func playWrongTarget(t *testing.T, p *tab) {
	l := listen(t, "127.0.0.1:0")
	shop := site(t, l, `data-target="#nowhere"`, `data-target="[]"`)
	start(t, newBackend(), l, func(o *web.Options) { o.Origins = []string{shop} })
	p.do(chromedp.Navigate(shop))
	p.complains(`nothing on this page matches data-target="#nowhere"`)
	p.complains(`nothing on this page matches data-target="[]"`)
	p.is(`all('parley-chat').length`, "0")
}

// Each attribute that is changed on the page to try them loads the chat with it, and the line to copy has it too.
func playTry(t *testing.T, p *tab) {
	g := start(t, newBackend(), listen(t, "127.0.0.1:0"), nil)
	p.do(chromedp.Navigate(g.url + "/try"))
	p.wait(`all('.launcher').length === 1`)
	line := func(attributes string) {
		t.Helper()
		p.wait(`document.querySelector('#line').innerText === '<script src="` + g.url + `/widget.js"` + attributes + `></script>'`)
	}
	choose := func(name, value string) {
		t.Helper()
		p.eval(`(() => { const field = document.querySelector('[name=` + name + `]'); if (field.type === 'checkbox') field.checked = true; else field.value = '` + value + `'; field.dispatchEvent(new Event('change', { bubbles: true })); return ''; })()`)
		loaded := false
		for until := time.Now().Add(patience); !loaded && time.Now().Before(until); time.Sleep(20 * time.Millisecond) { // a poll ends with the page
			loaded, _ = chromedp.Run(p.ctx, chromedp.Evaluate[bool](`location.search.includes('`+name+`=') && document.readyState === 'complete' && all('parley-chat').length === 1`))
		}
		if !loaded {
			t.Fatalf("%s=%s loads no chat", name, value)
		}
	}
	line("")
	p.is(`all('.launcher')[0].getAttribute('aria-label')`, "Chat with Parley")
	choose("agent", "Bea")
	p.wait(`all('.launcher')[0]?.getAttribute('aria-label') === 'Chat with Bea'`)
	choose("position", "left")
	p.is(`all('.launcher')[0].getBoundingClientRect().left`, "20")
	choose("locale", "de")
	choose("theme", "dark")
	p.is(`getComputedStyle(all('parley-chat')[0]).colorScheme`, "dark")
	choose("open", "open")
	p.shows(".empty h2", "Hallo, ich bin Bea.")
	p.is(`getComputedStyle(all('.chat')[0]).backgroundColor`, "rgb(23, 22, 21)")
	choose("greeting", "Ahoi!")
	p.shows(".empty h2", "Ahoi!")
	choose("suggestions", "Tee|Saft")
	p.shows(".empty .chip", "Tee\nSaft")
	choose("privacy", "Wir speichern nichts.")
	p.shows(".privacy", "Wir speichern nichts.")
	choose("accent", "teal")
	p.wait(`getComputedStyle(all('.launcher')[0]).backgroundColor === 'rgb(0, 128, 128)'`)
	line(` data-agent="Bea" data-theme="dark" data-position="left" data-locale="de" data-accent="teal" data-greeting="Ahoi!" data-suggestions="Tee|Saft" data-privacy="Wir speichern nichts." data-open`)
	choose("target", "#target")
	p.wait(`document.querySelector('#target > parley-chat') && all('.launcher').length === 0`)
	p.shot("try")
}

// prefers sets the languages of the browser, as in Accept-Language.
func (p *tab) prefers(languages string) {
	p.t.Helper()
	_, err := chromedp.Call(p.ctx, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{UserAgent: p.eval(`navigator.userAgent`), AcceptLanguage: languages})
	require.NoError(p.t, err)
}

// requests lists the files of the chat that a page has requested, with what requested each.
const requests = `performance.getEntriesByType('resource').filter(({ name }) => /chat-|words/.test(name)).map(({ name, initiatorType }) => name.replace(/.*\//, '').replace(/-.*js/, '') + ' ' + initiatorType).sort().join()`

// The gateway's own page requests the code and the texts of the chat with its HTML, each once, in the best language of the browser.
func playPreload(t *testing.T, g *gateway, p *tab) {
	for languages, want := range map[string]string{"de-AT,de": "de-AT", "fi,pt-BR": "pt-BR", "fi": "en"} {
		p.prefers(languages)
		p.open(g.url)
		p.is(requests, "chat other,words.json?"+want+" link")
		p.is(`document.documentElement.lang + all('textarea')[0].placeholder`, want+lang.In(want).Say("page.write", "agent", "Parley"))
	}
}

// The chat works on a page that has a language that is no valid tag, as WordPress does, that unsets
// all styles, and in a browser without idle callbacks.
func playOddPage(t *testing.T, p *tab) {
	g, shop := exampleSite(t, func(l net.Listener) string {
		return `<!doctype html><html lang=pt-PT-ao90><meta charset=utf-8><title>Shop</title><style>* { all: unset }</style><script src=http://` + l.Addr().String() + `/widget.js data-theme=dark></script><p>Shop</p>`
	})
	p.before(`delete window.requestIdleCallback`)
	p.do(chromedp.Navigate(shop))
	p.wait(`all('.launcher').length === 1`)
	p.click(".launcher")
	p.wait(`all('.empty').length && !all('.empty')[0].hidden`)
	p.is(`getComputedStyle(all('.chat')[0]).backgroundColor + all('.panel')[0].checkVisibility()`, "rgb(23, 22, 21)true")
	p.send("hello")
	g.next(t).finish(completed, "Welcome.")
	p.shows(".answer .text", "Welcome.")
	p.wait(`all('time').length === 2`)
	p.do(chromedp.Reload()) // loaded for its unread answers
	p.wait(`all('.answer').length === 1`)
}
