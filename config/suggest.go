package config

import (
	"fmt"
	"reflect"
	"strings"
)

// keysOf returns the keys of a section in the order of the struct.
func keysOf(t reflect.Type) []string {
	var keys []string
	for i := range t.NumField() {
		if key := t.Field(i).Tag.Get("yaml"); key != "-" {
			keys = append(keys, key)
		}
	}
	return keys
}

// suggest names the known key that was probably meant, the section where the key belongs, or all known keys.
func suggest(key string, known []string) string {
	best, distance := "", 3
	key = strings.ToLower(shorten(key))
	for _, candidate := range known {
		if d := editDistance(key, candidate); d < distance && d < len(candidate) {
			best, distance = candidate, d
		}
	}
	if best != "" {
		return fmt.Sprintf("did you mean %s?", best)
	}
	if places := placesOf(key, "", reflect.TypeFor[Config]()); len(places) == 1 {
		return "it belongs in another section: write it as " + places[0]
	}
	return "known keys: " + strings.Join(known, ", ")
}

// placesOf returns the paths of every key of that name in t and the sections below it.
func placesOf(key, path string, t reflect.Type) (all []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("yaml")
		if name == "-" {
			continue
		}
		if name == key {
			all = append(all, join(path, name))
		}
		if formOf(f.Type).kind == section {
			all = append(all, placesOf(key, join(path, name), f.Type)...)
		}
	}
	return all
}

// editDistance counts the letters to add, drop or change between a and b (Levenshtein).
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

// shorten keeps what a message repeats from the file in one short line.
func shorten(text string) string {
	const most = 40
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return string(runes)
}
