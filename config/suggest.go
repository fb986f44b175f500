package config

import (
	"fmt"
	"reflect"
	"strings"

	"parley/internal/nearest"
)

// keysOf returns the keys of entries.
func keysOf(all []entry) []string {
	keys := make([]string, len(all))
	for i, e := range all {
		keys[i] = e.key
	}
	return keys
}

// suggest returns a hint for an unknown key: the known key that was probably meant, the section where the key belongs,
// or all known keys.
func (d *decoder) suggest(key string, known []string) string {
	key = strings.ToLower(shorten(key))
	if near := nearest.Names(key, known, 2); len(near) > 0 {
		return fmt.Sprintf("did you mean %s?", near[0])
	}
	if places := d.placesOf(key, "", reflect.ValueOf(d.config).Elem()); len(places) == 1 {
		return "it belongs in another section: write it as " + places[0]
	}
	if len(known) == 0 {
		return "remove it"
	}
	return "known keys: " + strings.Join(known, ", ")
}

// placesOf returns the paths of every key with the name in a section and its subsections.
func (d *decoder) placesOf(key, path string, in reflect.Value) (all []string) {
	for _, e := range entries(in) {
		if e.key == key {
			all = append(all, join(path, e.key))
		}
		if d.config.Connectors.formOf(e.value.Type()).kind == section {
			all = append(all, d.placesOf(key, join(path, e.key), e.value)...)
		}
	}
	return all
}

// shorten returns text on one short line, as messages quote from the file.
func shorten(text string) string {
	const most = 40
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return string(runes)
}
