package web_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"parley/connectors/web"
	"parley/core"
)

// site is a page of somebody else's that holds the chat. Its own styles are loud, and its policy is strict.
func site(t *testing.T, gateway net.Listener, attributes string) string {
	t.Helper()
	from := "http://" + gateway.Addr().String()
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			rw.Header().Set("Content-Security-Policy", strings.ReplaceAll("default-src 'none'; img-src 'self' data:; media-src GATEWAY blob:; style-src 'self' GATEWAY; "+
				"script-src GATEWAY; connect-src GATEWAY", "GATEWAY", from))
			_, _ = fmt.Fprintf(rw, `<!doctype html><title>Shop</title><link rel=stylesheet href=/shop.css><h1>A shop</h1>
				<p>It sells things.</p><div id=here></div><script src="%s/widget.js" data-agent=Ada %s></script>`, from, attributes)
		case "/shop.css":
			rw.Header().Set("Content-Type", "text/css")
			_, _ = rw.Write([]byte("* { color: red; text-transform: uppercase; letter-spacing: 3px } #here { height: 400px }"))
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
	p.is(`['color', 'textTransform', 'letterSpacing'].map((name) => getComputedStyle(all('.answer .text')[0])[name]).join()`,
		"rgb(235, 232, 227),none,normal")
	p.shot("target")

	g.keep(silence(), core.Blob{Name: "a.txt", Type: "text/plain", Data: []byte("text")}) // what it shows can be heard and saved there too
	p.send("play")
	r := g.next(t)
	r.tool("1", core.Tool{Name: "PLAY", Stage: core.StageStart})
	r.tool("1", core.Tool{Name: "PLAY", Stage: core.StageEnd, Success: true}, silence(), core.Blob{Name: "a.txt", Type: "text/plain", Data: []byte("text")})
	r.finish(completed, "")
	for range 2 {
		p.wait(`all('audio').length === 1 && (all('audio')[0].play().catch(() => {}), true)`)
		p.wait(`all('audio')[0].currentTime > 0`)
		if got := p.save("a.txt"); got != "1|a.txt|application/octet-stream|text|blob" {
			t.Errorf("saved %s", got)
		}
		p.open(shop)
	}
}

func playEmbedded(t *testing.T, p *tab) {
	l := listen(t, "127.0.0.1:0")
	shop := site(t, l, "")
	g := start(t, newBackend(), l, func(o *web.Options) { o.Origins = []string{shop} })
	p.do(chromedp.Navigate(shop))
	p.wait(`all('.launcher').length && !all('.bubble')[0].hidden`)
	p.is(`all('.launcher')[0].getAttribute('aria-label')`, "Chat with Ada")
	p.click(".launcher")
	p.wait(`all('.empty').length && !all('.empty')[0].hidden && !all('.chat')[0].hidden`)
	p.send("hello")
	r := g.next(t)
	r.say("Welcome to the shop. What are you looking for?")
	p.shows(".answer .text", "Welcome to the shop.")
	p.shots("embedded")
	p.press("Escape", "", false)
	p.wait(`all('.panel')[0].hidden`)
	p.is(`all('.launcher')[0].getRootNode().activeElement === all('.launcher')[0]`, "true")
	r.finish(completed, "")
	p.wait(`all('.launcher.unread').length`)
	p.click(".launcher")
	p.wait(`!all('.panel')[0].hidden && !all('.launcher.unread').length`)
	p.do(chromedp.Reload())
	p.wait(`all('.launcher').length && !all('.bubble')[0].hidden`)
	p.click(".launcher")
	p.shows(".answer .text", "Welcome to the shop.")
}

func playForbidden(t *testing.T, p *tab) {
	p.offline = true
	l := listen(t, "127.0.0.1:0")
	shop := site(t, l, "")
	g := start(t, newBackend(), l, func(o *web.Options) { o.Origins = []string{"https://another.example"} })
	p.do(chromedp.Navigate(shop))
	p.wait(`all('.launcher').length && !all('.bubble')[0].hidden`)
	p.click(".launcher")
	p.wait(`all('.empty').length && !all('.empty')[0].hidden && !all('.chat')[0].hidden`)
	p.send("hello")
	p.shows(".status", "Reconnecting…")
	p.shows(".status", "can’t be reached")
	if len(g.asked) != 0 {
		t.Error("a site that is not listed reached the agent")
	}
}
