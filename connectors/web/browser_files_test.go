package web_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"parley/core/answer"
	"parley/core/llm"
)

// silence is a second of nothing, as a WAV.
func silence() llm.File {
	const rate = 8000
	b := []byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00")
	b = binary.LittleEndian.AppendUint32(b, rate)
	b = binary.LittleEndian.AppendUint32(b, rate)
	b = append(b, "\x01\x00\x08\x00data"...)
	b = binary.LittleEndian.AppendUint32(b, rate)
	b = append(b, strings.Repeat("\x80", rate)...)
	binary.LittleEndian.PutUint32(b[4:], uint32(len(b)-8))
	return llm.File{Name: "dunes.wav", Type: "audio/wav", Data: b}
}

// plays starts the player of a file and waits until it is heard. It asks again, because a page that is still busy with
// its history can replace a player that has just begun.
func (p *tab) plays() {
	p.t.Helper()
	p.wait(`((a) => a.error ? a.load() : a.currentTime > 0 || (a.paused && a.play().catch(() => {}), false))(all('audio')[0])`)
}

// saving notes what a page gives the browser to keep, in place of keeping it.
const saving = `
window.saved = [];
window.live = new Map();
const make = URL.createObjectURL, end = URL.revokeObjectURL, later = setTimeout;
URL.createObjectURL = (blob) => { const url = make(blob); live.set(url, blob); return url; };
URL.revokeObjectURL = (url) => { live.delete(url); end(url); };
window.setTimeout = (f, ms, ...rest) => later(f, ms === 10000 ? 50 : ms, ...rest);
HTMLAnchorElement.prototype.click = function () {
	const note = { name: this.download, type: live.get(this.href).type, url: this.href };
	live.get(this.href).text().then((text) => saved.push({ ...note, text }));
};
`

// save presses the chip of a file, and says what the browser was given.
func (p *tab) save(name string) string {
	p.t.Helper()
	p.eval(`window.saved = [], ''`)
	p.wait(fmt.Sprintf(`(all('.save').find((chip) => chip.title === %q)?.click(), true)`, name))
	p.wait(`saved.length && !live.has(saved[0].url)`) // and it is let go of
	return p.eval(`[saved.length, saved[0].name, saved[0].type, saved[0].text, saved[0].url.split(':')[0]].join('|')`)
}

