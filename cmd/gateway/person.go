package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"parley/core/chat"
	"parley/internal/local"
)

// personCmd exports or deletes the data about a person.
type personCmd struct {
	Export exportPersonCmd `cmd:"" help:"Write everything that is stored about a person, as JSON."`
	Delete deletePersonCmd `cmd:"" help:"Delete everything that is stored about a person."`
}

type exportPersonCmd struct {
	Account string `arg:"" help:"Account of the person, such as ${account}."`
	Output  string `short:"o" placeholder:"FILE" help:"Write to this file, which must not exist, instead of standard output."`
}

// exportVersion is the version of the format of exports. It rises when programs that read it have to change.
const exportVersion = 1

// Run writes the export. A file is private and must not exist, so that it can't replace another.
func (e *exportPersonCmd) Run(ctx context.Context, c *cli) (err error) {
	p, err := openPerson(ctx, c, e.Account)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	return writeTo(e.Output, func(to io.Writer) (int, error) {
		return writeExport(to, "person", e.Account, func(each func(chat.PersonalPage) error) error { return p.Export(ctx, each) })
	})
}

// openPerson checks the form of an account and returns access to its data.
func openPerson(ctx context.Context, c *cli, account string) (*local.Person, error) {
	platform, id, ok := strings.Cut(account, ":")
	if !ok || platform == "" || id == "" {
		return nil, fmt.Errorf("%q is no account; it is a platform and an id, such as %s", account, examples()["account"])
	}
	cfg, _, err := c.load()
	if err != nil {
		return nil, err
	}
	return local.OpenPerson(ctx, cfg, account)
}

// writeExport writes the data about a person or a room as one JSON object, keeping no more than a page in memory, and
// returns the number of records. Each record is on a line of its own, so that programs can read it line by line too.
func writeExport(to io.Writer, subject, id string, pages func(func(chat.PersonalPage) error) error) (records int, err error) {
	out := bufio.NewWriter(to)
	head, err := json.Marshal(id)
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(out, "{\n\"version\": %d,\n%q: %s,\n\"exported\": %q,\n\"sections\": {", exportVersion, subject, head, time.Now().UTC().Format(time.RFC3339))
	section := ""
	err = pages(func(page chat.PersonalPage) error {
		separator := ",\n"
		if page.Section != section {
			if section != "" {
				fmt.Fprint(out, "\n],")
			}
			section, separator = page.Section, fmt.Sprintf("\n%q: [\n", page.Section)
		}
		for _, r := range page.Records {
			fmt.Fprintf(out, "%s%s", separator, r)
			separator = ",\n"
			records++
		}
		return out.Flush()
	})
	if err != nil {
		return records, errors.Join(err, out.Flush())
	}
	if section != "" {
		fmt.Fprint(out, "\n]\n")
	}
	fmt.Fprint(out, "}\n}\n")
	return records, out.Flush()
}

type deletePersonCmd struct {
	Account string `arg:"" help:"Account of the person, such as ${account}."`
	Yes     bool   `help:"Don't ask for confirmation."`
}

// Run deletes after a confirmation, and prints the number of deleted records of each section.
func (d *deletePersonCmd) Run(ctx context.Context, c *cli) (err error) {
	p, err := openPerson(ctx, c, d.Account)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if !d.Yes && !confirmed(ctx, os.Stdin, d.Account) {
		return errors.New("nothing was deleted; to delete without this question, add --yes")
	}
	sum, linked, err := p.Delete(ctx)
	for _, section := range slices.Sorted(maps.Keys(sum.Deleted)) {
		if n := sum.Deleted[section]; n > 0 {
			fmt.Printf("%8d  %s\n", n, strings.ReplaceAll(section, "_", " "))
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("%w; run the command again to delete the rest", err)
	case sum.Open > 0:
		fmt.Printf("%d answers to %s have not ended; they end while a gateway runs. Run the command again then, to delete what is left of them.\n", sum.Open, d.Account)
		return nil
	}
	fmt.Printf("Nothing is stored about %s any more.\n", d.Account)
	for _, other := range linked {
		fmt.Printf("It was linked with %[1]s, whose data stays. To delete that too: gateway person delete %[1]s\n", other.Account())
	}
	return nil
}

// confirmed asks for a confirmation and reports whether it was given. Without an answer nothing is deleted.
func confirmed(ctx context.Context, from io.Reader, account string) bool {
	fmt.Printf("This deletes the messages, facts, files and settings of %s, also in groups, and can't be undone. Delete them? [yes/no] ", account)
	line, err := readLine(ctx, bufio.NewReader(io.LimitReader(from, 100)))
	fmt.Println()
	return err == nil && strings.EqualFold(strings.TrimSpace(line), "yes")
}
