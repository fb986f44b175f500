package web_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/require"
)

// fill enters a value into the field with a label.
const fill = `
window.field = (label) => { const found = all('.form label').find((one) => one.innerText.trim().startsWith(label)); return found.getRootNode().getElementById(found.htmlFor) ?? found.querySelector('input'); };
window.pick = (label, names) => { const input = field(label); input.files = ` + transfer + `.files; input.dispatchEvent(new Event('change', { bubbles: true })); };
window.fill = (label, value) => { const node = field(label); node.value = value; node.dispatchEvent(new Event('input', { bubbles: true })); };
`

// All fields are one form, by the keyboard too. It has the reasons for values that don't fit, and a reload keeps what was typed.
func playForm(t *testing.T, g *gateway, p *tab) {
	p.offline.Store(true) // a refusal is an error to the console
	source := require.Value(os.ReadFile(filepath.Join(packages(t), "node_modules", "axe-core", "axe.min.js")))(t)
	p.before(string(source))
	p.before(fill)
	p.open(g.url)
	p.send("a table, please")
	r := g.next(t)
	r.say("Let me book a table.\n\n**Guests**") // the question of the first field, for clients without forms
	least, most := 1.0, 8.0
	r.b.mu.Lock()
	r.b.open["form"] = r
	r.b.mu.Unlock()
	r.Apply(answer.Change{Kind: answer.ChoicesChanged, Choices: &answer.Choices{ID: "form", Options: []string{"Inside", "Garden", "No"}, Other: "Fill in", Fields: []answer.Field{
		{Name: "guests", Title: "Guests", Kind: answer.IntegerField, Min: &least, Max: &most}, {Name: "day", Title: "Day", Kind: answer.DateField},
		{Name: "room", Title: "Where", Kind: answer.ChoiceField, Options: []string{"Inside", "Garden"}},
		{Name: "extras", Title: "Extras", Kind: answer.ChoicesField, Options: []string{"Candles", "<b>Dog</b>"}, Optional: true},
		{Name: "constructor", Title: "Anything else", Kind: answer.TextField, Optional: true},
		{Name: "photo", Title: "Photo", Kind: answer.FileField, Accept: []string{"image/gif", "text/plain"}},
	}}})
	p.wait(`all('.form .field').length === 6 && all('.form .chip').length === 2`)
	p.is(`shown('.answer .said').trim()`, "Let me book a table.")
	p.is(`['Guests', 'Day', 'Where', 'Anything else'].map((label) => field(label).type + field(label).required).join()`, "numbertrue,datetrue,select-onetrue,textareafalse")
	p.is(`shown('.form legend') + all('.form b').length + all('.form .wrong:not([hidden])').length`, "Extras00")
	p.shots("form")
	p.eval(`(pick('Photo', ['first.txt']), '')`)
	p.wait(`shown('.form .attached .name') === 'first.txt' && all('.form .attached progress:not([hidden])').length === 0`)
	p.eval(`(pick('Photo', ['milk.txt']), '')`) // it replaces the first one
	p.wait(`shown('.form .attached .name') === 'milk.txt' && all('.form .attached progress:not([hidden])').length === 0`)
	p.is(`field('Photo').accept + field('Photo').multiple`, "image/gif,text/plainfalse")
	p.eval(`(fill('Guests', '3'), fill('Day', '2026-12-24'), fill('Where', 'Garden'), fill('Anything', 'one\ntwo'), field('<b>Dog').click(), '')`)
	p.do(chromedp.EmulateViewport(320, 400))
	p.do(chromedp.Reload())
	p.wait(`all('.form').length === 1 && Math.abs(all('.form')[0].getBoundingClientRect().top - all('.scroller')[0].getBoundingClientRect().top - 96) < 2`)
	p.do(chromedp.EmulateViewport(1200, 800))
	p.wait(`all('.form .field').length === 6 && field('Where').value === 'Garden' && field('<b>Dog').checked && shown('.form .attached .name') === 'milk.txt'`)

	r.b.mu.Lock()
	r.b.unfit = map[string]string{"day": "please write a date, such as 2026-12-31."}
	r.b.mu.Unlock()
	p.eval(`(field('Guests').focus(), '')`)
	p.enter()
	p.wait(`shown('.form .wrong:not([hidden])') === 'please write a date, such as 2026-12-31.' && field('Day').matches(':focus, :focus-within') && all('.form [aria-invalid]').length === 1`)
	p.accessible("form")
	p.do(chromedp.EmulateViewport(320, 640))
	p.is(`all('.scroller')[0].scrollWidth <= all('.scroller')[0].clientWidth`, "true")
	p.do(chromedp.EmulateViewport(1200, 800))
	p.eval(`(fill('Day', '2026-12-25'), field('Guests').focus(), '')`)
	p.enter()
	if c, want := g.choice(t), answer.JoinValues("3", "2026-12-25", "Garden", "<b>Dog</b>", "one\ntwo", ""); c.Question != "form" || c.Words != want || len(c.Files) != 1 || c.Files[0].Field != "photo" || c.Files[0].Name != "milk.txt" {
		t.Errorf("chosen %+v; want %q and milk.txt", c, want)
	}
	p.wait(`all('.form > fieldset:disabled').length === 1`)
	r.goOn()
	p.wait(`all('.form').length === 0`)
	r.say("\n\nGuests: 3")
	r.finish(completed, "")
	p.wait(`shown('.answer .text').includes('Guests: 3')`)
}

