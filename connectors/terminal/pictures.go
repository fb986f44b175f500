package terminal

import (
	"context"
	"fmt"
	"strings"
)

// Picture is one that an answer shows: a terminal names it, and where it can be opened.
type Picture struct {
	URL  string
	Type string // MIME; empty if the gateway does not say
	Size int64  // bytes; not positive if unknown
}

// pictures are those of an answer. One that can't be looked for is named all the same.
func (c *Client) pictures(ctx context.Context, addresses []string) (all []Picture) {
	for _, address := range addresses {
		p, err := c.Picture(ctx, address)
		if err != nil {
			p.Type, p.Size = "", 0
		}
		all = append(all, p)
	}
	return all
}

// label names the nth picture.
func (p Picture) label(n int) string {
	kind := strings.TrimPrefix(p.Type, "image/")
	name := fmt.Sprintf("picture-%d", n+1)
	switch {
	case kind == "" || p.Size <= 0:
		return name
	case p.Size < 1000:
		return fmt.Sprintf("%s.%s (%s, %d bytes)", name, kind, p.Type, p.Size)
	}
	return fmt.Sprintf("%s.%s (%s, %d kB)", name, kind, p.Type, (p.Size+500)/1000)
}

// link makes a row lead to address, on terminals that know how (OSC 8).
func (l *look) link(row, address string) string {
	if !l.color {
		return row
	}
	return "\x1b]8;;" + address + "\x1b\\" + row + "\x1b]8;;\x1b\\"
}

// pictures are a line for each picture, and its address below.
func (l *look) pictures(all []Picture) (rows []string) {
	for n, p := range all {
		address := harmless(p.URL)
		for _, line := range []string{"▣ " + harmless(p.label(n)), address} {
			for _, row := range fold(line, l.width) {
				rows = append(rows, l.link(row, address))
			}
		}
	}
	return rows
}
