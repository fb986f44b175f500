package action

import (
	"fmt"
	"strings"

	"parley/core/partialjson"
	"parley/core/text"
)

const (
	maxCompact = 80  // characters of a call's parameters
	maxShort   = 120 // and of how it goes
	maxValues  = 4   // parameters that are listed
	MaxName    = 64  // characters of an action's name, which the model may have made up
)

// values lists what the parameters are, for calls of actions that don't say better.
func values(r *partialjson.Reader) string {
	var shown []string
	for _, name := range r.Names() {
		if v := value(name, r.Object()[name]); v != "" {
			shown = append(shown, v)
		}
		if len(shown) == maxValues {
			break
		}
	}
	return strings.Join(shown, ", ")
}

func value(name string, v any) string {
	switch v := v.(type) {
	case string:
		return Brief(v, maxCompact/2)
	case float64:
		return fmt.Sprint(v)
	case bool:
		if v {
			return name
		}
	case []any:
		return fmt.Sprintf("%s: %d", name, len(v))
	}
	return ""
}

// Brief is s as one line, without what nobody sees, of at most most characters. It looks at no more of s than that.
func Brief(s string, most int) string {
	cut := false
	if limit := 4 * most; len(s) > limit {
		s, cut = strings.ToValidUTF8(s[:limit], ""), true
	}
	s = strings.Join(strings.Fields(text.Visible(s)), " ")
	if runes := []rune(s); len(runes) > most {
		s, cut = strings.TrimSpace(string(runes[:most-1])), true
	}
	if cut {
		s += "…"
	}
	return s
}
