package web_test

import (
	"testing"

	"github.com/chromedp/chromedp"

	"parley/connectors/connectortest"
	"parley/connectors/web"
	"parley/connectors/web/login"
	"parley/core/chat"
	"parley/internal/require"
)

// The owner logs in with a code, chats as the owner on the gateway's page, as a visitor on a page of the same site that shows
// the chat, and logs out (SE-24).
func playLogIn(t *testing.T, p *tab) {
	p.offline.Store(true) // a wrong code is a failed request
	l, memo := listen(t, "127.0.0.1:0"), &connectortest.Memory{}
	shop := site(t, l, `data-target="#here"`)
	g := start(t, newBackend(), l, func(o *web.Options) { o.Origins, o.Memo = []string{shop}, memo })
	code := require.Value(login.Sessions{Store: memo}.NewCode(t.Context()))(t)
	enter := func(code string) {
		p.eval(`document.querySelector('#code').value = '` + code + `', document.querySelector('form button').click()`)
	}
	p.do(chromedp.Navigate(g.url + "/login"))
	p.wait(`!document.querySelector('form').hidden`)
	enter("AAAA-BBBB-CCCC")
	p.wait(`document.querySelector('[role=status]').innerText.includes('This code is wrong')`)
	enter(code)
	p.wait(`!document.querySelector('section').hidden`)
	p.is(`document.cookie`, "")
	p.shot("login")
	asks := func(url string, want func(chat.EntityID) bool) {
		t.Helper()
		p.open(url)
		p.send("hello")
		r := g.next(t)
		if got := r.question.Author; !want(got) {
			t.Errorf("at %s the author is %q", url, got)
		}
		r.finish(completed, "Hello.")
		p.wait(`shown('.answer .text').endsWith('Hello.')`)
	}
	owner := func(id chat.EntityID) bool { return id == web.Owner }
	visitor := func(id chat.EntityID) bool { return id != web.Owner }
	asks(g.url, owner)
	asks(shop, visitor)
	p.do(chromedp.Navigate(g.url + "/login"))
	p.wait(`!document.querySelector('section').hidden`)
	p.eval(`document.querySelector('section button').click()`)
	p.wait(`!document.querySelector('form').hidden`)
	asks(g.url, visitor)
}
