// Command soak runs the real gateway against the fakes of all platforms, kills it with SIGKILL every few seconds while people
// ask questions, and then judges what people see. `make soak` runs it; it is no part of `make test`.
//
// With -replicas 3 it runs three gateways on one PostgreSQL and one Redis, kills one of them at random and starts it again a little later;
// with -outages it also kills Redis and PostgreSQL now and then.
//
// Each question must have its whole answer once: none lost, half-written, doubled or set aside. On Telegram, where no nonce tells
// what became of a request under way, two things can stand besides the answer, and are counted: its repetition with a mark, and a
// preview without its end. Each must be explained by a create that took effect and was under way at a kill.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"
)

type options struct {
	length  time.Duration // how long the gateway is killed
	every   time.Duration // from one kill to the next
	quiet   time.Duration // how long answers can take after the last kill
	latency time.Duration // of each request to a platform, half before and half after it takes effect
	answer  time.Duration // the longest time in which the model writes an answer
	seed    uint64
	dir     string

	replicas int  // gateways at the same time
	outages  bool // with replicas: Redis and PostgreSQL are killed, too
}

func main() {
	var o options
	flag.DurationVar(&o.length, "for", 3*time.Minute, "how long the gateway is killed")
	flag.DurationVar(&o.every, "every", 5*time.Second, "time from one kill to the next")
	flag.DurationVar(&o.quiet, "quiet", 3*time.Minute, "how long to wait for answers after the last kill")
	flag.DurationVar(&o.latency, "latency", 150*time.Millisecond, "time that each request to a platform takes")
	flag.DurationVar(&o.answer, "answer", 2*time.Second, "longest time in which the model writes an answer")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "seed of the load")
	flag.IntVar(&o.replicas, "replicas", 1, "gateways at the same time; several share a PostgreSQL and a Redis")
	flag.BoolVar(&o.outages, "outages", false, "kill Redis every 30 s and PostgreSQL every 110 s, too (with -replicas)")
	flag.StringVar(&o.dir, "dir", "", "folder for the binary, the store, the log and the report (default: a new temporary one)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := soak(ctx, o, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
	if !ok {
		os.Exit(1)
	}
}

// soak runs everything and reports whether every number is as required.
func soak(ctx context.Context, o options, out io.Writer) (bool, error) {
	if o.dir == "" {
		dir, err := os.MkdirTemp("", "parley-soak-")
		if err != nil {
			return false, fmt.Errorf("make a folder: %w", err)
		}
		o.dir = dir
	} else if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return false, fmt.Errorf("make the folder: %w", err)
	}
	binary := filepath.Join(o.dir, "gateway")
	if text, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "parley/cmd/gateway").CombinedOutput(); err != nil {
		return false, fmt.Errorf("build the gateway: %w\n%s", err, text)
	}
	fmt.Fprintf(out, "soak: %v of kills every %v, seed %d, in %s\n", o.length, o.every, o.seed, o.dir)
	w, err := newWorld(o)
	if err != nil {
		return false, err
	}
	defer w.close()
	p, err := launch(binary, w)
	if err != nil {
		return false, err
	}
	defer p.end()
	if err := w.openConversations(ctx); err != nil {
		return false, err
	}
	if err := storm(ctx, o, w, p); err != nil {
		return false, err
	}
	took := w.settle(ctx, o.quiet)
	r := w.judge(p.kills)
	r.info = append(r.info, fmt.Sprintf("The last answers came %.0f s after the last question.", took.Seconds()))
	r.print(out)
	if err := r.save(filepath.Join(o.dir, "report.txt")); err != nil {
		return false, err
	}
	return r.ok(), nil
}

// storm asks and kills until the time is over, and leaves a running gateway behind.
func storm(ctx context.Context, o options, w *world, p *fleet) error {
	asking, stop := context.WithTimeout(ctx, o.length)
	defer stop()
	w.ask(asking)
	ticks := time.NewTicker(o.every)
	defer ticks.Stop()
	outages := w.backends.outages(asking, o.outages)
	for {
		select {
		case <-asking.Done():
			return errors.Join(ctx.Err(), <-outages, p.revive())
		case err := <-p.died:
			return fmt.Errorf("the gateway ended by itself: %w; its log is in %s", err, o.dir)
		case <-ticks.C:
			if err := p.kill(); err != nil {
				return err
			}
		}
	}
}
