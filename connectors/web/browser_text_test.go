package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"

	"parley/core/answer"
	"parley/core/llm"
)

// SE-06: nothing that an answer holds runs, or loads anything.
func playHostile(t *testing.T, g *gateway, p *tab) {
	var loaded atomic.Int64
	evil := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { loaded.Add(1) }))
	t.Cleanup(evil.Close)
	corpus := []string{
		"<script>pwned()</script>", "<img src=x onerror=pwned()>", "<svg onload=pwned()>", "<iframe src=EVIL></iframe>",
		"<style>@import 'EVIL'</style>", "<a href=javascript:pwned()>x</a>", "[x](javascript:pwned())", "[x](JaVaScRiPt:pwned())",
		"[x](java\tscript:pwned())", "[x](\x01javascript:pwned())", "[x](data:text/html,<script>pwned()</script>)", "[x](vbscript:pwned())",
		"<javascript:pwned()>", "![secret](EVIL?q=secret)", "![](EVIL?q=secret)", "[![x](EVIL?q=1)](EVIL?q=2)", "![x](data:image/svg+xml,<svg onload=pwned()>)",
		"```<img src=x onerror=pwned()>\n<script>pwned()</script>\n```", "| <img src=EVIL> |\n|---|\n| <img src=x onerror=pwned()> |",
		"[x](/relative)", "[x](//EVIL)", "<link rel=prefetch href=EVIL>", "[x](https://ok.example/\" onclick=\"pwned())", "**<b onclick=pwned()>**",
	}
	p.before(`window.pwned = () => { window.wasPwned = true; };`)
	p.open(g.url)
	p.send("<img src=x onerror=pwned()>")
	r := g.next(t)
	text := strings.ReplaceAll(strings.Join(corpus, "\n\n"), "EVIL", evil.URL)
	r.callback("1", text)
	r.tool("1", answer.Tool{Name: "<img src=x onerror=pwned()>", Stage: answer.StageEnd, Result: text, Error: text},
		llm.File{Type: "image/svg+xml", Data: []byte("<svg onload=pwned()>")}, llm.File{Name: "<img src=x onerror=pwned()>", Type: "text/html", Data: []byte("<script>pwned()</script>")})
	for i := 0; i < len(text); i += 7 {
		r.say(text[i:min(i+7, len(text))])
	}
	r.finish(completed, "")
	p.wait(`all('.answer [aria-label="Copy the answer"]').length === 1`)
	check := func() {
		t.Helper()
		p.is(`window.wasPwned`, "undefined")
		p.is(`all('.message :is(img, script, iframe, style, link, object, embed, form)').length`, "0")
		p.is(`all('.message *').flatMap((node) => node.getAttributeNames()).filter((name) => name.startsWith('on') || name === 'src' || name === 'style').join()`, "")
		p.is(`all('.message a').filter((a) => !/^(https?|mailto):$/.test(a.protocol) || a.origin === location.origin || a.rel !== 'noopener noreferrer').length`, "0")
	}
	check()
	p.is(`all('.message a').length > 0`, "true")
	p.do(chromedp.Reload())
	p.wait(`all('.answer').length === 1`)
	check()
	if n := loaded.Load(); n != 0 {
		t.Errorf("%d requests went to a foreign site", n)
	}
}

