package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"parley/config"
	"parley/internal/daemon"
	"parley/internal/local"
)

// reloadCmd makes the running gateway read its configuration again.
type reloadCmd struct{}

// Run prints the changed keys that need a restart.
func (*reloadCmd) Run(ctx context.Context, c *cli) error {
	files := filesFor(c.file())
	service := serviceFolder(files.config)
	if service != "" {
		_ = os.Unsetenv("CREDENTIALS_DIRECTORY") // it has the files of the last start
	}
	cfg, from, err := c.load()
	if err != nil {
		return err
	}
	if service != "" {
		if err := files.handOver(service); err != nil {
			return fmt.Errorf("hand %s to the service: %w", from, err)
		}
	}
	restart, err := local.Reload(ctx, cfg)
	if err != nil {
		return fmt.Errorf("reload %s: %w", from, err)
	}
	fmt.Println("The configuration was reloaded.")
	if len(restart) > 0 {
		fmt.Println("These changed keys need a restart: " + strings.Join(restart, ", "))
	}
	return nil
}

// serviceFolder returns where a reload puts copies for the service of the machine, which can't read the files of root; "" for other
// gateways.
func serviceFolder(file string) string {
	if os.Getenv("CREDENTIALS_DIRECTORY") != "" { // systemctl reload
		return runtimeFolder()
	}
	const dir = "/run/" + daemon.Name
	path, err := filepath.Abs(file)
	if _, missing := os.Stat(dir); err != nil || missing != nil || path != machineConfig || os.Geteuid() != 0 {
		return ""
	}
	return dir
}

// runtimeFolder returns the folder of a service that ends with it; "" without one.
func runtimeFolder() string {
	dir, _, _ := strings.Cut(os.Getenv("RUNTIME_DIRECTORY"), ":")
	return dir
}

// watchEvery is the interval between two looks at the files of the configuration. They are few, and looked at by name: the
// folder also holds the store, which changes with every message, and in containers a file can be mounted without its
// folder.
const watchEvery = 500 * time.Millisecond

// source is the configuration in its files. It is safe for concurrent use.
type source struct {
	c      *cli
	listen string // replaces web.listen; empty: it does not

	mu    sync.Mutex
	files []string // that the configuration was read from last
	read  string   // their state then
	found bool     // there was a file; without it, the defaults could open a closed gateway
}

// load reads the configuration, and returns where it came from. It fails if the file is missing that was there before.
func (s *source) load() (config.Config, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files == nil {
		s.files = s.own()
	}
	s.read = stampOf(s.files) // before the reading, so that a change meanwhile is seen
	cfg, from, err := s.c.load()
	switch {
	case err == nil && from != fromDefaults:
		s.found = true
	case err == nil && s.found:
		err = fmt.Errorf("there is no %s any more; put it back, or restart the gateway to run without it", s.c.file())
	}
	if err == nil && s.listen != "" {
		cfg, err = cfg.WithListen(s.listen)
	}
	if files := append(s.own(), cfg.Files...); err == nil && !slices.Equal(files, s.files) {
		s.files, s.read = files, stampOf(files)
	}
	return cfg, from, err
}

// own returns the files that are always read.
func (s *source) own() []string {
	return []string{handedOver(s.c.file()), handedOver(filesFor(s.c.file()).env)}
}

// stamp returns the state of the files now, and reports whether it differs from the one that was read.
func (s *source) stamp() (now string, changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now = stampOf(s.files)
	return now, now != s.read
}

// stampOf returns a text that changes when one of the files is changed, replaced, added or removed.
func stampOf(files []string) string {
	var b strings.Builder
	for _, name := range files {
		if info, err := os.Stat(name); err == nil {
			fmt.Fprintf(&b, "%s %d %d\n", name, info.Size(), info.ModTime().UnixNano())
		}
	}
	return b.String()
}

// reloader is the gateway for a source.
type reloader interface {
	Reload(ctx context.Context) ([]string, error)
}

// watch reloads the gateway when a file has changed and stays unchanged for the length of every, as editors write in steps,
// and at each SIGHUP, until ctx is done. The gateway logs the results.
func (s *source) watch(ctx context.Context, g reloader, every time.Duration, hangups <-chan os.Signal) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	seen := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
			_, _ = g.Reload(ctx)
			continue
		case <-tick.C:
		}
		now, changed := s.stamp()
		if changed && now == seen {
			_, _ = g.Reload(ctx)
		}
		seen = now
	}
}

// reloadsOnHangup reports whether SIGHUP means a reload: where no terminal can be closed, as under systemd and in containers.
// Otherwise a closed terminal would leave a gateway that no one sees.
func reloadsOnHangup() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err == nil {
		_ = tty.Close()
	}
	return err != nil
}

// leveled returns a level that a reload can change, see [parley.Env].
func leveled(cfg config.Log) *slog.LevelVar {
	level := new(slog.LevelVar)
	_ = level.UnmarshalText([]byte(cfg.Level)) // the configuration has validated it
	return level
}
