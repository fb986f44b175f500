// Command soak runs the real gateway against the fakes of all platforms, kills it with SIGKILL every few seconds while users
// ask questions, and then judges the answers that they see. `make soak` runs it; it is no part of `make test`. Some of the kills are orderly stops
// with SIGTERM, some answers need several messages, and the platforms limit the rate of requests now and then.
//
// With -replicas 3 it runs three gateways on one PostgreSQL and one Redis, kills one of them at random and starts it again a little later,
// or kills all of them at once; with -outages it also kills Redis and PostgreSQL now and then.
//
// Each question must have its whole answer once: none lost, half-written, doubled or set aside. In each room, the answers must stand in
// the order of the questions, and the parts of an answer in the order of its text. A question can only remain without an answer
// if ten earlier ones of its room waited when it was asked, and its author was then asked to repeat it.
//
// On Telegram, where no nonce tells what became of a request under way, two things can stand besides the answer, and are counted: the
// repetition of a message with a mark, and a preview without its end. Each must be explained by a create of the same part that was
// under way when the gateway that sent it was killed. A stop with SIGTERM explains nothing.
//
// With -break the soak spoils something on purpose; it must then fail, which proves its judgement.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

type options struct {
	length  time.Duration // how long the gateway is killed
	every   time.Duration // from one kill to the next
	quiet   time.Duration // how long answers can take after the last kill
	latency time.Duration // of each request to a platform, half before and half after it takes effect
	answer  time.Duration // the longest time in which the model writes an answer
	stops   float64       // share of kills that are orderly stops
	all     float64       // share of kills that end all gateways at once
	long    float64       // share of answers that need several messages
	limits  time.Duration // from one rate limit of each platform to the next; 0 for none
	spoil   string        // the name of a sabotage, or empty
	seed    uint64
	dir     string

	reload   time.Duration // from one change of the configuration to the next, which the gateways apply while they answer; 0 for none
	replicas int           // gateways at the same time
	outages  bool          // with replicas: Redis and PostgreSQL are killed, too
}

func main() {
	var o options
	flag.DurationVar(&o.length, "for", 3*time.Minute, "how long the gateway is killed")
	flag.DurationVar(&o.every, "every", 5*time.Second, "time from one kill to the next")
	flag.DurationVar(&o.quiet, "quiet", 3*time.Minute, "how long to wait for answers after the last kill")
	flag.DurationVar(&o.latency, "latency", 150*time.Millisecond, "time that each request to a platform takes")
	flag.DurationVar(&o.answer, "answer", 2*time.Second, "longest time in which the model writes an answer")
	flag.Float64Var(&o.stops, "stops", 0.2, "share of kills that are orderly stops with SIGTERM")
	flag.Float64Var(&o.all, "all", 0.15, "share of kills that end all gateways at once (with -replicas)")
	flag.Float64Var(&o.long, "long", 0.12, "share of answers on chat platforms that need several messages")
	flag.DurationVar(&o.limits, "limits", 12*time.Second, "time from one rate limit (429) of each platform to the next; 0 for none")
	flag.DurationVar(&o.reload, "reload", 0, "time from one change of config.yaml to the next, which gateways apply without a restart; 0 for none")
	flag.StringVar(&o.spoil, "break", "", "spoil something on purpose, so that the soak must fail: "+strings.Join(slices.Sorted(maps.Keys(sabotages())), ", "))
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

// prepare makes the folder and builds the gateway into it.
func (o *options) prepare(ctx context.Context) (binary string, err error) {
	if o.dir == "" {
		o.dir, err = os.MkdirTemp("", "parley-soak-")
	} else {
		err = os.MkdirAll(o.dir, 0o755)
	}
	if err != nil {
		return "", fmt.Errorf("make the folder: %w", err)
	}
	binary = filepath.Join(o.dir, "gateway")
	if text, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "parley/cmd/gateway").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the gateway: %w\n%s", err, text)
	}
	return binary, nil
}

// soak runs everything and reports whether every number is as required.
func soak(ctx context.Context, o options, out io.Writer) (bool, error) {
	if _, known := sabotages()[o.spoil]; !known && o.spoil != "" {
		return false, fmt.Errorf("-break %s is unknown", o.spoil)
	}
	binary, err := o.prepare(ctx)
	if err != nil {
		return false, err
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
	if w.sabotage.kills != nil {
		w.sabotage.kills(p.kills)
	}
	r := w.judge(p.kills)
	r.info = append(r.info, fmt.Sprintf("The last answers came %.0f s after the last question.", took.Seconds()))
	r.print(out)
	if err := r.save(filepath.Join(o.dir, "report.txt")); err != nil {
		return false, err
	}
	return r.ok(), nil
}

// storm asks and kills until the time is over, and leaves a running gateway behind.
func storm(ctx context.Context, o options, w *environment, p *fleet) error {
	asking, stop := context.WithTimeout(ctx, o.length)
	defer stop()
	w.ask(asking)
	w.work.Go(func() { w.limitRates(asking) })
	if o.reload > 0 {
		w.work.Go(func() { w.reconfigure(asking, o.reload) })
	}
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
			ticks.Reset(o.every) // an orderly stop can take longer
		}
	}
}
