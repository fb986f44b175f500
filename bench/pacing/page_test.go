package pacing

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"parley/internal/require"
	"strings"
	"testing"
)

const (
	policyHeader = "|---|--:|--:|--:|--:|--:|\n"
	wordsHeader  = "Now:\n\n| limits, round | first text | final state | refused of 20 |\n|---|--:|--:|--:|\n"
)

// page returns docs/engineering/pacing.md with the rows of both tables replaced.
func page(t *testing.T, old string, all []result, words []waits) string {
	t.Helper()
	var policy, waiting strings.Builder
	for i, r := range all {
		if i%len(policies) == 0 {
			fmt.Fprintf(&policy, "| **%s**, floor %.2f s | | | | | |\n", r.scene, r.floor().Seconds())
		}
		fmt.Fprintf(&policy, "| %s | %d | %.2f s | %.2f | %.2f s | %.1f |\n",
			r.policy, r.refused, r.staleness().Seconds(), r.overFloor(), r.lastFinal().Seconds(), r.callsPerAnswer())
	}
	for _, w := range words {
		fmt.Fprintf(&waiting, "| %s, %s | %d / %d | %d / %d | %d |\n", w.limits, w.round,
			quantile(w.firsts, 0.5), quantile(w.firsts, 0.99), quantile(w.finals, 0.5), quantile(w.finals, 0.99), w.refused)
	}
	return withRows(t, withRows(t, old, policyHeader, policy.String()), wordsHeader, waiting.String())
}

// withRows returns page with other rows below a header.
func withRows(t *testing.T, page, header, rows string) string {
	t.Helper()
	before, after, found := strings.Cut(page, header)
	_, after, ended := strings.Cut(after, "\n\n")
	if !found || !ended {
		t.Fatalf("the page has no table with the header %q", header)
	}
	return before + header + rows + "\n" + after
}

// TestPageHasTheTables checks that -update can find its tables.
func TestPageHasTheTables(t *testing.T) {
	old, err := os.ReadFile(pagePath)
	require.NoError(t, err)
	if got := page(t, string(old), nil, nil); strings.Count(got, "\n") >= strings.Count(string(old), "\n") {
		t.Error("replacing the tables by empty ones left all lines; want fewer")
	}
}

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
