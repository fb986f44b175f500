package chat

import (
	"fmt"

	"parley/core/text"
)

// Label describes p to users unambiguously: names are not unique, and anyone can choose any name, even one that looks
// like a link.
func (p Person) Label() string {
	name := text.Unmarked(p.Name)
	if name == "" {
		return string(p.ID)
	}
	return fmt.Sprintf("%s (%s)", name, p.ID)
}
