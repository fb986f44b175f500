package wire

import (
	"strconv"
	"strings"

	"parley/core/llm"
)

// maxName is the maximum length of a function's name in the APIs of OpenAI and others.
const maxName = 64

// Names translates between the names of tools and those that APIs accept, which have only letters, digits, _ and -.
// Names of tools can have more, such as the dots and slashes of MCP servers.
type Names struct{ toWire, toOurs map[string]string }

// NamesOf assigns an accepted name to each tool and call of req: usually the same. Two names that become equal get
// numbers. Tools come first, so that the names of offered tools don't depend on the history.
func NamesOf(req llm.Request) Names {
	n := Names{toWire: map[string]string{}, toOurs: map[string]string{}}
	for _, tool := range req.Tools {
		n.add(tool.Name)
	}
	for _, turn := range req.Messages {
		for _, call := range turn.Calls {
			n.add(call.Name)
		}
	}
	return n
}

func (n Names) add(name string) {
	if _, known := n.toWire[name]; known {
		return
	}
	wire := sanitised(name)
	for i := 2; ; i++ {
		if _, taken := n.toOurs[wire]; !taken {
			break
		}
		suffix := "_" + strconv.Itoa(i)
		wire = sanitised(name)
		wire = wire[:min(len(wire), maxName-len(suffix))] + suffix
	}
	n.toWire[name], n.toOurs[wire] = wire, name
}

// Wire returns the name for the server.
func (n Names) Wire(name string) string { return n.toWire[name] }

// Ours returns the name of the tool that the server means. A name that the model made up is returned unchanged; the
// caller reports it as unknown to the model.
func (n Names) Ours(wire string) string {
	if name, ok := n.toOurs[wire]; ok {
		return name
	}
	return wire
}

// sanitised returns name with every other character replaced by _, cut to maxName.
func sanitised(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
	if clean == "" {
		return "_"
	}
	return clean[:min(len(clean), maxName)]
}
