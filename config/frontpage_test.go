package config

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"parley/internal/require"
)

// The settings at the top of config.yaml are a configuration of their own, with the same values as the rest of the file.
func TestTopOfTheDeliveredFile(t *testing.T) {
	data, err := os.ReadFile("../config.yaml")
	require.NoError(t, err)
	top, lines := frontPage(string(data))
	if lines > 40 {
		t.Errorf("the top has %d lines, which is more than a screen", lines)
	}
	for _, setting := range []string{
		"api_key:", "base_url:", "model:", "discord:", "telegram:", "listen:", "public:", "origins:", "name:", "system:", "people:", "limits:",
	} {
		if !strings.Contains(top, setting) {
			t.Errorf("the top does not show %s", setting)
		}
	}
	for name, variables := range map[string]map[string]string{
		"nothing set": nil,
		"all set": {
			"OPENAI_API_KEY": "sk-key", "OPENAI_BASE_URL": "http://127.0.0.1:11434/v1", "OPENAI_MODEL": "m",
			"DISCORD_TOKEN": "a1.b2.c3", "TELEGRAM_TOKEN": "123456789:" + strings.Repeat("a", 35),
		},
	} {
		short, err := Parse("config.yaml", []byte(top), t.TempDir(), environment(variables), catalog...)
		if err != nil {
			t.Errorf("%s: %v in\n%s", name, err, top)
			continue
		}
		long, err := Parse("config.yaml", data, t.TempDir(), environment(variables), catalog...)
		require.NoError(t, err)
		if !reflect.DeepEqual(short, long) {
			t.Errorf("%s: the top means %+v, the file %+v", name, short, long)
		}
	}
}

// frontPage returns the settings in the comment at the top of the file, and the number of lines down to their end.
func frontPage(file string) (settings string, lines int) {
	const margin = "#   "
	for line := range strings.Lines(file) {
		setting, ok := strings.CutPrefix(line, margin)
		if !ok && settings != "" {
			return settings, lines
		}
		if ok {
			settings += setting
		}
		lines++
	}
	return settings, lines
}
