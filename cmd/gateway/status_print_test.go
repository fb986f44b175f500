package main

import (
	"strings"
	"testing"
)

// Of a bot with several shards, each gateway shows those that it holds, in the order of their numbers.
func TestStatusShowsShards(t *testing.T) {
	for name, test := range map[string]struct {
		report statusReport
		want   string
	}{
		"one shard": {
			statusReport{Replicas: []replicaLine{{Name: "a/1", State: "running", Holds: []leaseLine{{"discord", 13}, {"telegram", 11}}}}},
			"discord (13 s), telegram (11 s)\n",
		},
		"several shards": {
			statusReport{Replicas: []replicaLine{
				{Name: "a/1", State: "running", Holds: []leaseLine{{"discord", 13}, {"discord/10", 12}, {"discord/2", 14}, {"telegram", 11}}},
				{Name: "b/1", State: "running", Holds: []leaseLine{{"discord/1", 9}}},
			}},
			"discord shards 0, 2, 10 (12 s), telegram (11 s)\nb/1",
		},
		"only the first of several shards": {
			statusReport{Replicas: []replicaLine{
				{Name: "a/1", State: "running", Holds: []leaseLine{{"discord", 13}}},
				{Name: "b/1", State: "running", Holds: []leaseLine{{"discord/1", 9}}},
			}},
			"discord shard 0 (13 s)\nb/1",
		},
		"answers that wait too long": {
			statusReport{Waiting: 2, Lag: 1900, Overdue: 1},
			"2 answers wait, the oldest for 1900 s.\n1 of them longer than a turn can take; the log has the reason.\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.report.Store.OK = true
			var out strings.Builder
			if err := test.report.print(&out); err != nil || !strings.Contains(out.String(), test.want) {
				t.Errorf("it prints %v\n%s", err, out.String())
			}
		})
	}
}

// An error of several servers has several lines, and is printed as one.
func TestStatusShowsErrorsInOneLine(t *testing.T) {
	var out strings.Builder
	err := statusReport{Store: service{Text: "reading: failed to connect:\n\ta: refused\n\tb: refused"}}.print(&out)
	if want := "FAIL  store   reading: failed to connect: a: refused b: refused\n"; err != nil || !strings.Contains(out.String(), want) {
		t.Errorf("it prints %v\n%s", err, out.String())
	}
}
