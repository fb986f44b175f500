package wire

import (
	"strconv"
	"strings"

	"parley/core/llm"
)

// maxName is the length of a function's name that OpenAI accepts.
const maxName = 64

// Names translates between the names of actions and those that the API accepts: letters, digits, _ and -.
type Names struct{ toWire, toOurs map[string]string }

// NamesOf gives each name that req uses one of its own, tools first; almost always the same.
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

// Wire is the name that the server sees.
func (n Names) Wire(name string) string { return n.toWire[name] }

// Ours is the name of the action that a server means; one that it made up stays as it is.
func (n Names) Ours(wire string) string {
	if name, ok := n.toOurs[wire]; ok {
		return name
	}
	return wire
}

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
