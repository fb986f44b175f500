package main

import (
	"io"
	"os"
	"parley/internal/require"
	"strings"
	"testing"
	"time"
)

// The CPU time of a process is read as the kernel counts it.
func TestUsed(t *testing.T) {
	before, err := used(os.Getpid(), true)
	require.NoError(t, err)
	for begun := time.Now(); time.Since(begun) < 10*time.Second; {
		now, err := used(os.Getpid(), true)
		require.NoError(t, err)
		if now > before {
			return
		}
	}
	t.Errorf("ten busy seconds count as nothing after %v", before)
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		options options
		want    string
	}{
		{options{replicas: 0, people: 1, load: "web"}, "-replicas and -people are at least 1"},
		{options{replicas: 1, people: 0, load: "web"}, "-replicas and -people are at least 1"},
		{options{replicas: 1, people: 1, load: "letters"}, "-load is web, telegram or reach"},
		{options{replicas: 1, rounds: 1, load: loadReach}, "-replicas is at least 2"},
		{options{replicas: 2, rounds: 0, load: loadReach}, "-rounds at least 1"},
	} {
		if err := run(t.Context(), c.options, io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.options, err)
		}
	}
}
