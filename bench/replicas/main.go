// Command replicas measures how many replies a second one, two or three gateways make that share a PostgreSQL and a Redis, and what a
// reply costs:
//
//	go run ./bench/replicas -replicas 3 -for 30s
//
// The gateways, PostgreSQL and Redis are real processes. The model, which answers at once, and the people are in this process: with
// -load web they ask over HTTP, at all gateways in turn, and with -load telegram through a fake of Telegram without limits, whose messages
// one gateway receives. Everyone asks again as soon as the reply is complete. All of them share the machine's cores.
//
// With -load reach it measures how soon a stop, a newer message and a choice at one gateway reach an answer of another one.
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
	"runtime"
	"slices"
	"sync"
	"time"
)

type options struct {
	replicas int
	people   int
	length   time.Duration // what is asked in this time counts
	warm     time.Duration // before that
	load     string
	rounds   int // with -load reach: how often each is measured
	fsync    bool
	dir      string
}

func main() {
	var o options
	flag.IntVar(&o.replicas, "replicas", 1, "gateways at the same time")
	flag.IntVar(&o.people, "people", 64, "people who ask at the same time, each in a conversation of their own")
	flag.DurationVar(&o.length, "for", 30*time.Second, "how long to measure")
	flag.DurationVar(&o.warm, "warm", 5*time.Second, "how long to ask before that")
	flag.StringVar(&o.load, "load", "web", "where people ask: web or telegram; or reach, for how soon gateways reach each other")
	flag.IntVar(&o.rounds, "rounds", 200, "with -load reach, how often each is measured")
	flag.BoolVar(&o.fsync, "fsync", true, "PostgreSQL waits for the disk")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "replicas:", err)
		os.Exit(1)
	}
}

// run measures, and removes everything again.
func run(ctx context.Context, o options, out io.Writer) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	if o.dir, err = os.MkdirTemp("", "parley-replicas-"); err != nil {
		return err
	}
	defer os.RemoveAll(o.dir) //nolint:errcheck // a temporary folder
	binary := filepath.Join(o.dir, "gateway")
	if text, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "parley/cmd/gateway").CombinedOutput(); err != nil {
		return fmt.Errorf("build the gateway: %w\n%s", err, text)
	}
	w, err := newCluster(o)
	if err != nil {
		return err
	}
	defer w.close()
	if err := w.launch(ctx, binary); err != nil {
		return err
	}
	if o.load == loadReach {
		return w.reach(ctx, out)
	}
	return w.measure(ctx, out)
}

// loadReach is the load with which gateways reach each other's answers.
const loadReach = "reach"

func (o options) check() error {
	switch {
	case o.load == loadReach && (o.replicas < 2 || o.rounds < 1 || o.people < 0):
		return errors.New("with -load reach, -replicas is at least 2, -rounds at least 1, and -people at least 0")
	case o.load == loadReach:
		return nil
	case o.replicas < 1 || o.people < 1 || o.load != "web" && o.load != "telegram":
		return errors.New("-replicas and -people are at least 1, and -load is web, telegram or reach")
	}
	return nil
}

// sample is the CPU time that was used up to a moment.
type sample struct {
	at                    time.Time
	gateways              []time.Duration
	postgres, redis, load time.Duration
}

// crowd is people who ask one question after the other until they are told to stop.
type crowd struct {
	failed chan error // has an element for each of them at the end

	mu     sync.Mutex
	counts bool
	took   []time.Duration // of the replies that count
}

func (c *crowd) count(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts = on
}

// crowd has all people ask until ctx is done.
func (w *cluster) crowd(ctx context.Context) *crowd {
	c := &crowd{failed: make(chan error, w.o.people)}
	for person := range w.o.people {
		go func() { c.failed <- c.ask(ctx, w, person) }()
	}
	return c
}

// ask asks as one person until ctx is done.
func (c *crowd) ask(ctx context.Context, w *cluster, person int) error {
	for n := 0; ctx.Err() == nil; n++ {
		d, err := w.ask(ctx, person, n)
		if err != nil {
			return err
		}
		c.mu.Lock()
		if c.counts {
			c.took = append(c.took, d)
		}
		c.mu.Unlock()
	}
	return nil
}

// measure asks, first to warm up, and prints what replies took and cost.
func (w *cluster) measure(ctx context.Context, out io.Writer) error {
	asking, stop := context.WithCancel(ctx)
	defer stop()
	c := w.crowd(asking)
	if err := wait(ctx, w.o.warm, c.failed); err != nil {
		return err
	}
	before, err := w.sample()
	if err != nil {
		return err
	}
	c.count(true)
	if err := wait(ctx, w.o.length, c.failed); err != nil {
		return err
	}
	c.count(false)
	after, err := w.sample()
	if err != nil {
		return err
	}
	stop()
	for range w.o.people {
		<-c.failed // what is cut off now is of no interest
	}
	return w.print(out, before, after, c.took)
}

// wait returns after d, or when something fails.
func wait(ctx context.Context, d time.Duration, failed <-chan error) error {
	select {
	case <-time.After(d):
		return nil
	case err := <-failed:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w *cluster) print(out io.Writer, before, after sample, took []time.Duration) error {
	if len(took) == 0 {
		return errors.New("there was no reply")
	}
	slices.Sort(took)
	n := float64(len(took))
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	var gateways time.Duration
	var each []string
	for i := range after.gateways {
		used := after.gateways[i] - before.gateways[i]
		gateways += used
		each = append(each, fmt.Sprintf("%.1f", used.Seconds()))
	}
	_, err := fmt.Fprintf(out, `load %s, gateways: %d, people: %d, cores: %d, fsync %v, %.0f s
replies/s            %8.1f
CPU ms per reply     gateways %.2f, PostgreSQL %.2f, Redis %.2f, people and model %.2f
p50, p99 in ms       %.1f, %.1f
CPU s of each gateway %v
`, w.o.load, w.o.replicas, w.o.people, runtime.NumCPU(), w.o.fsync, after.at.Sub(before.at).Seconds(), n/after.at.Sub(before.at).Seconds(),
		ms(gateways)/n, ms(after.postgres-before.postgres)/n, ms(after.redis-before.redis)/n, ms(after.load-before.load)/n,
		ms(took[len(took)/2]), ms(took[len(took)*99/100]), each)
	return err
}
