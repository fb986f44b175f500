package action

import (
	"fmt"
	"strings"

	"parley/core/text"
	"parley/internal/partialjson"
)

const (
	maxCompact = 80  // maximum length of a call's parameters, in characters
	maxShort   = 120 // maximum length of its status, in characters
	maxValues  = 4   // maximum number of listed parameters
	MaxLabel   = 60  // maximum length of its label, in characters
	MaxName    = 64  // maximum length of an action's name, which the model may have invented, in characters
)

// values lists the parameter values, for owners, of actions without [Spec.Compact].
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
		return text.Brief(v, maxCompact/2)
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
