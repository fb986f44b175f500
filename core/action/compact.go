package action

import (
	"fmt"
	"strings"

	"parley/core/partialjson"
	"parley/core/text"
)

const (
	maxCompact = 80  // maximum length of a call's parameters, in characters
	maxShort   = 120 // maximum length of its status, in characters
	maxValues  = 4   // maximum number of listed parameters
	MaxName    = 64  // maximum length of an action's name, which the model may have invented, in characters
)

// values lists the parameter values, for actions without [Spec.Compact].
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

// Brief returns s as one line of at most most characters, without invisible ones. It reads no more of s than needed.
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
