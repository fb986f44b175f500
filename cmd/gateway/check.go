package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"parley"
	"parley/config"
	"parley/internal/local"
)

// checkCmd tests the configuration.
type checkCmd struct {
	JSON bool `name:"json" help:"Print the findings as JSON."`
	Fix  bool `help:"Correct what is safe to correct: files with secrets that other users can read."`
}

// The results of findings.
const (
	resultOK   = "ok"
	resultWarn = "warn"
	resultFail = "fail"
	resultOff  = "off"
)

// finding is one line of a report.
type finding struct {
	Part   string `json:"part,omitempty"` // the key in config.yaml; can be empty
	Result string `json:"result"`
	Text   string `json:"text"`
}

// report is the result of a check. With --json it is printed as it is.
type report struct {
	Findings []finding `json:"findings"`
	Fine     int       `json:"fine"`
	Warnings int       `json:"warnings"`
	Problems int       `json:"problems"`
}

// add adds a finding.
func (r *report) add(part, result, text string) {
	r.Findings = append(r.Findings, finding{part, result, text})
	switch result {
	case resultOK:
		r.Fine++
	case resultWarn:
		r.Warnings++
	case resultFail:
		r.Problems++
	}
}

// Run prints the findings, and returns an error if any check failed. Warnings don't count as failures.
func (k *checkCmd) Run(ctx context.Context, c *cli) error {
	cfg, from, err := c.load()
	if err != nil && !k.JSON {
		return err
	}
	var r report
	if err != nil {
		r.add("file", resultFail, err.Error())
	} else {
		r.add("file", resultOK, from)
		k.check(ctx, c, cfg, &r)
	}
	if k.JSON {
		err = printJSON(r)
	} else {
		r.print()
	}
	if r.Problems > 0 {
		return errors.Join(err, errors.New(counted(r.Problems, "problem")+" to fix"))
	}
	return err
}

// check adds all findings about a configuration that could be read.
func (k *checkCmd) check(ctx context.Context, c *cli, cfg config.Config, r *report) {
	for _, f := range parley.Check(ctx, cfg, parley.Env{Log: logger(cfg.Log)}) {
		switch {
		case f.Doubt:
			r.add(f.Part, resultWarn, f.Text)
		case f.OK:
			r.add(f.Part, resultOK, f.Text)
		default:
			r.add(f.Part, resultFail, f.Text)
		}
	}
	k.checkFiles(c, cfg, r)
	for _, line := range cfg.Warnings {
		r.add("", resultWarn, line)
	}
	for _, line := range cfg.Off() {
		r.add("", resultOff, line)
	}
}

// checkFiles looks for files with secrets or conversations that other users of the machine can read. Windows has no such bits.
func (k *checkCmd) checkFiles(c *cli, cfg config.Config, r *report) {
	if runtime.GOOS == "windows" {
		return
	}
	names := []string{filesFor(c.file()).env}
	for _, ending := range []string{"", "-wal", ".tombstones"} {
		names = append(names, local.Beside(cfg, ending))
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm()&0o077 == 0 {
			continue
		}
		if !k.Fix {
			r.add("permissions", resultWarn, fmt.Sprintf("%s can be read by other users of this machine; gateway check --fix makes it private", name))
		} else if err := os.Chmod(name, info.Mode().Perm()&^0o077); err != nil {
			r.add("permissions", resultFail, fmt.Sprintf("make %s private: %v; its owner can do it", name, err))
		} else {
			r.add("permissions", resultOK, name+" is private now")
		}
	}
}

// print writes a line for each finding, and their numbers.
func (r *report) print() {
	words := map[string]string{resultOK: "ok   ", resultWarn: "warn ", resultFail: "FAIL ", resultOff: "off  "}
	for _, f := range r.Findings {
		if f.Part == "" {
			fmt.Printf("%s %s\n", words[f.Result], f.Text)
		} else {
			fmt.Printf("%s %-22s %s\n", words[f.Result], f.Part, f.Text)
		}
	}
	sum := []string{fmt.Sprintf("%d fine", r.Fine)}
	if r.Warnings > 0 {
		sum = append(sum, counted(r.Warnings, "warning"))
	}
	if r.Problems > 0 {
		sum = append(sum, counted(r.Problems, "problem"))
	}
	fmt.Println(strings.Join(sum, ", "))
}

// counted returns a number with a noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func printJSON(v any) error {
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(v)
}
