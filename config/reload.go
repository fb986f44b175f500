package config

import "reflect"

// After returns c as a running gateway with the configuration running can apply it: keys that need a restart keep the
// values of running. changed names those of them that differ, each with its path, such as web.listen.
//
// The tag restart of a field marks such a key, or a section of them.
func (c Config) After(running Config) (applied Config, changed []string) {
	keep("", reflect.ValueOf(running), reflect.ValueOf(&c).Elem(), &changed)
	return c, changed
}

// RestartKeys returns the keys whose changes need a restart, each with its path; a section stands for all of its keys.
func RestartKeys() []string { return restartKeys("", reflect.ValueOf(Config{})) }

func restartKeys(path string, section reflect.Value) (all []string) {
	for _, e := range entries(section) {
		at := join(path, e.key)
		if e.restart {
			all = append(all, at)
		} else if isGroup(e.value) {
			all = append(all, restartKeys(at, e.value)...)
		}
	}
	return all
}

// isGroup reports whether a value is a section with keys that the program knows.
func isGroup(v reflect.Value) bool {
	switch v.Interface().(type) {
	case Connectors, Others:
		return true
	case Price:
		return false
	}
	return v.Kind() == reflect.Struct
}

// keep copies the keys that need a restart from running to next.
func keep(path string, running, next reflect.Value, changed *[]string) {
	before := entries(running)
	for i, e := range entries(next) {
		at := join(path, e.key)
		switch {
		case e.restart:
			differences(at, before[i].value, e.value, changed)
			e.value.Set(before[i].value)
		case isGroup(e.value) && e.value.Kind() == reflect.Struct:
			keep(at, before[i].value, e.value, changed)
		}
	}
}

// differences appends the paths of keys at or below path whose values differ.
func differences(path string, a, b reflect.Value, into *[]string) {
	if !isGroup(a) {
		if !reflect.DeepEqual(a.Interface(), b.Interface()) {
			*into = append(*into, path)
		}
		return
	}
	before, now := entries(a), entries(b)
	if len(before) != len(now) {
		*into = append(*into, path)
		return
	}
	for i, e := range now {
		differences(join(path, e.key), before[i].value, e.value, into)
	}
}
