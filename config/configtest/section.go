// Package configtest gives tests the sections of a configuration.
package configtest

import (
	"reflect"

	"parley/config"
	"parley/internal/sections"
)

// Section returns the values of the platform with values of type T. It panics if there is none.
func Section[T any](all config.Connectors) *T {
	for _, s := range all {
		if values, ok := s.Values.(*T); ok {
			return values
		}
	}
	panic("no section has values of the type " + reflect.TypeFor[T]().String())
}

// Defaults returns the values of a section of which nothing is set.
func Defaults[T any](section sections.Section) T {
	cfg, err := config.Default(func(string) (string, bool) { return "", false }, section)
	if err != nil {
		panic(err) // the defaults are valid
	}
	return *Section[T](cfg.Connectors)
}
