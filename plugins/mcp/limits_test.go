//go:build linux

package mcp

import (
	"errors"
	"log/slog"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/core/action"
	"parley/sim"
)

// greedy programs take all that they get.
var greedy = map[string][]string{
	"memory": {"tail", "/dev/zero"},
	"cpu":    {"sh", "-c", "while :; do :; done"},
}

func TestLimits(t *testing.T) {
	for name, l := range map[string]Limits{"memory": {Memory: 64}, "cpu": {CPU: time.Second}} {
		command := l.limited(greedy[name])
		out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput()
		exit := (*exec.ExitError)(nil)
		if !errors.As(err, &exit) {
			t.Fatalf("%s: %v", name, err)
		}
		status := exit.Sys().(syscall.WaitStatus)
		if name == "memory" && !strings.Contains(string(out), "memory") || name == "cpu" && (!status.Signaled() || status.Signal() != syscall.SIGXCPU && status.Signal() != syscall.SIGKILL) {
			t.Errorf("%s: it ended with %v and wrote %q", name, err, out)
		}
	}
	plain := []string{"echo", "it's", "$HOME", "a b"}
	if got := (Limits{}).limited(plain); len(got) != len(plain) {
		t.Errorf("without limits: %q", got)
	}
	command := Limits{Memory: 64, CPU: time.Hour}.limited(plain)
	if out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).Output(); err != nil || string(out) != "it's $HOME a b\n" {
		t.Errorf("with limits: %q, %v", out, err)
	}
}

// A server that exceeds a limit is started again after a pause, costs the others nothing, and calls say that it can't be reached.
func TestGreedyServer(t *testing.T) {
	log := &sim.Log{}
	p := started(t, Options{Log: slog.New(slog.NewTextHandler(log, nil)), Servers: []Server{fake(t, "good"), {Name: "greedy", Command: greedy["memory"], Limits: Limits{Memory: 64}}}})
	c := p.Providers[0].(provider).p.clients[1]
	until(t, "it is started again", func() bool { return strings.Count(log.String(), "trying again") > 1 })
	named(t, p, "fake__echo")
	c.mu.Lock()
	c.state.since = time.Now().Add(-startLimit)
	c.mu.Unlock()
	err := p.Await(t.Context(), action.TurnContext{}, "greedy__order", nil)
	if err == nil || !strings.Contains(err.Error(), "the MCP server greedy can't be reached") {
		t.Errorf("%v", err)
	}
}

func TestMissingProgram(t *testing.T) {
	for _, program := range []string{"/no/such/program", "./none", "no-such-program"} {
		if _, err := found([]string{program}, t.TempDir()); err == nil || !strings.Contains(err.Error(), "start "+program) {
			t.Errorf("%s: %v", program, err)
		}
	}
}
