package media_test

import (
	"context"
	"slices"
	"testing"

	"parley/core/llm"
	"parley/media"
)

// hears transcribes nothing.
type hears struct{ llm.Transcriber }

// What a page offers to attach is what can be read: no pictures without a model that sees, and no sound without one that hears.
func TestAccept(t *testing.T) {
	documents := func(context.Context, []byte) (string, error) { return "", nil }
	for name, c := range map[string]struct {
		options media.Options
		want    map[string]bool
	}{
		"nothing":    {media.Options{}, map[string]bool{"text/*": true, ".py": true, "image/*": false, "audio/*": false, ".pdf": false}},
		"pictures":   {media.Options{Sees: true}, map[string]bool{"image/*": true, "audio/*": false}},
		"everything": {media.Options{Sees: true, Transcriber: hears{}, Documents: documents}, map[string]bool{"image/*": true, "audio/*": true, ".pdf": true, ".mp4": false, ".exe": false}},
	} {
		all := media.New(c.options).Accept()
		for kind, want := range c.want {
			if slices.Contains(all, kind) != want {
				t.Errorf("%s: %s is offered: %v", name, kind, !want)
			}
		}
	}
}
