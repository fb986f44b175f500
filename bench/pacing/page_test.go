package pacing

import (
	"cmp"
	"fmt"
	"math"
	"strings"
)

// page is docs/engineering/pacing.md.
func page(all []result) string {
	var b strings.Builder
	b.WriteString(intro)
	for i, r := range all {
		if i%len(policies) == 0 {
			fmt.Fprintf(&b, "| **%s**, floor %.2f s | | | | | |\n", r.scene, r.floor().Seconds())
		}
		fmt.Fprintf(&b, "| %s | %d | %.2f s | %.2f | %.2f s | %.1f |\n",
			r.policy, r.refused, r.staleness().Seconds(), r.overFloor(), r.lastFinal().Seconds(), r.callsPerAnswer())
	}
	b.WriteString(outro)
	return b.String()
}

const intro = `# How old is the text that people see?

Many answers stream at once through one bot whose platform limits it. A policy decides which chat is updated next. The
measure is *staleness*: the age of the oldest character that was made and is not shown yet, averaged over the time in
which answers are on their way. It can't be less than the *floor*, half of the time between two updates of a chat: its
edit interval, or chats ÷ 30 where the bot's own limit is what they share.

![Staleness by number of chats](pacing.svg)

| Policy | Refused (429) | Staleness | ÷ floor | Slowest last word | Requests per answer |
|---|--:|--:|--:|--:|--:|
`

const outro = `
What is simulated, by ` + "`" + `go test ./bench/pacing -run TestPacing -update` + "`" + `, on a clock of its own:

- The platform lets in 30 requests of the bot in any second, 5 of a private chat in any 5 seconds, and 20 of a group in
  any minute, and answers more than that with 429 and a wait in whole seconds. Requests during the wait are refused and
  make it no longer, though real platforms are less patient. A request takes 40 to 120 ms and counts halfway.
- Answers of about 2,400 tokens follow each other in every chat, at 40 tokens a second; for the thousand chats at 3,
  because the last words of a thousand fast answers alone would be more than a bot may send. Each answer is one
  message: splits cost all policies the same.
- Parley is its real message and gate with the Telegram connector's budgets. "1 s per message" edits each message once a
  second, "40 tokens" whenever there are so many more, and "doubling on error" begins with a second and takes twice as
  long after each refusal. They try again at their next turn, without a look at the wait they were told.

The goals, checked for up to a hundred chats with every run of the tests: nothing is refused; staleness is at most 1.2
times the floor; no last word takes longer than the floor and one permit of its chat; and no naive policy makes fewer
requests, unless its text is more than twice as old.

Doubling saves requests where it has come to long pauses: 15.3 for an answer in a hundred private chats and 14.4 in a hundred
groups, about four of them refused. Nobody can have fewer and stay near the floor. What n requests show at even times of the 60 s that
an answer takes is 60 ÷ 2n seconds old, and half a request, 0.04 s. For 1.2 times the floor n must be 60 ÷ 2(1.2 × 1.67 − 0.04) =
15.3 in private chats and 60 ÷ 2(1.2 × 1.75 − 0.04) = 14.6 in groups, without one for an early first text or a last word at once.
Those are the two or so that we make more.

In groups the 20 requests of a minute are scarce, and edits must not use them up: three answers in 40 seconds did, and the
next question then saw neither a first text nor a typing sign for 11 seconds. So stream edits leave a fifth of the minute,
4 of 20, to everything else. Of these a line about an action leaves 3, a first text 2, the answer to a command 1, and a last word none;
typing stops as soon as half of the minute is spent. One of the permits that are left may be borrowed if another is back within
60 ÷ 20 = 3 s. Edits take their 16 evenly: with u requests in the last minute, of which the oldest stops counting in t seconds, the
next edit comes (t − 3) ÷ (16 − u + 1) seconds after the last request, but not before the 3.5 s of the chat's edits. An answer that is alone in
its group is edited every (60 − 3) ÷ 16 = 3.6 s, as before. After six other requests in a row it is every (60 − 3) ÷ 11 = 5.2 s, and
after thirteen every (60 − 3) ÷ 4 = 14 s. An answer of 60 s has 16.8 requests. The first text shows little, so the others leave
60 ÷ 15.8 = 3.8 s between two updates, which is 3.8 ÷ 2 + 0.08 = 1.98 s of staleness: 1.13 times the floor, within the goal of 1.2. A reserve of
5 comes to 1.2, with nothing to spare.

Staleness stays above the floor for three reasons. A window is counted from the end of a request, because
nobody knows when the platform counted it, so each permit costs the time of a request too. The first text and the last
word of an answer come as soon as they can instead of when it is the chat's turn: with a head start of one second for first
texts, not thirty, a hundred private chats come to 1.11 times the floor with as many requests, but in a thousand each answer would begin
half a minute late. So shorter answers are further from the floor: with 900 tokens each, a hundred private chats come to 1.29 times it (set ` + "`tokens`" + ` in the test to try; with requests that took 50 to 150 ms they came to 1.37). And
what is shown was read half a request ago.
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
