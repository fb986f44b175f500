package tasks

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"parley/core/text"
)

// variable is a value of the body, such as {{build.status}} or {{commits.0.author}}.
var variable = regexp.MustCompile(`\{\{\s*([A-Za-z0-9_.-]+)\s*\}\}`)

const longestValue = 300 // characters

// expand replaces the variables of a text by values of body. They come from others: in text for the model they are in
// quotation marks and in one line, in text for users (spoken) their markup has no effect. A value that is missing is
// "–". Values are not expanded again.
func expand(template string, body []byte, spoken bool) string {
	var root any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	_ = d.Decode(&root) // an empty body has no values
	return variable.ReplaceAllStringFunc(template, func(tag string) string {
		value, ok := lookUp(root, variable.FindStringSubmatch(tag)[1])
		if value = text.OneLine(value, longestValue); !ok || value == "" {
			return "–"
		}
		if spoken {
			return unmarked.Replace(value)
		}
		return `"` + strings.ReplaceAll(value, `"`, "'") + `"`
	})
}

// unmarked escapes the characters of Markdown.
var unmarked = func() *strings.Replacer {
	var pairs []string
	for _, c := range "\\`*_[]()<>~|#!" {
		pairs = append(pairs, string(c), `\`+string(c))
	}
	return strings.NewReplacer(pairs...)
}()

// lookUp returns the value at a path as text; objects and lists as JSON.
func lookUp(value any, path string) (string, bool) {
	for _, key := range strings.Split(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[key]
		case []any:
			n, err := strconv.Atoi(key)
			if err != nil || n < 0 || n >= len(v) {
				return "", false
			}
			value = v[n]
		default:
			return "", false
		}
	}
	switch v := value.(type) {
	case nil:
		return "", false
	case string:
		return v, true
	}
	data, err := json.Marshal(value)
	return string(data), err == nil
}