// Text in pieces ends as the same page as text in one piece, and what is closed is not drawn again (ST-20).
func playMarkdown(_ *testing.T, g *gateway, p *tab) {
	p.open(g.url)
	p.eval(`import('/markdown.js').then(({ Markdown }) => { window.Markdown = Markdown; })`)
	p.wait(`window.Markdown`)
	texts, err := os.ReadFile(filepath.Join("testdata", "markdown.md"))
	if err != nil {
		p.t.Fatal(err)
	}
	p.eval(fmt.Sprintf(`window.texts = %q.split('\n=====\n')`, string(texts)+told))
	p.is(`(() => {
		const draw = (steps) => {
			const root = document.createElement('div');
			const markdown = new Markdown(root);
			for (const step of steps) { markdown.append(step); markdown.draw(false); }
			markdown.draw(true);
			return root.innerHTML;
		};
		const wrong = texts.filter((text) => draw([...text]) !== draw([text]) || draw(text.split(/(?<=\n)/)) !== draw([text]));
		return wrong.join('\n-----\n');
	})()`, "")
	p.is(`(() => { // where addresses end
		const root = document.createElement('div');
		const markdown = new Markdown(root);
		markdown.append('见https://a.example。再见（https://b.example/文_x_）“https://c.example/y”、https://d.example/*/https://e.example，*so*');
		markdown.draw(true);
		return [...root.querySelectorAll('a, em')].map((node) => node.textContent).join(' ');
	})()`, "https://a.example https://b.example/文_x https://c.example/y https://d.example/*/https://e.example so")
	p.is(`(() => {
		const root = document.createElement('div');
		const markdown = new Markdown(root);
		markdown.append('one<br>two<br />\nthree `+"`<br>`"+`, <b> and <br');
		markdown.draw(false);
		return root.innerHTML;
	})()`, `<p dir="auto">one<br>two<br>three <code>&lt;br&gt;</code>, &lt;b&gt; and </p>`)
	p.is(`(() => {
		const whole = (text) => {
			const root = document.createElement('div');
			const markdown = new Markdown(root);
			markdown.append(text);
			markdown.draw(false);
			return root.innerHTML;
		};
		const root = document.createElement('div');
		const markdown = new Markdown(root);
		const wrong = [];
		for (const text of texts) {
			for (let cut = 0; cut < text.length; cut += 3) {
				for (const now of [text, text.slice(0, cut) + 'other\n\n' + text.slice(cut)]) {
					markdown.replace(now);
					markdown.draw(false);
					if (root.innerHTML !== whole(now)) wrong.push(now);
				}
			}
		}
		return wrong.slice(0, 3).join('\n-----\n');
	})()`, "")
	p.is(`(() => {
		const root = document.createElement('div');
		const markdown = new Markdown(root);
		markdown.append('first\n\n'); markdown.append('second\n\nthird'); markdown.draw(false);
		const first = root.firstChild;
		let drawn = 0;
		for (let i = 0; i < 50000; i++) {
			markdown.append(i % 50 ? 'word ' : '\n\n');
			if (i % 100 === 0) { markdown.draw(false); drawn++; }
		}
		markdown.draw(true);
		return [root.firstChild === first, root.children.length > 900].join();
	})()`, "true,true")
}

// Headings of an answer are below those of the page that shows it, check boxes have labels, and columns of tables are as wide as
// their words, however narrow the page is.
func playOutline(t *testing.T, g *gateway, p *tab) {
	p.do(chromedp.EmulateViewport(390, 844))
	p.open(g.url)
	p.send("outline")
	r := g.next(t)
	r.say("# One\n\n## Two\n\n###### Six\n\n- [x] Buy tea\n- [ ] Drink it\n\n| Internationalization | Responsibilities | Characteristics | Acknowledgements |\n|---|---|---|---|\n| a | b | c | d |\n")
	r.finish(completed, "")
	p.wait(`all('.said .level6').length === 1 && all('.said td').length === 4`)
	p.is(`[...all('.said')[0].querySelectorAll('h1,h2,h3,h4,h5,h6')].map((node) => node.localName).join()`, "h3,h4,h6")
	p.is(`all('.said input').map((box) => box.getAttribute('aria-label')).join()`, "Buy tea,Drink it")
	p.is(`all('.said th').every((cell) => cell.getClientRects()[0].height < 40)`, "true")
	p.is(`all('.said .table')[0].scrollWidth > all('.said .table')[0].clientWidth && document.documentElement.scrollWidth <= innerWidth`, "true")
}
