package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley"
	"parley/config"
	"parley/internal/daemon"
)

// serviceCmd runs the gateway in the background, from the start of the machine on.
type serviceCmd struct {
	System bool `xor:"kind" help:"The service of the machine, which runs from its start on (the default as root)."`
	User   bool `xor:"kind" help:"The service of your user (the default for others)."`

	Install   installCmd   `cmd:"" help:"Install and start the service, or restart it with a new version."`
	Uninstall uninstallCmd `cmd:"" help:"Stop and remove the service. Its data stays."`
	Status    serviceState `cmd:"" help:"Show whether the service runs."`
}

// installCmd writes the unit and starts it.
type installCmd struct {
	Print   bool   `help:"Only print the unit."`
	Program string `placeholder:"PATH" help:"The program that the service runs (default: this one)."`
}

// uninstallCmd stops and removes the unit.
type uninstallCmd struct{}

// serviceState prints the report of the service manager.
type serviceState struct{}

// machineConfig is the configuration of the service of the machine, unless another one was named, and machineStore the store that
// gateway init writes into it.
const (
	machineConfig = "/etc/parley/config.yaml"
	machineStore  = "/var/lib/" + daemon.Name + "/parley.db"
)

// kind returns the service manager that the flags, the system and the user ask for.
func (s *serviceCmd) kind() daemon.Manager {
	switch {
	case runtime.GOOS == "darwin":
		return daemon.Launchd
	case s.User, !s.System && os.Geteuid() != 0:
		return daemon.User
	}
	return daemon.System
}

// installed returns the manager that has the service, or an error with the next step.
func (s *serviceCmd) installed(ctx context.Context) (manager, error) {
	m := newManager(s.kind())
	if err := m.runs(ctx); err != nil {
		return m, err
	}
	if _, err := os.Stat(m.file); errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("there is no %s; install the service with gateway service install", m.file)
	}
	return m, nil
}

// Run prints the unit, or installs it.
func (i *installCmd) Run(ctx context.Context, s *serviceCmd, c *cli) error {
	m := newManager(s.kind())
	if !i.Print {
		if err := m.runs(ctx); err != nil {
			return err
		}
	}
	u, unseen, err := i.unit(c, m)
	if err != nil {
		return err
	}
	text, err := u.Render(m.kind)
	if err != nil {
		return err
	}
	err = usable(u.Program, m.kind)
	switch {
	case i.Print && err != nil && !errors.Is(err, fs.ErrNotExist): // for a package, the program needs not be there yet
		fmt.Fprintf(os.Stderr, "gateway: this unit will not work: %v\n", err)
	case !i.Print && err != nil:
		return err
	case temporary(u.Program):
		fmt.Fprintf(os.Stderr, "gateway: %s is in a folder for temporary files, so the service loses it; move the program to another folder, and run it from there\n", u.Program)
	}
	if i.Print {
		_, err = fmt.Print(text)
		return err
	}
	if err := m.install(ctx, u, text); err != nil {
		return err
	}
	if len(unseen) > 0 {
		fmt.Printf("The service does not see the variables of this shell: put %s into %s, and install it again.\n", strings.Join(unseen, ", "), filesFor(u.Config).env)
	}
	return nil
}

