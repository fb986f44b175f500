package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"parley"
	"parley/config"
	"parley/internal/daemon"
	"parley/media/parser"
)

// runCmd runs the gateway.
type runCmd struct {
	Listen string `placeholder:"HOST:PORT" help:"Address to listen on, instead of web.listen."`
}

// announce prints the addresses of a gateway.
func announce(g *parley.Gateway, cfg config.Config, page *setupPage) {
	fmt.Fprintf(os.Stdout, "Parley is at http://%s\n", g.Addr())
	for _, site := range cfg.Web.TLS.Origins() {
		fmt.Fprintf(os.Stdout, "Visitors reach it at %s\n", site)
	}
	if page != nil {
		fmt.Fprintf(os.Stdout, "Set it up with %s init, or in a browser on this machine: http://%s/setup?code=%s\n", thisProgram(), g.Addr(), page.code)
	}
}

// Run serves until ctx ends. It prints the address of the web chat to standard output, where scripts and tests find it.
func (r *runCmd) Run(ctx context.Context, c *cli) error {
	files := &source{c: c, listen: r.Listen}
	cfg, from, err := files.load()
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGPIPE) // the reader of the log may end before the gateway; its answers are completed all the same
	level := leveled(cfg.Log)
	log, manager := loggerAt(cfg.Log, level), daemon.NewNotifier()
	for _, line := range cfg.Off() {
		log.Info(line)
	}
	// Collecting garbage during the start would take a quarter of its CPU time, and free little.
	wanted := debug.SetGCPercent(400)
	var g *parley.Gateway
	env := parley.Env{Log: log, Level: level, Parser: newParser(), Load: func() (config.Config, error) {
		reportReload(log, manager.Reloading())
		cfg, _, err := files.load()
		return cfg, err
	}, Reloaded: func(err error) { reportReload(log, manager.Ready(managerStatus(g.Addr().String(), err))) }}
	page := newSetupPage(c, from, r.Listen, len(cfg.Off()))
	if page != nil {
		env.Setup = page
	}
	g, err = parley.Start(ctx, cfg, env)
	if os.Getenv("GOGC") == "" {
		wanted = heapGrowth
	}
	debug.SetGCPercent(wanted)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // interrupted while it waited for the store
	} else if err != nil {
		return err
	}
	log.Info("ready", "config", from, "model", g.Model(), "store", cfg.Store, "shared", cfg.Shared)
	announce(g, cfg, page)
	ctx, stop := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() { unmapStarts(ctx, log) })
	running, ended := context.WithCancel(context.WithoutCancel(ctx))
	beside.Go(func() { reportState(ctx, running, manager, g.Addr().String(), log) })
	beside.Go(func() { files.watch(ctx, g, watchEvery, c.hangups) })
	err = g.Run(ctx)
	stop()
	ended()
	beside.Wait()
	if err != nil {
		return err
	}
	log.Info("stopped")
	return nil
}

// heapGrowth is how much garbage may come between two collections, in percent of the memory that is in use, unless the environment
// variable GOGC says it. It is twice Go's default: the heap is small beside the stacks of a busy gateway, so this costs little
// memory, while each collection scans all those stacks.
const heapGrowth = 200

// connecting is the usual time for connectors to connect. That needs parts of the program that are not needed again for long.
const connecting = time.Second

// unmapStarts removes the parts of the program's file that the start has read from the memory of this process, and a moment later those that
// the connectors have read to connect.
func unmapStarts(ctx context.Context, log *slog.Logger) {
	err := unmapStart()
	select {
	case <-time.After(connecting):
		err = errors.Join(err, unmapStart())
	case <-ctx.Done():
	}
	if err != nil {
		log.Warn("idle memory stays larger than it could be", "err", err)
	}
}

// readCmd reads a file in a process of its own, see newParser.
type readCmd struct{}

// Run implements the command.
func (*readCmd) Run() error { return parser.Serve(os.Stdin, os.Stdout) }

// newParser returns a parser that reads each file in a separate process of this program, because parsers of foreign formats
// can crash or use up memory. It returns nil if the program's path is unknown; such files are then left unread.
func newParser() parley.Parser {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return parser.Command(self, "read-document")
}