// A form of a message that comes unasked, as outside of the opening hours, is sent as its answer, and not to the agent.
func playUnaskedForm(t *testing.T, g *gateway, p *tab) {
	p.offline.Store(true) // a refusal is an error to the console
	p.before(fill)
	p.before(`const later = setTimeout; window.setTimeout = (f, ms, ...rest) => later(f, ms === 5000 ? 1e9 : ms, ...rest)`) // the form comes sooner
	p.open(g.url)
	p.send("/person")
	r := g.next(t)
	leave := chat.Question{ID: "leave", Run: "run/leave", Options: []string{"No"}, Other: "Fill in", Fields: []answer.Field{
		{Name: "address", Title: "Address", Kind: answer.TextField}, {Name: "text", Title: "Message", Kind: answer.TextField},
	}}
	r.b.mu.Lock()
	r.finishLocked(completed, "People are here on Mondays.")
	asker := &reply{b: r.b}
	asker.Apply(answer.Change{Kind: answer.ChoicesChanged, Choices: leave.Choices()})
	r.b.open["leave"], r.b.asks, r.b.unfit = asker, []chat.Question{leave}, map[string]string{"address": "it is too long."}
	r.b.said[r.question.Room] = append(r.b.said[r.question.Room], chat.Memory{ID: chat.Run{ID: leave.Run}.Said(), Room: r.question.Room, Author: "agent", Text: "Leave a message.", At: time.Now()})
	r.b.mu.Unlock()
	p.shows(".answer .text", "People are here on Mondays.")
	p.wait(`all('.form .field').length === 2`)
	p.eval(`(fill('Address', 'ada@example.org'), fill('Message', 'Call me'), all('.form [type=submit]')[0].click(), '')`)
	p.wait(`shown('.form .wrong:not([hidden])') === 'it is too long.' && !field('Address').matches(':disabled')`)
	p.click(`.form [type=submit]`)
	if c, want := g.choice(t), answer.JoinValues("ada@example.org", "Call me"); c.Question != "leave" || c.Words != want {
		t.Errorf("chosen %+v; want %q", c, want)
	}
}

// away is a visitor who looks at another window, and asked a minute ago; notices are the notifications.
const away = `
window.notices = [];
window.Notification = class {
  static permission = 'default';
  static requestPermission = async () => { window.Notification.permission = 'granted'; return 'granted'; };
  constructor(title, { body }) { notices.push(title + ': ' + body); }
  addEventListener() {}
};
Object.defineProperty(Document.prototype, 'hidden', { get: () => Boolean(window.leaving) });
const now = Date.now;
Date.now = () => now() + (window.leaving ?? 0);
`

// The end of a long answer is a notification where the visitor allowed it, unless they look.
func playNotifications(t *testing.T, g *gateway, p *tab) {
	p.before(away)
	p.open(g.url)
	p.send("one")
	g.next(t).finish(completed, "Seen.")
	p.shows(".answer .text", "Seen.")
	p.click(`[aria-label="More"]`)
	p.wait(`all('.menu button').length === 3`)
	p.is(`shown('.menu button:last-child')`, "Notifications are off")
	p.click(`.menu button:last-child`)
	p.wait(`shown('.menu button:last-child') === 'Notifications are on' && all('.menu button')[2].ariaPressed === 'true'`)
	p.shots("notifications")
	p.send("two")
	r := g.next(t)
	p.eval(`(leaving = 31000, '')`)
	r.finish(completed, "**Your table** is booked. See you.")
	p.wait(`notices.length === 1`)
	p.is(`notices[0]`, "Parley: Your table is booked.")
	p.eval(`(leaving = 0, '')`)
	p.send("three")
	g.next(t).finish(completed, "Seen again.")
	p.wait(`shown('.answer:last-child .text') === 'Seen again.'`)
	p.is(`notices.length`, "1")
}
