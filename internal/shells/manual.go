package shells

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// Section is a part of a manual page that no model contains, such as FILES.
type Section struct {
	Title string
	Items [][2]string // a name, and its description
}

// Manual writes the manual page of app in the format of man(7). version stands at its foot.
func Manual(to io.Writer, app *kong.Application, version string, more ...Section) error {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line(`.TH %s 1 "" "%s" "User Commands"`, strings.ToUpper(app.Name), roff(version))
	line(".SH NAME\n%s \\- %s", roff(app.Name), roff(app.Help))
	line(".SH SYNOPSIS\n.B %s\n[\\fIcommand\\fR] [\\fIflags\\fR]", roff(app.Name))
	line(".SH FLAGS")
	writeFlags(line, app.Flags)
	line(".SH COMMANDS")
	for _, c := range app.Leaves(true) {
		line(".SS %s", roff(app.Name+" "+c.Summary()))
		line("%s", roff(c.Help))
		for _, p := range c.Positional {
			writeItem(line, p.ShortSummary(), p.Help)
		}
		writeFlags(line, c.Flags)
	}
	for _, s := range more {
		line(".SH %s", roff(s.Title))
		for _, item := range s.Items {
			writeItem(line, item[0], item[1])
		}
	}
	if _, err := io.WriteString(to, b.String()); err != nil {
		return fmt.Errorf("write the manual page: %w", err)
	}
	return nil
}

// writeFlags writes the flags that the help of a command shows.
func writeFlags(line func(string, ...any), flags []*kong.Flag) {
	for _, f := range flags {
		if f.Hidden {
			continue
		}
		name := f.Summary()
		if f.Short != 0 {
			name = "-" + string(f.Short) + ", " + name
		}
		writeItem(line, name, f.Help)
	}
}

// writeItem writes a paragraph with a name in bold.
func writeItem(line func(string, ...any), name, text string) {
	line(".TP\n\\fB%s\\fR\n%s", roff(name), roff(text))
}

// roff escapes a text: a hyphen would be printed as a dash that can't be copied, and a dot at the start of a line is a
// request.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ", `"`, `\(dq`).Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}