// unit describes this gateway as a service. It also returns the variables of the configuration that only this shell has.
func (i *installCmd) unit(c *cli, m manager) (u daemon.Unit, unseen []string, err error) {
	u = daemon.Unit{Program: i.Program, Config: c.file(), Stop: stopTime(20 * time.Second)}
	if m.kind == daemon.System && c.Config == "" {
		u.Config = machineConfig
	}
	if u.Program == "" {
		if u.Program, err = os.Executable(); err != nil {
			return u, nil, err
		}
	}
	if u.Dir, err = os.Getwd(); err != nil {
		return u, nil, err
	}
	if u.Config, err = filepath.Abs(u.Config); err != nil || i.Print {
		return u, nil, err
	}
	env := filesFor(u.Config).env
	stored, err := config.WithDotEnv(env, func(string) (string, bool) { return "", false })
	if err != nil {
		return u, nil, err
	}
	cfg, err := parley.LoadConfig(u.Config, func(name string) (string, bool) {
		if value, ok := stored(name); ok {
			return value, true
		}
		if os.Getenv(name) != "" && !slices.Contains(unseen, name) {
			unseen = append(unseen, name)
		}
		return os.LookupEnv(name)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return u, nil, fmt.Errorf("there is no %[1]s; make it first: gateway --config %[1]s init", u.Config)
	}
	u.Stop = stopTime(cfg.Shutdown)
	return u, unseen, err
}

// stopTime returns how long a gateway may take to stop, from how long it waits for answers.
func stopTime(grace time.Duration) time.Duration { return (grace + 20*time.Second).Round(time.Second) }

// usable returns an error with the next step if the service could not start the program.
func usable(program string, k daemon.Manager) error {
	program, err := filepath.EvalSymlinks(program)
	if err != nil {
		return fmt.Errorf("find the program of the service: %w", err)
	}
	if strings.Contains(program, string(filepath.Separator)+"go-build") {
		return errors.New("go run deletes this program when it ends; build one with go build ./cmd/gateway, and run ./gateway service install")
	}
	for _, hidden := range []string{"/home/", "/root/", "/run/user/"} {
		if k == daemon.System && (strings.HasPrefix(program, hidden) || temporary(program)) {
			return fmt.Errorf("the service can't read %s; copy the program first: sudo install %s /usr/local/bin/gateway, and run it from there", program, program)
		}
	}
	return nil
}

// temporary reports whether a program is in a folder that the system empties.
func temporary(program string) bool {
	for _, dir := range []string{"/tmp", "/var/tmp", os.TempDir()} {
		if strings.HasPrefix(program, filepath.Clean(dir)+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

// Run implements the command.
func (*uninstallCmd) Run(ctx context.Context, s *serviceCmd) error {
	m, err := s.installed(ctx)
	if err != nil {
		return err
	}
	if err := m.do(ctx, m.stop...); err != nil {
		return err
	}
	if err := os.Remove(m.file); err != nil {
		return fmt.Errorf("remove the unit: %w", err)
	}
	fmt.Printf("The service was stopped, and %s removed. Configuration and data stay.\n", m.file)
	return m.reload(ctx)
}

// Run implements the command.
func (*serviceState) Run(ctx context.Context, s *serviceCmd) error {
	m, err := s.installed(ctx)
	if err != nil {
		return err
	}
	return m.do(ctx, m.show...)
}

// manager is the service manager of this machine.
type manager struct {
	kind              daemon.Manager
	file              string   // where the unit belongs
	ctl               []string // the command that controls it, which start, stop and show continue
	start, stop, show []string
}

// newManager returns the manager of a kind.
func newManager(k daemon.Manager) manager {
	home, _ := os.UserHomeDir() // without one, the unit can't be written either
	unit := daemon.Name + ".service"
	m := manager{kind: k, ctl: []string{"systemctl"}, start: []string{"enable", unit}, stop: []string{"disable", "--now", unit}, show: []string{"status", "--no-pager", unit}}
	switch k {
	case daemon.System:
		m.file = "/etc/systemd/system/" + unit
	case daemon.User:
		m.file = filepath.Join(home, ".config/systemd/user", unit)
		m.ctl = []string{"systemctl", "--user"}
	case daemon.Launchd:
		domain := "gui/" + strconv.Itoa(os.Getuid())
		m.file = filepath.Join(home, "Library/LaunchAgents", daemon.Name+".plist")
		m.ctl, m.start = []string{"launchctl"}, []string{"bootstrap", domain, m.file}
		m.stop, m.show = []string{"bootout", domain + "/" + daemon.Name}, []string{"print", domain + "/" + daemon.Name}
	}
	return m
}

// runs returns an error with the next step if the manager does not run on this machine.
func (m manager) runs(ctx context.Context) error {
	switch runtime.GOOS {
	case "darwin":
		return nil
	case "windows":
		return errors.New("on Windows the Task Scheduler starts the gateway; docs/deploy.md has the command")
	}
	args := append(m.ctl[1:len(m.ctl):len(m.ctl)], "is-system-running")
	out, err := exec.CommandContext(ctx, m.ctl[0], args...).Output() // fails for all states but "running"
	state := strings.TrimSpace(string(out))
	if err == nil || slices.Contains([]string{"initializing", "starting", "degraded", "maintenance", "stopping"}, state) {
		return nil
	}
	if m.kind == daemon.User {
		return errors.New("systemd does not run for your user here; log in as that user without su or sudo, or install the service of the machine: sudo gateway service install")
	}
	return errors.New(`this machine does not run systemd; add "gateway --config FILE run" to its own service manager, and restart it when it ends`)
}

// install writes the unit and starts the service, also in place of one that runs.
func (m manager) install(ctx context.Context, u daemon.Unit, text string) error {
	if err := os.MkdirAll(filepath.Dir(m.file), 0o755); err != nil {
		return fmt.Errorf("make a folder for the unit: %w", err)
	}
	if m.kind == daemon.Launchd {
		_ = exec.CommandContext(ctx, m.ctl[0], m.stop...).Run() // fails if it does not run
	}
	if err := os.WriteFile(m.file, []byte(text), 0o644); errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("write the unit: %w; run the command with sudo, or with --user", err)
	} else if err != nil {
		return fmt.Errorf("write the unit: %w", err)
	}
	if err := m.reload(ctx); err != nil {
		return err
	}
	if err := m.do(ctx, m.start...); err != nil {
		return err
	}
	if m.kind != daemon.Launchd {
		if err := m.do(ctx, "restart", daemon.Name+".service"); err != nil {
			return fmt.Errorf("%w; its log says why: gateway service status", err)
		}
	}
	fmt.Printf("The service is running, with %s. Its unit is %s.\n", u.Config, m.file)
	switch m.kind {
	case daemon.System:
		fmt.Printf("For other commands, such as status: sudo sh -c 'cd /var/lib/%s && %s --config %s status'\n", daemon.Name, u.Program, u.Config)
	case daemon.User:
		fmt.Println("It ends when you log out; to keep it running: loginctl enable-linger")
	}
	return nil
}

// reload tells systemd that units have changed.
func (m manager) reload(ctx context.Context) error {
	if m.kind == daemon.Launchd {
		return nil
	}
	return m.do(ctx, "daemon-reload")
}

// do runs the manager's command and shows its output.
func (m manager) do(ctx context.Context, args ...string) error {
	args = append(m.ctl[1:len(m.ctl):len(m.ctl)], args...)
	c := exec.CommandContext(ctx, m.ctl[0], args...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", m.ctl[0], strings.Join(args, " "), err)
	}
	return nil
}
