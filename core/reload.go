package core

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"parley/core/action"
	"parley/core/schedule"
	"parley/core/turn"
	"parley/internal/contain"
)

// A generation is the part of a runtime that follows from its configuration. It does not change: a reload replaces it
// as a whole, and each run keeps the generation that it began with.
type generation struct {
	cfg   Config
	inbox *inbox
	turns *turn.Turns
	works map[string]*work // of its plugins, by name; guarded by the mutex of generations

	runs     sync.WaitGroup  // added to while it is current, under the mutex of generations
	ended    chan struct{}   // closed when no run uses it, or an earlier one, any more
	previous <-chan struct{} // that of the generation before; nil for the first
}

// generations has the current generation, and replaces it. It is safe for concurrent use.
type generations struct {
	mu  sync.Mutex // held while now is replaced, or counts a run
	now atomic.Pointer[generation]
}

// work is the background work of a plugin, and its subscription to events. Generations with the same plugin share it.
type work struct {
	plugin  action.Plugin
	started bool
	ends    []func()
}

// stop ends it.
func (w *work) stop() {
	for _, end := range w.ends {
		end()
	}
}

// Reload replaces the configuration. Messages that arrive from now on, and runs that start from now on, use cfg; runs
// in progress finish with the configuration that they began with. Connections of plugins, and counts of wrong codes and
// of the turns of bots, begin again only as after a restart.
//
// The parts that hold the state of the process stay those of the first configuration: Owner, Store, Tracker, Bus, Open,
// Observers, Grace and Log. same reports whether the plugin of a name is the same as before, so that its
// work and its observers continue; those of the others end, and those of new ones begin. Work that serves live actions ends after the last run
// that can use them. retired is called when no run uses the earlier configuration any more, at the latest before Run returns.
// It fails like [New], and changes nothing then.
func (rt *Runtime) Reload(cfg Config, same func(plugin string) bool, retired func()) error {
	next, err := newGeneration(cfg, rt.lasting)
	if err != nil {
		return err
	}
	rt.all.mu.Lock()
	defer rt.all.mu.Unlock()
	if err := next.turns.Preparer.Composer.SetTemplates(rt.templates); err != nil {
		return err
	}
	before := rt.all.now.Load()
	dropped := rt.handOver(before, next, same)
	rt.all.now.Store(next)
	rt.parallel.Limit(cfg.Parallel, cfg.Total)
	end := func() {
		for _, w := range dropped {
			w.stop()
		}
		retired()
		close(before.ended)
	}
	if rt.work == nil { // without Run there are no runs
		end()
		return nil
	}
	rt.work(func() {
		if before.previous != nil {
			<-before.previous
		}
		before.runs.Wait()
		end()
	})
	return nil
}

// handOver gives next the work of plugins that are the same, starts the work of the others, and returns the work that
// ends together with before. It requires the lock.
func (rt *Runtime) handOver(before, next *generation, same func(plugin string) bool) (dropped []*work) {
	next.previous = before.ended
	for name, w := range before.works {
		switch {
		case same(name):
			next.works[name] = w
		case w.plugin.Live != nil:
			dropped = append(dropped, w)
		default:
			w.stop()
		}
	}
	rt.startWork(next)
	return dropped
}

// Policy implements [schedule.Executor].
func (x *generations) Policy() schedule.TurnPolicy { return x.now.Load().cfg.Turns }

// Execute implements [schedule.Executor]. It executes the turn with the current generation.
func (x *generations) Execute(life context.Context, t *schedule.Turn) error {
	x.mu.Lock()
	g := x.now.Load()
	g.runs.Add(1)
	x.mu.Unlock()
	defer g.runs.Done()
	return g.turns.Execute(life, t)
}

// begin starts the background work of plugins. Further work starts with spawn, until end is called.
func (rt *Runtime) begin(life context.Context, spawn func(func())) {
	rt.all.mu.Lock()
	defer rt.all.mu.Unlock()
	rt.work, rt.life = spawn, life
	rt.startWork(rt.all.now.Load())
}

// end makes sure that no further work starts.
func (rt *Runtime) end() {
	rt.all.mu.Lock()
	defer rt.all.mu.Unlock()
	rt.work = nil
}

// startWork subscribes the observers of the plugins of g, and starts their work, as far as that is not done yet. It requires the lock,
// except in New.
func (rt *Runtime) startWork(g *generation) {
	for _, p := range g.cfg.Plugins {
		w := g.works[p.Name]
		if w == nil {
			w = &work{plugin: p}
			g.works[p.Name] = w
			for _, o := range p.Observers {
				w.ends = append(w.ends, rt.hub.Subscribe(o))
			}
		}
		if p.Work == nil || w.started || rt.work == nil {
			continue
		}
		ctx, cancel := context.WithCancel(rt.life)
		w.started, w.ends = true, append(w.ends, cancel)
		rt.work(func() {
			defer cancel()
			background(ctx, p, g.cfg.Log.With("plugin", p.Name))
		})
	}
}

// background runs the background work of a plugin. A panic in it stops this plugin's work, and nothing else.
func background(ctx context.Context, p action.Plugin, log *slog.Logger) {
	err := contain.Call("the background work", func() error {
		p.Work(ctx)
		return nil
	})
	if err != nil {
		log.Error("a plugin's background work panicked; it stays stopped until the next start", "err", err)
	}
}
