// Command gateway runs Parley: a gateway between chat platforms and one AI agent.
//
// Each subcommand is a struct with its flags and a method Run, which the parser calls with a context that ends at the
// first interrupt, and with the configuration, or with cli, which loads it. Results go to standard output; logs, notices and errors
// to standard error. Commands that read or change the store ask a running gateway of the same configuration to do it,
// because its store can have only one opener; see package local.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	_ "time/tzdata"

	"github.com/alecthomas/kong"
	"github.com/lmittmann/tint"
	_ "golang.org/x/crypto/x509roots/fallback" // certificates of authorities, for systems without any, such as the image

	"parley"
	"parley/config"
	"parley/internal/sections"
	"parley/internal/version"
)

// defaultFile is the configuration file that is used if it exists and no other was named.
const defaultFile = "config.yaml"

// fromDefaults is the origin of a configuration without a file.
const fromDefaults = "the defaults"

// cli has the flags of all commands, and the commands. Its tags are the help texts.
type cli struct {
	Config  string           `short:"c" placeholder:"FILE" help:"Config file (default: ./config.yaml if present, otherwise built-in defaults)."`
	Version kong.VersionFlag `help:"Print the version."`

	Init    initCmd    `cmd:"" help:"Set up a gateway: ask for a token, a model and a name, try them, and write config.yaml and .env."`
	Run     runCmd     `cmd:"" default:"withargs" help:"Run the gateway until interrupted (the default)."`
	Chat    chatCmd    `cmd:"" help:"Chat with the agent in this terminal, whether or not the gateway is running."`
	Check   checkCmd   `cmd:"" help:"Check the configuration against the real services."`
	Pair    pairCmd    `cmd:"" help:"Approve, list or revoke users."`
	Keys    keysCmd    `cmd:"" help:"Create, list or revoke the API keys of programs."`
	MCP     mcpCmd     `cmd:"" name:"mcp" help:"Log in to MCP servers."`
	Migrate migrateCmd `cmd:"" help:"Update the store ahead of a new version, or move it from SQLite to PostgreSQL."`
	Status  statusCmd  `cmd:"" help:"List the gateways that share the store, what they hold, and what waits."`
	Reload  reloadCmd  `cmd:"" help:"Apply the changed configuration to the running gateway, which also notices changes by itself."`
	Health  healthCmd  `cmd:"" help:"Report whether the gateway is ready: exit code 0 if it is, 1 otherwise."`
	Backup  backupCmd  `cmd:"" help:"Copy the SQLite store to a file, also while the gateway runs."`
	Service serviceCmd `cmd:"" help:"Run the gateway in the background, from the start of the machine on."`
	Restore restoreCmd `cmd:"" help:"Replace the SQLite store by a backup."`
	Person  personCmd  `cmd:"" help:"Export or delete everything that is stored about a person."`
	Export  exportCmd  `cmd:"" help:"Write the conversation in a room as Markdown or JSON, or list the rooms."`
	Show    showCmd    `cmd:"" help:"Show how an answer came about: times, model, tools, cost."`
	Runs    runsCmd    `cmd:"" help:"List the questions that crashed the gateway, or retry one."`
	Read    readCmd    `cmd:"" name:"read-document" hidden:"" help:"Read a file from standard input and write what it contains. For internal use."`

	Completion completionCmd `cmd:"" help:"Print the completions of commands and flags for a shell."`
	Manual     manualCmd     `cmd:"" hidden:"" help:"Print the manual page, in the format of man."`

	hangups chan os.Signal // SIGHUP, where it means a reload
}

// file returns the name of the configuration file, which can be missing.
func (c *cli) file() string { return cmp.Or(c.Config, defaultFile) }

// load reads the configuration and returns where it came from. Only the default file may be missing. Variables come from
// the environment, and from the file .env next to the configuration. Files from a service manager replace either.
func (c *cli) load() (config.Config, string, error) {
	getenv, err := config.WithDotEnv(handedOver(filesFor(c.file()).env), os.LookupEnv)
	if err != nil {
		return config.Config{}, "", err
	}
	if file := handedOver(c.file()); file != c.file() {
		data, err := os.ReadFile(file)
		if err != nil {
			return config.Config{}, "", err
		}
		cfg, err := parley.ParseConfig(c.file(), data, filepath.Dir(c.file()), getenv)
		return cfg, c.file(), err
	}
	if c.Config != "" {
		cfg, err := parley.LoadConfig(c.Config, getenv)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("there is no %[1]s; name the right file, or make this one with: %[2]s --config %[3]s init", c.Config, thisProgram(), shellWord(c.Config))
		}
		return cfg, c.Config, err
	}
	cfg, err := parley.LoadConfig(defaultFile, getenv)
	if errors.Is(err, fs.ErrNotExist) {
		cfg, err = parley.DefaultConfig(getenv)
		return cfg, fromDefaults, err
	}
	return cfg, defaultFile, err
}

