package pacing

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

// page is docs/engineering/pacing.md.
func page(all []result, words []waits) string {
	var b strings.Builder
	b.WriteString(intro)
	for i, r := range all {
		if i%len(policies) == 0 {
			fmt.Fprintf(&b, "| **%s**, floor %.2f s | | | | | |\n", r.scene, r.floor().Seconds())
		}
		fmt.Fprintf(&b, "| %s | %d | %.2f s | %.2f | %.2f s | %.1f |\n",
			r.policy, r.refused, r.staleness().Seconds(), r.overFloor(), r.lastFinal().Seconds(), r.callsPerAnswer())
	}
	b.WriteString(before)
	for _, w := range words {
		fmt.Fprintf(&b, "| %s, %s | %d / %d | %d / %d | %d |\n", w.limits, w.round,
			quantile(w.firsts, 0.5), quantile(w.firsts, 0.99), quantile(w.finals, 0.5), quantile(w.finals, 0.99), w.refused)
	}
	b.WriteString(outro)
	return b.String()
}

// The text of the page is the text here; its numbers are those of the last update.
func TestTextOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/engineering/pacing.md")
	if err != nil {
		t.Fatal(err)
	}
	if text := string(page); !strings.HasPrefix(text, intro) || !strings.Contains(text, before) || !strings.HasSuffix(text, outro) {
		t.Error("the page has another text: change it here too, or run this test with -update")
	}
}

const intro = `# Pacing: how old is the text that people see?

Many answers stream at once through one bot, and the platform limits the bot's requests. A policy decides which chat is updated next. The
measure is *staleness*: the age of the oldest character that has been generated but not shown, averaged over the time in
which answers are in progress. It can't be less than the *floor*, which is half of the time between two updates of a chat: its
edit interval, or chats ÷ 30 s if the chats share the bot's own limit. In private chats, where one of five permits in 5.5 s is left to the
final state, that is 5.5 ÷ 4 ÷ 2 = 0.69 s.

![Staleness by number of chats](pacing.svg)

| Policy | Refused (429) | Staleness | ÷ floor | Slowest final | Requests per answer |
|---|--:|--:|--:|--:|--:|
`

const before = `
## First text and final state

Twenty people ask a question each, within twenty seconds, of a model that thinks for up to three seconds and then writes 20 tokens a second; then
once more; then each gets an answer of three messages at 200 tokens a second. A request takes 2 to 4 ms. Limits are off, as above (on), or one
request a second in each chat (strict), which refusals have to teach. The times in ms are p50 / p99: from 24 characters to the message that shows
them, and from the last token to the request that shows it. Before the changes of
[decision 10](adr/0010-the-last-word-has-its-permit-and-refusals-teach.md):

| limits, round | first text | final state | refused of 20 |
|---|--:|--:|--:|
| off, first | 2 / 2 | 323 / 1059 | 0 |
| off, second | 2 / 2 | 322 / 1057 | 0 |
| off, three messages | 2 / 2 | 414 / 1082 | 0 |
| on, first | 2 / 2 | 323 / 1059 | 0 |
| on, second | 2 / 2 | 322 / 1057 | 0 |
| on, three messages | 2 / 2 | 414 / 1082 | 0 |
| strict 1/s, first | 2 / 1005 | 2 / 324 | 28 |
| strict 1/s, second | 2 / 1006 | 1 / 323 | 28 |
| strict 1/s, three messages | 1004 / 1005 | 6066 / 7008 | 40 |

Now:

| limits, round | first text | final state | refused of 20 |
|---|--:|--:|--:|
`

