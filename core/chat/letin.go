package chat

import (
	"fmt"

	"parley/core/text"
)

// Label names p for people: names are not unique, and anybody can take one, also one that would be a link.
func (p Person) Label() string {
	name := text.Unmarked(p.Name)
	if name == "" {
		return string(p.ID)
	}
	return fmt.Sprintf("%s (%s)", name, p.ID)
}