// configured is load without the origin, for most commands.
func (c *cli) configured() (config.Config, error) {
	cfg, _, err := c.load()
	return cfg, err
}

// handedOver returns the copy of a file that a reload of the service made, or else the one of systemd's LoadCredential= from the
// start, or else path. A service under a user of its own can't read the files of root.
func handedOver(path string) string {
	started := os.Getenv("CREDENTIALS_DIRECTORY")
	if started == "" {
		return path
	}
	for _, dir := range []string{runtimeFolder(), started} {
		file := filepath.Join(dir, filepath.Base(path))
		if _, err := os.Stat(file); err == nil && dir != "" {
			return file
		}
	}
	return path
}

func main() {
	var c cli
	parser := kong.Must(&c, kong.Name("gateway"), kong.UsageOnError(), examples(), kong.Vars{"version": version.Current().String()},
		kong.Description("Parley, a gateway between chat platforms and one AI agent."))
	if name := unknownCommand(parser.Model, os.Args[1:]); name != "" {
		parser.Fatalf("there is no command %q; gateway --help lists the commands", name)
	}
	k, err := parser.Parse(os.Args[1:])
	parser.FatalIfErrorf(err)
	if name, _, _ := strings.Cut(k.Command(), " "); name == "run" && reloadsOnHangup() {
		c.hangups = make(chan os.Signal, 1)
	}
	ctx, stop := interruptible(c.hangups)
	defer stop()
	k.BindTo(ctx, (*context.Context)(nil))
	if err := errors.Join(k.BindToProvider(c.configured), k.BindToProvider(keys)); err != nil {
		panic(err) // they are no providers
	}
	if err := k.Run(&c); err != nil {
		fmt.Fprintln(os.Stderr, "gateway: "+err.Error())
		stop()
		os.Exit(1)
	}
}

// examples returns the ids that help texts show: the first platform, and the shortest account. They come from the
// catalog, so that no platform is named here.
func examples() kong.Vars {
	platforms := parley.Platforms()
	short := slices.MinFunc(platforms, func(a, b sections.Section) int { return cmp.Compare(len(a.Account.Example), len(b.Account.Example)) })
	return kong.Vars{"platform": platforms[0].Name, "account": short.Name + ":" + short.Account.Example}
}

// unknownCommand returns the first argument if it is where a command belongs but names none. Otherwise the default
// command would receive it and report a misleading error.
func unknownCommand(app *kong.Application, args []string) string {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return ""
	}
	for _, command := range app.Children {
		if command.Name == args[0] {
			return ""
		}
	}
	return args[0]
}

// interruptible returns a context that ends at the first SIGINT, SIGTERM or SIGHUP, which begins an orderly shutdown. A
// later SIGINT or SIGTERM ends the process at once, for an impatient user; accepted messages are stored and are answered
// after the next start. A terminal that is closed sends SIGHUP, often twice; under nohup it is ignored. With hangups, SIGHUP goes
// there instead.
func interruptible(hangups chan os.Signal) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	switch {
	case signal.Ignored(syscall.SIGHUP):
	case hangups != nil:
		signal.Notify(hangups, syscall.SIGHUP)
	default:
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		<-signals
		cancel()
		for s := range signals {
			if s != syscall.SIGHUP {
				os.Exit(130)
			}
		}
	}()
	return ctx, cancel
}

// withUnit writes durations with their unit, such as "1.5s": as a number, JSON would hold nanoseconds.
func withUnit(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// logger returns a logger to standard error, with the level and the format of the configuration.
func logger(cfg config.Log) *slog.Logger { return loggerAt(cfg, leveled(cfg)) }

// loggerAt returns a logger to standard error with a level, in the format of the configuration; by default text on a terminal
// and JSON elsewhere.
func loggerAt(cfg config.Log, level slog.Leveler) *slog.Logger {
	format := cfg.Format
	if format == config.LogAuto {
		format = config.LogJSON
		if info, err := os.Stderr.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			format = config.LogText
		}
	}
	if format == config.LogJSON {
		return slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level, ReplaceAttr: withUnit}))
	}
	return slog.New(tint.NewTextHandler(os.Stderr, &tint.Options{Level: level, TimeFormat: time.TimeOnly}))
}
