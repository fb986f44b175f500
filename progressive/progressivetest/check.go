package progressivetest

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"parley/internal/lang"
	"parley/progressive"
)

// Close says that the answer is over: every later request is a problem (I5).
func (c *Chat) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
}

// Open lets another holder go on, who does not know what is shown.
func (c *Chat) Open() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = false
	for _, m := range c.messages {
		m.unsure = true
	}
}

// Problems are the rules that were broken so far.
func (c *Chat) Problems() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.problems...)
}

func (c *Chat) problem(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// check holds a request against the rules as it leaves.
func (c *Chat) check(r Request) {
	if c.closed {
		c.problem("I5: %s %q after the end", r.Op, r.Part.Plain)
	}
	if c.inside > 0 {
		c.problem("I4: %s while another request is under way", r.Op)
	}
	for _, s := range c.Scopes(r.Op) {
		if left := time.Until(c.held[s]); left > 0 {
			c.problem("I6: %s with %v of a hold on %s to go", r.Op, left, s)
		}
	}
	if r.Op == progressive.Typing || r.Op == progressive.Delete {
		return
	}
	if m := c.find(r.ID); m != nil && (m.now.File == nil) != (r.Part.File == nil) {
		c.problem("%s shows %q and is asked to show %q", r.ID, m.versions[len(m.versions)-1], says(r.Part))
	}
	text := says(r.Part)
	if n := len(strings.TrimSuffix(text, "\n\n"+lang.Voice{}.Say("message.repeated"))); c.Max > 0 && n > c.Max {
		c.problem("I7: %s of %d units", r.Op, n)
	}
	if strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) }) == "" {
		c.problem("ST-14: %s of %q", r.Op, text)
	}
	switch r.Op {
	case progressive.Post:
		c.checkOrder(r.Nonce)
	case progressive.Draft:
		if left := time.Until(c.drafts.until); c.drafts.text == text && left > DraftTime/2 && !c.drafts.unsure {
			c.problem("ST-14: a draft that is shown already for %v more: %q", left, text)
		}
	case progressive.Edit:
		if m := c.find(r.ID); m != nil && m.versions[len(m.versions)-1] == text && !m.unsure && !differs(m.now, r.Part) {
			c.problem("ST-14: an edit to what is shown already: %q", text)
		}
	}
}

// checkOrder wants the part before this one to have been asked for (I8).
func (c *Chat) checkOrder(nonce string) {
	var run string
	var part int
	if at := strings.LastIndexByte(strings.TrimSuffix(nonce, "/again"), '/'); at >= 0 {
		run = nonce[:at]
		_, _ = fmt.Sscan(strings.TrimSuffix(nonce[at+1:], "/again"), &part)
	}
	if part == 0 {
		return
	}
	for _, r := range c.log {
		if r.Op == progressive.Post && strings.HasPrefix(r.Nonce, fmt.Sprintf("%s/%d", run, part-1)) {
			return
		}
	}
	c.problem("I8: part %d before part %d", part, part-1)
}

// count charges a request that arrives now to the limits.
func (c *Chat) count() {
	if c.counted == nil {
		c.counted = map[progressive.Scope][]time.Time{}
	}
	for _, s := range c.Scopes(progressive.Post) {
		kind, _, _ := strings.Cut(string(s), "/")
		b := c.Limits[progressive.Scope(kind)]
		all := append(c.counted[s], time.Now())
		c.counted[s] = all
		if n := len(all); b.N > 0 && n > b.N && all[n-1].Sub(all[n-1-b.N]) < b.Per {
			c.problem("%d requests to %s within %v", b.N+1, s, all[n-1].Sub(all[n-1-b.N]))
		}
	}
}

// Budget is the budget of a scope by its kind, for [progressive.NewGate].
func (c *Chat) Budget(s progressive.Scope) progressive.Budget {
	kind, _, _ := strings.Cut(string(s), "/")
	return c.Limits[progressive.Scope(kind)]
}

// differs reports whether a and b show other files or options.
func differs(a, b progressive.Part) bool {
	file := func(p progressive.Part) string {
		if p.File == nil {
			return ""
		}
		return string(p.File.Data)
	}
	offer := func(p progressive.Part) string {
		if p.Offer == nil {
			return ""
		}
		return p.Offer.ID
	}
	return file(a) != file(b) || offer(a) != offer(b)
}
