package parley_test

import (
	"testing"
	"time"

	"parley"
	"parley/config/configtest"
	"parley/connectors/discord"
	"parley/connectors/telegram"
	"parley/internal/require"
	"parley/progressive"
)

// The configuration's defaults stay within what the platforms are known to allow (TR-01, DR-02).
func TestDefaultLimits(t *testing.T) {
	cfg := require.Value(parley.DefaultConfig(func(string) (string, bool) { return "", false }))(t)
	budgets := configtest.Section[telegram.Config](cfg.Connectors).Budgets()
	for kind, b := range configtest.Section[discord.Config](cfg.Connectors).Budgets() {
		budgets[kind] = b
	}
	for kind, most := range map[string]progressive.Budget{
		"telegram.private": {N: 5, Per: 5500 * time.Millisecond, Reserve: 1, Pace: 1100 * time.Millisecond},
		"telegram.group":   {N: 20, Per: time.Minute, Reserve: 4, Pace: 3500 * time.Millisecond},
		"telegram.bot":     {N: 30, Per: time.Second, Pace: time.Second / 30},
		"discord.channel":  {N: 5, Per: 6 * time.Second, Reserve: 1, Pace: 1200 * time.Millisecond},
		"discord.bot":      {N: 45, Per: time.Second, Pace: time.Second / 45},
	} {
		if budgets[kind] != most {
			t.Errorf("%s: %+v, want %+v", kind, budgets[kind], most)
		}
	}
}