// Files of every kind stand below the answer while it is written, and after a reload: for saving, and what can be heard, for
// hearing. Nothing of them runs or is opened, whatever it is called (SE-05, SE-06).
func playFiles(t *testing.T, g *gateway, p *tab) {
	long := "the quarterly report of everything that was shipped, returned and shipped again, with annexes.pdf"
	evil := llm.File{Name: `<img src=x onerror=pwned()>.html`, Type: "text/html; charset=utf-8", Data: []byte("<script>pwned()</script>")}
	song, report := silence(), llm.File{Name: long, Type: "application/pdf", Data: []byte(strings.Repeat("%PDF", 600))}
	drawing := llm.File{Name: "drawing.svg", Type: "image/svg+xml", Data: []byte("<svg onload=pwned()>")}
	hebrew := llm.File{Name: "דוח.csv", Type: "text/csv", Data: []byte("a,b")}
	nameless := llm.File{Type: "application/octet-stream", Data: []byte("x")}
	g.keep(onePixel(), report, evil, drawing, hebrew, nameless, song)
	p.before(saving + `window.pwned = () => { window.wasPwned = true; };`)
	p.open(g.url)
	p.send("play")
	r := g.next(t)
	r.tool("1", answer.Tool{Name: "MAKE", Stage: answer.StageStart})
	r.tool("1", answer.Tool{Name: "MAKE", Stage: answer.StageRunning, Parameters: "{}", ShortResult: "half way"})
	r.Apply(answer.Change{Kind: answer.Callback, Call: "1", Text: "A draft", Files: []llm.File{{Name: "draft.txt", Type: "text/plain", Data: []byte("draft")}}})
	p.wait(`shown('.save .name').includes('draft')`)
	p.shows(".tool summary", "half way")
	if got := p.save("draft.txt"); got != "1|draft.txt|application/octet-stream|draft|blob" {
		t.Errorf("saved %s", got)
	}
	r.Apply(answer.Change{Kind: answer.Callback, Call: "1", Text: "Playing", Files: []llm.File{onePixel(), report, evil, drawing, hebrew, nameless, song}})
	p.wait(`all('.save').length === 6`)
	p.is(`all('.save').map((chip) => chip.querySelector('.size').textContent).join()`, "2.4 kB,24 bytes,20 bytes,3 bytes,1 byte,8.0 kB")
	p.is(`all('.save')[3].querySelector('.name').matches(':dir(rtl)')`, "true")
	p.is(`all('.pictures img').length`, "1")
	p.is(`all('audio').map((a) => [a.controls, a.preload, a.src.split(':')[0]].join()).join('|')`, "true,none,blob")
	p.eval(`window.player = all('audio')[0], ''`)
	hear := func() {
		t.Helper()
		p.eval(`all('audio')[0].load()`)
		p.plays()
	}
	hear()
	r.callback("1", "Gone")
	p.wait(`all('.save').length === 0 && live.size === 0`)
	r.Apply(answer.Change{Kind: answer.Callback, Call: "1", Text: "Playing", Files: []llm.File{onePixel(), report, evil, drawing, hebrew, nameless, song}})
	p.wait(`all('.save').length === 6`)
	p.eval(`window.player = all('audio')[0], ''`)
	r.tool("1", answer.Tool{Name: "MAKE", Stage: answer.StageEnd, Success: true}, onePixel(), report, evil, drawing, hebrew, nameless, song)
	r.Apply(answer.Change{Kind: answer.Text, Step: 1, Text: "There you are."})
	p.shows(".answer .text", "There you are.")
	p.is(`window.player === all('audio')[0]`, "true") // playback continues
	r.finish(completed, "")
	p.wait(`all('.answer [aria-label="Copy the answer"]').length === 1`)
	look := func(name string) {
		t.Helper()
		p.is(`all('.save .name').map((name) => name.textContent).join('|')`,
			strings.Join([]string{report.Name, evil.Name, "drawing.svg", hebrew.Name, "file", "dunes.wav"}, "|"))
		p.is(`all('.message :is(script, iframe, object, embed, form)').length + all('.saves :is(img, a, svg :not(path))').length`, "0")
		p.shots(name)
		for _, width := range []int64{1200, 360} {
			p.do(chromedp.EmulateViewport(width, 740))
			p.eval(`(all('.scroller')[0].scrollTop = 1e6, '')`)
			p.is(`all('.scroller')[0].scrollWidth <= all('.scroller')[0].clientWidth && all('.saves *').every((node) => node.getBoundingClientRect().right <= innerWidth)`, "true")
			p.is(`(() => { const end = all('.save .name > :last-child')[0]; return end.textContent === '.pdf' && end.scrollWidth <= end.offsetWidth && end.offsetWidth > 10; })()`, "true")
			p.shot(fmt.Sprint(name, "-", width))
		}
		p.media("dark")
		p.shot(name + "-360-dark")
		p.media("light")
		p.do(chromedp.EmulateViewport(1200, 800))
	}
	look("files")
	const drawn = `all('.shown')[0].outerHTML.replace(/src="[^"]*"/g, '')`
	live := p.eval(drawn)

	p.do(chromedp.Reload())
	p.wait(`all('.answer').length === 1 && all('.pictures img')[0]?.naturalWidth === 1`)
	p.is(drawn, live)
	look("files-reloaded")
	for _, f := range []llm.File{evil, report, hebrew} {
		if got, want := p.save(f.Name), "1|"+f.Name+"|application/octet-stream|"+string(f.Data)+"|blob"; got != want {
			t.Errorf("saved %s, not %s", got, want)
		}
	}
	p.is(`all('audio')[0].src.startsWith(location.origin + '/api/conversations/')`, "true")
	hear()
	p.is(`window.wasPwned`, "undefined")
	p.is(`location.pathname`, "/")

	g.keep()
	p.offline.Store(true)
	p.wait(`(all('.save')[0].click(), true)`)
	p.shows(".notice", "is not there any more.")
}

// What an action shows is an answer without a word.
func playFilesAlone(t *testing.T, g *gateway, p *tab) {
	g.keep(silence())
	p.open(g.url)
	p.send("play")
	r := g.next(t)
	r.tool("1", answer.Tool{Name: "PLAY", Stage: answer.StageStart})
	r.tool("1", answer.Tool{Name: "PLAY", Stage: answer.StageEnd, Success: true}, silence())
	r.finish(completed, "")
	check := func() {
		t.Helper()
		p.wait(`all('.save').length === 1 && all('.stop')[0].hidden && all('.status').every((line) => line.hidden)`)
		p.is(`shown('.note') + all('.answer [aria-label="Copy the answer"]').length`, "0")
	}
	check()
	p.shots("files-alone")
	p.do(chromedp.Reload())
	p.wait(`all('.answer').length === 1`)
	check()

	p.send("take it back")
	r = g.next(t)
	r.tool("1", answer.Tool{Name: "PLAY", Stage: answer.StageStart})
	r.Apply(answer.Change{Kind: answer.Callback, Call: "1", Text: "Wait", Files: []llm.File{silence()}})
	p.wait(`all('.save').length === 2`)
	r.End(answer.Outcome{Status: answer.Superseded, Withdrawn: true})
	p.wait(`all('.save').length === 1 && all('.note').length === 1`)
}
