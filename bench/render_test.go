//go:build unix

package bench

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"parley/core/answer"
	"parley/progressive"
	"parley/progressive/markdown"
)

// prosaic is what models write: all kinds of blocks, again and again.
const prosaic = "## A heading\n\nSome **bold** text with `code`, and [a link](https://example.org/a) in a sentence of some length.\n\n" +
	"- one item\n- and *another* one\n\n```go\nfunc run() error {\n\treturn errors.New(\"no\")\n}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"

// BenchmarkRender is what it takes to show answers that are written at 20 and 200 tokens of 4 bytes a second, one edit a
// second each: with what was kept of the edit before, or from nothing each time. A hundred answers are of all lengths up
// to the given one.
func BenchmarkRender(b *testing.B) {
	for _, again := range []bool{false, true} {
		for _, size := range []int{2_000, 20_000, 200_000} {
			for _, rate := range []int{20, 200} {
				for _, answers := range []int{1, 100} {
					name := fmt.Sprintf("parse=%s/bytes=%d/rate=%d/answers=%d", map[bool]string{false: "new", true: "all"}[again], size, rate, answers)
					b.Run(name, func(b *testing.B) { renders(b, again, size, 4*rate, answers) })
				}
			}
		}
	}
}

// renders shows answers of up to size bytes for some seconds, in which each grows by step.
func renders(b *testing.B, again bool, size, step, answers int) {
	text := strings.Repeat(prosaic, size/len(prosaic)+1)[:size]
	var used time.Duration
	var before, after runtime.MemStats
	var bytes uint64
	const seconds = 2
	for b.Loop() {
		shows, ats := make([]*progressive.MarkdownMessages, answers), make([]int, answers)
		for i := range shows {
			shows[i], ats[i] = prose(), max(0, size*(2*i+1)/(2*answers)-step)
			shows[i].Parts(view(text[:ats[i]]))
		}
		runtime.ReadMemStats(&before)
		began := cpuTime(b)
		for n := range seconds * answers {
			i := n % answers
			if again {
				shows[i] = prose()
			}
			ats[i] = min(ats[i]+step, size)
			shows[i].Parts(view(text[:ats[i]]))
		}
		used += cpuTime(b) - began
		runtime.ReadMemStats(&after)
		bytes += after.TotalAlloc - before.TotalAlloc
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(used)/float64(time.Millisecond)/float64(seconds*b.N), "cpu-ms/s")
	b.ReportMetric(float64(bytes)/1024/float64(seconds*b.N), "KB/s")
}

func prose() *progressive.MarkdownMessages {
	return progressive.NewMarkdownMessages(progressive.MarkdownOptions{Dialect: markdown.HTML(markdown.HTMLOptions{Spoiler: "tg-spoiler"}),
		Limits: markdown.Limits{Length: 4000, Raw: 32<<10 - 64, Entities: 90}, LongCode: progressive.InFile})
}

func view(text string) answer.View {
	return answer.View{Segments: []answer.Segment{{Text: text}}}
}
