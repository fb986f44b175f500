package quota

import (
	"testing"
	"time"

	"parley/core/llm"
)

func TestAmountsAreReadExactly(t *testing.T) {
	for text, want := range map[string]USD{"0": 0, "0.50": 5e8, "12": 12e9, "0.000000001": 1, "1000000": 1e15} {
		if got, err := ParseUSD(text); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", ".5", "5.", "-1", "1e3", "0.0000000001", "1000001", "1000000.000000001", "1,5", "9999999999999999999999", "0x1", "1.2.3"} {
		if got, err := ParseUSD(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
	if got, err := ParseRate("0.0375"); err != nil || got != 37500 {
		t.Errorf("the rate is %d, %v; want 37500", got, err)
	}
	if got, err := ParseRate("0.0000001"); err == nil {
		t.Errorf("a rate with seven decimals is %d", got)
	}
}

func TestAmountsAreShown(t *testing.T) {
	for amount, want := range map[USD]string{
		0: "$0.00", 1: "$0.000000001", 12: "$0.000000012", 1_500: "$0.0000015", 1_234_567: "$0.0013", 12_300_000: "$0.013", 99_000_000: "$0.099",
		99_900_000: "$0.100", 100_000_000: "$0.10", 1_001_000_000: "$1.01", 12 * Dollar: "$12.00", 1234*Dollar + 500_000_000: "$1234.50", -Dollar: "-$1.00",
	} {
		if got := amount.String(); got != want {
			t.Errorf("%d is %s, not %s", amount, got, want)
		}
	}
}

func TestCostsOfCalls(t *testing.T) {
	sonnet := Price{
		Rates: Rates{Input: 3e6, Cached: 3e5, CacheWrite: 3.75e6, Output: 15e6},
		Over:  200_000, Long: Rates{Input: 6e6, Cached: 6e5, CacheWrite: 7.5e6, Output: 22.5e6},
	}
	small := Price{Rates: Rates{Input: 37_500, Output: 150_000}}
	for _, c := range []struct {
		name  string
		price Price
		usage llm.Usage
		want  USD
	}{
		{"nothing", sonnet, llm.Usage{}, 0},
		{"free", Price{}, llm.Usage{Prompt: 1e6, Completion: 1e6}, 0},
		{"plain", sonnet, llm.Usage{Prompt: 1000, Completion: 200}, 6_000_000},
		{"read from the cache", sonnet, llm.Usage{Prompt: 1000, Cached: 900, Completion: 10}, 300_000 + 270_000 + 150_000},
		{"written to it", sonnet, llm.Usage{Prompt: 1000, CacheWritten: 1000}, 3_750_000},
		{"at the threshold", sonnet, llm.Usage{Prompt: 200_000}, 600_000_000},
		{"above it", sonnet, llm.Usage{Prompt: 200_001, Cached: 200_000, Completion: 1}, 120_000_000 + 6_000 + 22_500},
		{"rounded up once", small, llm.Usage{Prompt: 1, Completion: 1}, 188}, // 37.5 + 150
		{"more cached than there is", sonnet, llm.Usage{Prompt: 10, Cached: 20, CacheWritten: 20}, 3_000},
	} {
		if got := c.price.Of(c.usage); got != c.want {
			t.Errorf("%s: %d, not %d", c.name, got, c.want)
		}
	}
}

func TestHighestCosts(t *testing.T) {
	p := Price{Rates: Rates{Input: 2e6, Cached: 1e6, CacheWrite: 3e6, Output: 5e6}, Over: 100, Long: Rates{Input: 4e6, Output: 9e6}}
	if cost, output := p.Most(100); cost != 300_000 || output != 5e6 {
		t.Errorf("a prompt costs %d, and a token %d", cost, output)
	}
	if cost, output := p.Most(101); cost != 404_000 || output != 9e6 {
		t.Errorf("a long prompt costs %d, and a token %d", cost, output)
	}
	if huge := Rate(1e12).Of(1 << 60); huge <= 0 {
		t.Errorf("what can't be counted is %d", huge)
	}
}

func TestCostsOfSound(t *testing.T) {
	for _, c := range []struct {
		hour   USD
		length time.Duration
		want   USD
	}{
		{360 * Dollar / 1000, 10 * time.Hour, 3600 * Dollar / 1000}, {Dollar, time.Hour, Dollar}, {Dollar, 1, 278}, {0, time.Hour, 0}, {Dollar, 0, 0},
		{1e15, 1 << 62, 0}, {1, time.Millisecond, 1}, {Dollar, -time.Hour, 0},
	} {
		if got := (Price{Hour: c.hour}).Sound(c.length); got != c.want && c.want+c.hour < 1e15 || got < 0 || got == 0 && c.hour > Dollar {
			t.Errorf("%v at %s an hour cost %d, not %d", c.length, c.hour, got, c.want)
		}
	}
}
