package prompt

import (
	"fmt"
	"strings"
)

// AsksForm reports whether a template asks for an answer in the form of a response with tags.
func (st *Builder) AsksForm(name string) bool { return st.set[name].delimiters.has("response") }

// withBeginning adds the beginning of an answer to a continuation prompt that lacks it: without it, a model writes a
// different answer. It is lacking if the template does not use it, or if it was cut to fit.
func withBeginning(text string, p preparedTemplate, beginning string) string {
	if p.Uses("partialAnswer") && strings.Contains(text, strings.TrimSpace(guard(beginning, p.delimiters))) {
		return text
	}
	return fmt.Sprintf(beginningForm, text, guard(beginning, tags{"beginning"}))
}

const beginningForm = `%s

<beginning>
%s
</beginning>

That is the beginning. Continue exactly where it ends, without repeating anything.`
