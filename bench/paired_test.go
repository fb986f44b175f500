//go:build linux

package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"parley/internal/require"
)

const pairedBursts = 6

// BenchmarkPaired compares builds of the gateway, whose paths PARLEY_RIVALS lists like PATH does. All of them are alive at once, each with a
// database and fakes of its own. In each round, a thousand chats of each ask an instant model one question, one program after
// the other, and the CPU time of an answer is compared with the first program's in the same round. So
// other work on the machine, which changes from minute to minute, disturbs all of them alike. Then a hundred chats at once ask a slow
// model, as in Load, several times.
func BenchmarkPaired(b *testing.B) {
	var builds []*paired
	for i, path := range filepath.SplitList(os.Getenv("PARLEY_RIVALS")) {
		builds = append(builds, &paired{rival: rival{name: fmt.Sprint(i + 1), program: path, arguments: gatewayArguments}})
	}
	if len(builds) < 2 {
		b.Skip("SKIPPED: PARLEY_RIVALS names no two programs")
	}
	needFiles(b, uint64(5*loadChats*len(builds)))
	for _, p := range builds {
		var stop func()
		p.stage, p.pid, stop = p.start(b)
		defer stop()
		if p.pid == 0 {
			return
		}
		p.round(b, 0) // rooms and people are new only once
	}
	for n := 1; b.Loop(); n++ {
		for i := range builds {
			builds[(i+n)%len(builds)].round(b, n)
		}
	}
	for n := range pairedBursts {
		for i := range builds {
			p := builds[(i+n)%len(builds)]
			p.burst(b, p.stage)
		}
	}
	b.ReportMetric(0, "ns/op") // of no meaning
	for _, p := range builds {
		p.compare(b, builds[0])
	}
}

// paired is a program that is alive beside others.
type paired struct {
	rival
	stage *stage
	pid   int
}

// round lets all chats ask once. Round 0 does not count.
func (p *paired) round(b *testing.B, n int) {
	before := processTime(b, p.pid)
	require.NoError(b, p.stage.each(loadChats, func(i int) error {
		_, err := p.stage.ask(i, fmt.Sprintf("instant question %d of number %d", n, i))
		return err
	}))
	if n > 0 {
		p.cpu = append(p.cpu, ms(processTime(b, p.pid)-before)/loadChats)
	}
}

// compare reports the lowest CPU time of an answer in a round, and how the rounds' relate to those of the first program.
func (p *paired) compare(b *testing.B, first *paired) {
	var ratios []float64
	for i, cpu := range p.cpu {
		ratios = append(ratios, cpu/first.cpu[i])
	}
	slices.Sort(ratios)
	b.ReportMetric(slices.Min(p.cpu), p.name+"-lowest-cpu-ms/answer")
	b.ReportMetric(median(ratios), p.name+"-to-1")
	b.ReportMetric(ms(quantile(p.first, 0.5)), p.name+"-first-ms-p50")
	b.ReportMetric(ms(quantile(p.done, 0.5)), p.name+"-done-ms-p50")
	b.Logf("%s: %s: quartiles %.2f and %.2f of the first, rounds %.2f ms", p.name, p.program, ratios[len(ratios)/4], ratios[len(ratios)*3/4], p.cpu)
}
