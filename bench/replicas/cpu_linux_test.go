package main

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// The CPU time of a process is read as the kernel counts it.
func TestUsed(t *testing.T) {
	before, err := used(os.Getpid(), true)
	if err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); time.Since(begun) < 10*time.Second; {
		now, err := used(os.Getpid(), true)
		if err != nil {
			t.Fatal(err)
		}
		if now > before {
			return
		}
	}
	t.Errorf("ten busy seconds count as nothing after %v", before)
}

func TestOptions(t *testing.T) {
	for _, o := range []options{{replicas: 0, people: 1, load: "web"}, {replicas: 1, people: 0, load: "web"}, {replicas: 1, people: 1, load: "letters"}} {
		if err := run(t.Context(), o, io.Discard); err == nil || !strings.Contains(err.Error(), "-load is web or telegram") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
