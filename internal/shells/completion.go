// Package shells writes files about a program for the shell of its users: completions of its commands and flags, and its
// manual page. Both come from kong's model of the program, so that they never differ from its help.
package shells

import (
	"fmt"
	"io"
	"strings"
	"text/template"

	"github.com/alecthomas/kong"
)

// Names are the shells that Complete can write completions for.
func Names() []string { return []string{"bash", "zsh", "fish"} }

// place is a position on the command line: after the words of a command.
type place struct {
	At       string // the words, each with a space before it, such as " mcp login"; "" after the program's name
	Commands []word
	Flags    []flag
}

// word is a candidate, with its description.
type word struct{ Name, Help string }

// flag is a flag with its description.
type flag struct {
	word
	Short string // one letter, or ""
	Takes bool   // it needs a value
}

// Complete writes the completions of app for a shell of Names.
func Complete(to io.Writer, shell string, app *kong.Application) error {
	t, ok := scripts[shell]
	if !ok {
		return fmt.Errorf("there are no completions for %q, only for %s", shell, strings.Join(Names(), ", "))
	}
	script := template.Must(template.New(shell).Funcs(template.FuncMap{"quote": quotes[shell]}).Parse(t))
	data := struct {
		Name   string
		Places []place
	}{app.Name, places(app.Node, "")}
	if err := script.Execute(to, data); err != nil {
		return fmt.Errorf("write the completions for %s: %w", shell, err)
	}
	return nil
}

// places returns the position after n, and those after its commands.
func places(n *kong.Node, at string) []place {
	here := place{At: at}
	groups := n.AllFlags(true)
	if n.DefaultCmd != nil { // its flags can be used without its name
		groups = append(groups, n.DefaultCmd.Flags)
	}
	for _, group := range groups {
		for _, f := range group {
			if f.Hidden {
				continue
			}
			c := flag{word: word{"--" + f.Name, f.Help}, Takes: !f.IsBool()}
			if f.Short != 0 {
				c.Short = string(f.Short)
			}
			here.Flags = append(here.Flags, c)
		}
	}
	var below []place
	for _, c := range n.Children {
		if c.Hidden {
			continue
		}
		here.Commands = append(here.Commands, word{c.Name, c.Help})
		below = append(below, places(c, at+" "+c.Name)...)
	}
	for _, p := range n.Positional { // one with a list of values
		if p.Enum != "" {
			for _, v := range p.EnumSlice() {
				here.Commands = append(here.Commands, word{v, p.Help})
			}
		}
	}
	return append([]place{here}, below...)
}

// posix quotes a text for bash and zsh.
func posix(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// quotes has the function of each shell that quotes a text.
var quotes = map[string]func(string) string{
	"bash": posix,
	"zsh":  posix,
	"fish": func(s string) string { return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'" },
}

// scripts has the template for each shell. A script finds the position by the words that are commands, and ignores flags
// and their values in between. After a flag that takes a value, the shell completes names of files.
var scripts = map[string]string{
	"bash": `# Completions of {{.Name}} for bash.
_{{.Name}}() {
	local i at= words= word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		case "$at ${COMP_WORDS[i]}" in
{{- range .Places}}{{if .At}}
		{{quote .At}}) at={{quote .At}} ;;{{end}}{{end}}
		esac
	done
	case "$at:$before" in
{{- range $p := .Places}}{{range .Flags}}{{if .Takes}}
	{{quote (print $p.At ":" .Name)}}{{if .Short}} | {{quote (print $p.At ":-" .Short)}}{{end}}) return ;;{{end}}{{end}}{{end}}
	esac
	case "$at" in
{{- range .Places}}
	{{quote .At}}) words='{{range .Commands}}{{.Name}} {{end}}{{range .Flags}}{{.Name}} {{end}}' ;;{{end}}
	esac
	COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _{{.Name}} {{.Name}}
`,
	"zsh": `#compdef {{.Name}}
# Completions of {{.Name}} for zsh.
_{{.Name}}() {
	local at= word
	local -a candidates options
	for word in ${words[2,CURRENT-1]}; do
		case "$at $word" in
{{- range .Places}}{{if .At}}
		{{quote .At}}) at={{quote .At}} ;;{{end}}{{end}}
		esac
	done
	case "$at:${words[CURRENT-1]}" in
{{- range $p := .Places}}{{range .Flags}}{{if .Takes}}
	{{quote (print $p.At ":" .Name)}}{{if .Short}} | {{quote (print $p.At ":-" .Short)}}{{end}}) _files; return ;;{{end}}{{end}}{{end}}
	esac
	case "$at" in
{{- range .Places}}
	{{quote .At}})
		candidates=({{range .Commands}}{{quote (print .Name ":" .Help)}} {{end}})
		options=({{range .Flags}}{{quote (print .Name ":" .Help)}} {{end}}) ;;{{end}}
	esac
	if [[ $PREFIX == -* ]]; then
		_describe -o option options
	elif (( $#candidates )); then
		_describe command candidates
	else
		_files
	fi
}
if [[ $funcstack[1] == _{{.Name}} ]]; then
	_{{.Name}} "$@"
else
	compdef _{{.Name}} {{.Name}}
fi
`,
	"fish": `# Completions of {{.Name}} for fish.
function __{{.Name}}_at
	set -l at ''
	set -l words (commandline -opc)
	for word in $words[2..-1]
		switch "$at $word"
			case{{range .Places}}{{if .At}} {{quote .At}}{{end}}{{end}}
				set at "$at $word"
		end
	end
	test "$at" = "$argv[1]"
end
{{range $p := .Places}}{{range .Commands}}complete -c {{$.Name}} -n '__{{$.Name}}_at "{{$p.At}}"' -f -a {{quote .Name}} -d {{quote .Help}}
{{end}}{{range .Flags}}complete -c {{$.Name}} -n '__{{$.Name}}_at "{{$p.At}}"' -l {{slice .Name 2}}{{if .Short}} -s {{.Short}}{{end}}{{if .Takes}} -r{{end}} -d {{quote .Help}}
{{end}}{{end}}`,
}