const outro = `
Without permits left, a final state waits for one: under the strict limit for half a second on average, and as long for each further message. At 591 ms,
the final state of one answer had begun a message more than the last edit could know of.

## After a refusal

A platform that refuses 45 requests in flight together, with a wait of R seconds, closes the bot for R seconds. When they are over, the 45
requests are repeated within a second, and so is any new one: nothing is slower than before, because nothing that was accepted has shown what pace
is too fast. ` + "`" + `go test ./progressive -run TestBurst` + "`" + ` measures it for waits of 1 to 30 s, for a bot of 50 requests a second:

| | before | now |
|---|--:|--:|
| a new chat, after 45 refusals of 5 s | more than 60 s | 0 to 1 s |
| a new chat, after one refusal of 3 s in a quiet bot | one request per 3 s, for 5 minutes | at once |
| other chats, while one is refused again and again | slowed with their kind, after it has once learned | at once |

## What is simulated

By ` + "`" + `go test ./bench/pacing -run TestPacing -update` + "`" + `, on a simulated clock:

- The platform accepts 30 requests of the bot in any second, 5 per private chat in any 5 seconds, and 20 per group in
  any minute. It answers further requests with 429 and a wait in whole seconds. Requests during the wait are refused and
  don't extend it, though real platforms are less patient. A request takes 40 to 120 ms and is counted halfway.
- Answers of about 2,400 tokens follow each other in every chat, at 40 tokens a second. With a thousand chats it is 3 tokens a second,
  because the final edits of a thousand fast answers alone would exceed the bot's limit. Each answer is one
  message: splits cost all policies the same.
- "Parley" is the real message and gate code with the Telegram connector's budgets. "1 s per message" edits each message once a
  second, "40 tokens" after every 40 new tokens, and "doubling on error" begins with one second and doubles the interval
  after each refusal. These three try again at their next turn and ignore the wait that the platform asks for.

The goals, checked for up to a hundred chats in every test run: no request is refused; staleness is at most 1.25
times the floor; a final edit waits for an edit that is on its way, and for nothing else until a hundred chats share the bot's limit; and no naive
policy makes fewer requests, unless its text is more than twice as old.

Doubling saves requests once its pauses are long: it makes 15.3 per answer in a hundred private chats and 14.4 in a hundred
groups, about four of them refused. No policy can make fewer and stay near the floor. If n requests are spread evenly over the 60 s of an
answer, the text is on average 60 ÷ 2n seconds old, plus half a request, 0.04 s. For 1.2 times the floor, n must be 60 ÷ 2(1.2 × 1.67 − 0.04) =
15.3 in private chats and 60 ÷ 2(1.2 × 1.75 − 0.04) = 14.6 in groups, not counting the early first text and the immediate final edit.
These account for the two or so requests that Parley makes in addition.

In groups the 20 requests per minute are scarce, and edits must not use them up. Three answers in 40 seconds did, and the
next question then had neither a first text nor a typing indicator for 11 seconds. Therefore stream edits leave a fifth of the budget,
4 of 20, to everything else. An action line must leave 3 of these, a first text 2, the reply to a command 1, and a final edit none.
Typing stops as soon as half of the budget is used. One of the reserved permits can be borrowed if another one is returned within
60 ÷ 20 = 3 s. Edits use their 16 permits evenly: with u requests in the last minute, of which the oldest expires in t seconds, the
next edit follows (t − 3) ÷ (16 − u + 1) seconds after the last request, but not before the chat's edit interval of 3.5 s after the last edit. An answer that is alone in
its group is edited every (60 − 3) ÷ 16 = 3.6 s. After six other requests in a row it is every (60 − 3) ÷ 11 = 5.2 s, and
after thirteen every (60 − 3) ÷ 4 = 14 s. An answer of 60 s has 16.8 requests. The first text shows little, and the final state comes soon after an
edit, so the others leave 60 ÷ 14.8 = 4.1 s between two updates, which is 4.1 ÷ 2 + 0.08 = 2.11 s of staleness: 1.21 times the floor. It was
1.13 times while the final state waited for its turn like an edit, up to 3.3 s.

Staleness stays above the floor for three reasons. First, a window is counted from the end of a request, because
it is unknown when the platform counted it, so each permit also costs the time of a request. Second, the first text and the final
edit of an answer are sent as soon as possible instead of when it is the chat's turn. With a head start of 1 s for first
texts, instead of 30 s, a hundred private chats reach 1.11 times the floor with as many requests, but with a thousand chats each answer would begin
half a minute late. Shorter answers are therefore further from the floor: with 900 tokens each, a hundred private chats reach 1.29 times the floor (set ` + "`" + `tokens` + "`" + ` in the test to try this; with requests that take 50 to 150 ms, 1.37). Third,
the text that is shown was read half a request earlier.
`

