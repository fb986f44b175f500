package parley

import (
	"context"
	"runtime/debug"

	"parley/core"
)

// about returns what commands tell users about this gateway.
func about(g *Gateway) core.About {
	a := core.About{Version: version(), Models: []core.ModelName{{Work: "answers", Name: g.models.name}}}
	slots := g.cfg.Models
	for _, s := range []core.ModelName{
		{Work: "short questions", Name: slots.Small.Model}, {Work: "pictures", Name: slots.Vision.Model},
		{Work: "voices", Name: slots.Transcription.Model}, {Work: "drawing", Name: slots.Image.Model},
		{Work: "memory", Name: slots.Embedding.Model},
	} {
		if s.Name != "" {
			a.Models = append(a.Models, s)
		}
	}
	a.Health = func(ctx context.Context) []core.Health {
		all := []core.Health{{Name: "Store", Err: g.backends.ready(ctx)}}
		if g.backends.shared != nil {
			all = append(all, core.Health{Name: "Redis", Err: g.backends.shared(ctx)})
		}
		return all
	}
	return a
}

// version returns the version from the build information, if any.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value[:min(len(s.Value), 12)]
		}
	}
	return info.Main.Version
}
