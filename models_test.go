package parley_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"parley"
	"parley/config"
	"parley/models/modelfake"
)

// Every model that is configured is tried as far as that is cheap, and what is wrong is told with the key that mends it.
func TestCheckModels(t *testing.T) {
	const key = "sk-check-0123456789abcdef"
	fake := modelfake.New(modelfake.Options{Key: key, Models: []string{"large", "small", "eyes", "ears", "brush"}})
	server := httptest.NewServer(http.Handler(fake))
	defer server.Close()
	cfg, err := parley.DefaultConfig(func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	cfg.Store = config.DSN("sqlite:" + filepath.Join(t.TempDir(), "parley.db"))
	cfg.Providers.OpenAI.BaseURL, cfg.Providers.OpenAI.APIKey = server.URL+"/v1", key
	cfg.Models = config.Models{
		Large: config.Model{Model: "large"}, Small: config.Slot{Model: "small"}, Vision: config.Slot{Model: "eyes"},
		Transcription: config.Slot{Model: "ears"}, Image: config.Slot{Model: "bush"}, Embedding: config.Slot{Model: "vectors"},
	}
	told := map[string]parley.Finding{}
	for _, f := range parley.Check(t.Context(), cfg, parley.Env{}) {
		told[f.Part] = f
	}
	for part, want := range map[string]struct {
		ok   bool
		text string
	}{
		"models.large":         {true, "large answers at"},
		"models.small":         {true, "small answers at"},
		"models.vision":        {true, "eyes answers at"},
		"models.transcription": {true, "ears is listed at"},
		"models.image":         {false, "set models.image.model to one of brush, ears"},
		"models.embedding":     {true, "vectors of 8 dimensions"},
	} {
		if got := told[part]; got.OK != want.ok || !strings.Contains(got.Text, want.text) {
			t.Errorf("%s: %+v, want %+v", part, got, want)
		}
	}
}