const (
	width, height = 900, 420
	left, top     = 70, 60
	panel, gap    = 380, 40 // the width of each, and what is between them
	tall          = 290
	least, most   = 0.3, 300.0 // seconds
)

var colours = []string{"#1a7f5a", "#c2571a", "#7a4fbf", "#2f6db5"}

// plot is docs/engineering/pacing.svg: staleness by number of chats, both on logarithmic scales.
func plot(all []result) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="system-ui, sans-serif" font-size="13">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", width, height)
	fmt.Fprintf(&b, `<text x="%d" y="24" font-size="16" font-weight="600">Staleness of what people see, in seconds, by chats that stream at once</text>`+"\n", left)
	for i, title := range []string{"private chats", "groups"} {
		x := float64(left + i*(panel+gap))
		axes(&b, x, title)
		var these []result
		for _, r := range all {
			if r.group == (i == 1) {
				these = append(these, r)
			}
		}
		lines(&b, x, these)
	}
	for i, p := range append(policies, policy{name: "floor"}) {
		x := left + i*165
		fmt.Fprintf(&b, `<path d="M%d %dh24" %s/><text x="%d" y="%d">%s</text>`+"\n", x, height-18, stroke(i), x+30, height-14, p.name)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func stroke(i int) string {
	if i >= len(colours) {
		return `stroke="#555" stroke-dasharray="5 4" fill="none"`
	}
	return fmt.Sprintf(`stroke=%q stroke-width="%.1f" fill="none"`, colours[i], cmp.Or(3-float64(min(i, 1)), 1))
}

func axes(b *strings.Builder, x float64, title string) {
	fmt.Fprintf(b, `<text x="%.0f" y="%d" font-weight="600">%s</text>`+"\n", x, top-12, title)
	for _, s := range []float64{0.5, 1, 2, 5, 10, 20, 50, 100} {
		fmt.Fprintf(b, `<path d="M%.0f %.1fh%d" stroke="#ddd"/><text x="%.0f" y="%.1f" text-anchor="end" fill="#555">%g</text>`+"\n",
			x, y(s), panel, x-6, y(s)+4, s)
	}
	for _, n := range []int{1, 10, 100, 1000} {
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle" fill="#555">%d</text>`+"\n", x+across(n), top+tall+18, n)
	}
}

func across(chats int) float64 { return 20 + math.Log10(float64(chats))/3*(panel-40) }

func y(seconds float64) float64 {
	return top + tall*(1-math.Log(seconds/least)/math.Log(most/least))
}

func lines(b *strings.Builder, x float64, all []result) {
	draw := func(i int, value func(result) float64) {
		var path strings.Builder
		for j := i % len(policies); j < len(all); j += len(policies) {
			at := fmt.Sprintf("%.1f %.1f", x+across(all[j].chats), y(value(all[j])))
			fmt.Fprintf(&path, "%s%s", map[bool]string{true: "M", false: "L"}[path.Len() == 0], at)
		}
		fmt.Fprintf(b, `<path d="%s" %s/>`+"\n", path.String(), stroke(i))
	}
	draw(len(policies), func(r result) float64 { return r.floor().Seconds() })
	for i := range policies {
		draw(i, func(r result) float64 { return r.staleness().Seconds() })
	}
}
