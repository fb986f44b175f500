package web_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"parley/connectors/web"
	"parley/internal/require"
)

// examples returns the fenced blocks of a language in the guide for embedding, for a gateway at an address.
func examples(t *testing.T, language, gateway string) (blocks []string) {
	t.Helper()
	page := require.Value(os.ReadFile("../../docs/embed.md"))(t)
	for _, m := range regexp.MustCompile("(?s)\n```"+language+"\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		blocks = append(blocks, strings.ReplaceAll(m[1], "http://127.0.0.1:8080", gateway))
	}
	return blocks
}

// example returns the only block of a language with a word in it.
func example(t *testing.T, language, word, gateway string) string {
	t.Helper()
	var found []string
	for _, b := range examples(t, language, gateway) {
		if strings.Contains(b, word) {
			found = append(found, b)
		}
	}
	if len(found) != 1 {
		t.Fatalf("docs/embed.md has %d blocks of %s with %q; want 1", len(found), language, word)
	}
	return found[0]
}

// serving is a site whose only page is body. It returns the site's address.
func serving(t *testing.T, body func() string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(rw, body())
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// exampleSite starts a gateway that a site with the page can use.
func exampleSite(t *testing.T, page func(gateway net.Listener) string) (*gateway, string) {
	t.Helper()
	l := listen(t, "127.0.0.1:0")
	shop := serving(t, func() string { return page(l) })
	return start(t, newBackend(), l, func(o *web.Options) { o.Origins = []string{shop} }), shop
}

// The plain page of the guide opens the chat and sends the visitor's question.
func playHTMLExample(t *testing.T, p *tab) {
	g, shop := exampleSite(t, func(l net.Listener) string { return example(t, "html", "<!doctype", "http://"+l.Addr().String()) })
	p.do(chromedp.Navigate(shop))
	p.wait(`all('.launcher').length`)
	p.eval(`document.querySelector('#ask').click()`)
	r := g.next(t)
	r.finish(completed, "Two are left.")
	p.shows(".answer .text", "Two are left.")
	p.shows(".question", "Is this lamp in stock?")
}

// The component of the guide adds one chat, also if React mounts it twice, and the conversation continues in an element that an app removes and
// adds again.
func playReactExample(t *testing.T, p *tab) {
	g, shop := exampleSite(t, func(l net.Listener) string {
		code := example(t, "jsx", "useEffect", "http://"+l.Addr().String())
		code = regexp.MustCompile(`(?m)^(import .*|export )`).ReplaceAllString(code, "")
		return "<!doctype html><meta charset=utf-8><title>App</title><div id=root></div><script>const useEffect = (run) => { run(); run() }\n" + code + "\nChat(); Chat()</script>"
	})
	p.do(chromedp.Navigate(shop))
	p.wait(`all('.launcher').length`)
	p.is(`document.scripts.length + ',' + all('parley-chat').length`, "2,1")
	p.eval(`parley.send('hello')`)
	g.next(t).finish(completed, "Welcome.")
	p.shows(".answer .text", "Welcome.")
	p.eval(`history.pushState({}, '', '/cart'), document.querySelector('#root').replaceChildren('The cart')`)
	p.is(`shown('.answer .text') + all('.panel')[0].hidden`, "Welcome.false")
}

// A script with data-page adds no chat; an element that is removed and rendered again continues its conversation.
func playElementExample(t *testing.T, p *tab) {
	g, shop := exampleSite(t, func(l net.Listener) string {
		return "<!doctype html><meta charset=utf-8><title>App</title><div id=root></div><script src=http://" + l.Addr().String() + "/widget.js data-page></script>"
	})
	p.do(chromedp.Navigate(shop))
	render := `document.querySelector('#root').innerHTML = '<parley-chat inline="" agent="Parley" style="height: 500px"></parley-chat>'`
	p.eval(render)
	p.wait(`all('textarea').length && !all('.empty')[0].hidden`)
	p.is(`all('.launcher').length + ',' + all('parley-chat').length`, "0,1")
	p.send("hello")
	g.next(t).finish(completed, "Welcome.")
	p.shows(".answer .text", "Welcome.")
	p.eval(`document.querySelector('#root').replaceChildren()`)
	p.wait(`parley.places.size === 0`)
	p.eval(render)
	p.shows(".answer .text", "Welcome.")
}

// The page of a gateway in the guide's frame is shown on a listed site, which keeps the focus.
func playFrameExample(t *testing.T, p *tab) {
	_, shop := exampleSite(t, func(l net.Listener) string {
		return "<!doctype html><meta charset=utf-8><title>Shop</title><input>" + example(t, "html", "<iframe", "http://"+l.Addr().String())
	})
	p.before(`if (window.top !== window) setInterval(() => { if (document.querySelector('parley-chat')?.shadowRoot?.querySelector('textarea')) top.postMessage('the chat is shown', '*') }, 50)
		else addEventListener('message', ({ data }) => { window.told = data })
		document.addEventListener('DOMContentLoaded', () => document.querySelector('input')?.focus())`)
	p.do(chromedp.Navigate(shop))
	p.wait(`window.told === 'the chat is shown'`)
	p.is(`document.activeElement.localName`, "input")
}

// The examples of the guide name only attributes, events and calls that the widget has.
func TestEmbedExamplesNameWhatExists(t *testing.T) {
	source := require.Value(os.ReadFile("widget/src/widget.ts"))(t)
	settings := regexp.MustCompile(`settings = '([a-z ]+)'`).FindSubmatch(source)
	if settings == nil {
		t.Fatal("the widget has no list of settings; want one")
	}
	attributes := map[string]bool{"target": true, "open": true, "name": true, "page": true}
	for _, name := range strings.Fields(string(settings[1])) {
		attributes[name] = true
	}
	n := 0
	for _, language := range []string{"html", "jsx", "php"} {
		for _, b := range examples(t, language, "") {
			for _, m := range regexp.MustCompile(`(?:data-|dataset\.)([a-z]+)`).FindAllStringSubmatch(b, -1) {
				if n++; !attributes[m[1]] {
					t.Errorf("an example has the attribute data-%s, which the widget doesn't read", m[1])
				}
			}
			for _, m := range regexp.MustCompile(`parley\.(?:on\("([a-z]+)"|([a-z]+)\()`).FindAllStringSubmatch(b, -1) {
				if n++; m[1] != "" && !strings.Contains(string(source), "#tell('"+m[1]+"'") || m[2] != "" && !regexp.MustCompile(`\b`+m[2]+`[(:]`).Match(source) {
					t.Errorf("an example has %s, which the widget doesn't have", m[0])
				}
			}
		}
	}
	if n < 5 {
		t.Errorf("only %d names were found", n)
	}
}
