package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"parley"
	"parley/backends"
	"parley/config"
	"parley/internal/local"
)

// statusCmd shows which gateways use the store.
type statusCmd struct {
	JSON bool `name:"json" help:"Print one JSON object."`
}

// statusReport is the output of --json; scripts read it, so its fields stay. Times are in seconds.
type statusReport struct {
	Store    service       `json:"store"`
	Shared   service       `json:"shared"`
	Replicas []replicaLine `json:"replicas"`
	Waiting  int           `json:"waiting"`
	Lag      float64       `json:"lag"`     // the waiting time of the oldest of them
	Overdue  int           `json:"overdue"` // of them, those that wait longer than a turn can take
}

// service is the state of the store, or of Redis.
type service struct {
	OK   bool   `json:"ok"`
	Text string `json:"text"`
}

// replicaLine is one gateway process.
type replicaLine struct {
	Name      string      `json:"name"`
	State     string      `json:"state"`
	Heartbeat float64     `json:"heartbeat"` // since the last one
	Runs      int         `json:"runs"`
	Holds     []leaseLine `json:"holds"`
}

// leaseLine is a lease that a gateway holds.
type leaseLine struct {
	Name string  `json:"name"`
	Ends float64 `json:"ends"` // from now
}

// Run prints the report. It returns an error if the store can't be read. Without Redis answers continue, so that is
// only part of the report.
func (s *statusCmd) Run(ctx context.Context, cfg config.Config) error {
	shared := parley.CheckShared(ctx, cfg, parley.Env{Log: logger(cfg.Log)})
	found, err := local.ReadStatus(ctx, cfg)
	if backends.Missing(err) && !s.JSON {
		return err
	}
	report := reportOf(found)
	report.Shared = service{shared.OK, shared.Text}
	report.Store = service{err == nil, cfg.Store.String() + " answers"}
	if err != nil {
		report.Store.Text = err.Error()
	}
	var printed error
	if s.JSON {
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetEscapeHTML(false)
		printed = encoder.Encode(report)
	} else {
		printed = report.print(os.Stdout)
	}
	if err != nil {
		return errors.New("the store can't be read, so the gateways are unknown")
	}
	return printed
}

// reportOf converts a status for printing.
func reportOf(s local.Status) statusReport {
	report := statusReport{Replicas: []replicaLine{}, Waiting: s.Waiting, Lag: seconds(s.Lag), Overdue: s.Overdue}
	for _, r := range s.Replicas {
		line := replicaLine{Name: r.Name, State: r.State, Heartbeat: seconds(r.SinceHeartbeat), Runs: r.Runs, Holds: []leaseLine{}}
		for _, h := range r.Holds {
			line.Holds = append(line.Holds, leaseLine{h.Name, seconds(h.Ends)})
		}
		report.Replicas = append(report.Replicas, line)
	}
	return report
}

func seconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }

// table returns a writer of rows, whose columns tabs separate. It must be flushed.
func table(to io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(to, 0, 0, 2, ' ', 0) }

// print writes the report as text.
func (r statusReport) print(to io.Writer) error {
	w := table(to)
	for _, s := range []struct {
		name string
		service
	}{{"store", r.Store}, {"shared", r.Shared}} {
		word := "ok"
		if !s.OK {
			word = "FAIL"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", word, s.name, strings.ReplaceAll(shown(strings.Join(strings.Fields(s.Text), " ")), `\"`, `"`))
	}
	if err := w.Flush(); err != nil || !r.Store.OK {
		return err
	}
	if len(r.Replicas) == 0 {
		fmt.Fprintln(w, "No gateway is running.")
	} else {
		fmt.Fprintln(w, "GATEWAY\tSTATE\tHEARTBEAT\tANSWERS\tHOLDS")
	}
	for _, g := range r.Replicas {
		holds := "-"
		if len(g.Holds) > 0 {
			holds = g.holds(r.sharded())
		}
		beat := fmt.Sprintf("%.0f s ago", g.Heartbeat)
		if g.State == "unknown" {
			beat = "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\n", shown(g.Name), g.State, beat, g.Runs, holds)
	}
	switch r.Waiting {
	case 0:
		fmt.Fprintln(w, "Nothing waits.")
	case 1:
		fmt.Fprintf(w, "1 answer waits, for %.0f s.\n", r.Lag)
	default:
		fmt.Fprintf(w, "%d answers wait, the oldest for %.0f s.\n", r.Waiting, r.Lag)
	}
	if r.Overdue > 0 {
		fmt.Fprintf(w, "%d of them longer than a turn can take; the log has the reason.\n", r.Overdue)
	}
	return w.Flush()
}

// sharded returns the platforms whose bot has several shards.
func (r statusReport) sharded() map[string]bool {
	names := map[string]bool{}
	for _, g := range r.Replicas {
		for _, h := range g.Holds {
			if name, _, divided := strings.Cut(h.Name, "/"); divided {
				names[name] = true
			}
		}
	}
	return names
}

// holds lists the leases of a gateway, such as "discord shards 0, 2 (13 s), telegram (11 s)". Of several leases, the one that
// ends first gives the time.
func (r replicaLine) holds(sharded map[string]bool) string {
	var names []string
	shards, ends := map[string][]int{}, map[string]float64{}
	for _, h := range r.Holds {
		name, shard, _ := strings.Cut(h.Name, "/")
		if first, known := ends[name]; !known {
			names, ends[name] = append(names, name), h.Ends
		} else {
			ends[name] = min(first, h.Ends)
		}
		n, _ := strconv.Atoi(shard) // the first shard has no number
		shards[name] = append(shards[name], n)
	}
	for i, name := range names {
		what := ""
		if sharded[name] {
			slices.Sort(shards[name])
			what = " shard"
			if len(shards[name]) > 1 {
				what = " shards"
			}
			what += " " + strings.Trim(strings.ReplaceAll(fmt.Sprint(shards[name]), " ", ", "), "[]")
		}
		names[i] = fmt.Sprintf("%s%s (%.0f s)", shown(name), what, ends[name])
	}
	return strings.Join(names, ", ")
}
