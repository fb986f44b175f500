package parley

import (
	"context"
	"runtime/debug"

	programs "parley/core/turn"
)

// about returns what commands such as /model and /status tell users about this gateway.
func about(g *Gateway) programs.Program {
	a := programs.Program{Version: version(), Models: []programs.Model{{Work: "answers", Name: g.models.name}}}
	for _, s := range slotsOf(&g.cfg.Models, &g.models.Models) {
		if s.config.Model != "" {
			a.Models = append(a.Models, programs.Model{Work: s.task, Name: s.config.Model})
		}
	}
	a.Health = func(ctx context.Context) []programs.Service {
		all := []programs.Service{{Name: "Store", Err: g.backends.ready(ctx)}}
		if g.backends.shared != nil {
			all = append(all, programs.Service{Name: "Redis", Err: g.backends.shared(ctx)})
		}
		return all
	}
	return a
}

// version returns the commit of the build, or else the version of the module; "" without build information.
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
