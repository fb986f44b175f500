package prices

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/core/llm"
	"parley/core/quota"
)

var autumn = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// Every row can be read, so that no number is lost on the way.
func TestTheTableIsWellFormed(t *testing.T) {
	if _, err := time.Parse(time.DateOnly, Date()); err != nil || !strings.Contains(table, "@pydantic/genai-prices 0.1.8") || !strings.Contains(table, "MIT License") {
		t.Fatalf("the table does not say what it is made of: %v", err)
	}
	n := 0
	for line := range strings.Lines(table) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		n++
		row := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(row) != columns {
			t.Fatalf("%q has %d columns; want %d", line, len(row), columns)
		}
		if from := row[columnFrom]; from != "" {
			if _, err := time.Parse(time.DateOnly, from); err != nil {
				t.Errorf("%q: %v", line, err)
			}
		}
		if row[columnOver] != "" {
			if over, err := strconv.Atoi(row[columnOver]); err != nil || over <= 0 || row[columnLong] == "" {
				t.Errorf("%q has a threshold of %d: %v", line, over, err)
			}
		}
		for i, text := range row[columnRates:] {
			if i == columnOver-columnRates || text == "" {
				continue
			}
			if _, err := quota.ParseRate(text); err != nil {
				t.Errorf("%q: %v", line, err)
			}
		}
		if row[columnHour] == "" && row[columnRates+3] == "" {
			t.Errorf("%q has no price", line)
		}
	}
	if n < 500 {
		t.Errorf("the table has %d rows; want at least 500", n)
	}
}

func TestModelsAreFoundByName(t *testing.T) {
	for _, c := range []struct {
		provider, model       string
		input, cached, output quota.Rate
	}{
		{"openai", "gpt-4o-mini", 150_000, 75_000, 600_000},
		{"openai", "GPT-4o-mini", 150_000, 75_000, 600_000},
		{"openai", "gpt-4o-mini-2031-01-02", 150_000, 75_000, 600_000}, // a later snapshot
		{"responses", "gpt-4o-mini", 150_000, 75_000, 600_000},
		{"anthropic", "claude-sonnet-4-5", 3_000_000, 300_000, 15_000_000},
		{"anthropic", "claude-sonnet-4-5-20250929", 3_000_000, 300_000, 15_000_000},
		{"gemini", "gemini-2.5-pro", 1_250_000, 125_000, 10_000_000},
		{"gemini", "models/gemini-2.5-pro", 1_250_000, 125_000, 10_000_000},
		{"gemini", "gemini-2.5-pro-preview-06-05", 1_250_000, 125_000, 10_000_000},
		{"openai", "text-embedding-3-small", 20_000, 20_000, 0},
	} {
		p, ok := Tokens(c.provider, c.model, autumn)
		if !ok || p.Input != c.input || p.Cached != c.cached || p.Output != c.output {
			t.Errorf("%s's %s costs %+v, %v", c.provider, c.model, p, ok)
		}
	}
	for _, c := range [][2]string{
		{"openai", ""}, {"openai", "gpt-4o-mini-extra"}, {"ollama", "gpt-4o-mini"}, {"anthropic", "gpt-4o-mini"}, {"azure", "gpt-4o-mini"}, {"openai", "whisper-1"},
	} {
		if p, ok := Tokens(c[0], c[1], autumn); ok {
			t.Errorf("%s's %q costs %+v", c[0], c[1], p)
		}
	}
}

func TestSoundIsPricedByTheHour(t *testing.T) {
	if p, ok := Sound("openai", "whisper-1", autumn); !ok || p.Hour != 360_000_000 {
		t.Errorf("%+v, %v", p, ok)
	}
	if p, ok := Sound("openai", "gpt-4o-mini", autumn); ok {
		t.Errorf("a model of text costs %+v", p)
	}
}

func TestPricesChangeOnADay(t *testing.T) {
	before, ok := Tokens("gemini", "gemini-3.6-flash", time.Date(2026, 12, 31, 0, 0, 0, 0, time.UTC))
	after, also := Tokens("gemini", "gemini-3.6-flash", time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))
	if !ok || !also || before.Output != 3_750_000 || after.Output != 7_500_000 {
		t.Errorf("%+v and %+v", before, after)
	}
}

func TestLongPromptsHaveTheirOwnRates(t *testing.T) {
	p, _ := Tokens("gemini", "gemini-2.5-pro", autumn)
	if p.Over != 200_000 || p.Long != (quota.Rates{Input: 2_500_000, Cached: 250_000, CacheWrite: 2_500_000, Output: 15_000_000}) {
		t.Errorf("%+v", p)
	}
	if cost := p.Of(llm.Usage{Prompt: 200_001}); cost != 500_002_500 {
		t.Errorf("it costs %d; want 500_002_500", cost)
	}
}
