package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
)

// Setting is a key with its value as text, with masked secrets.
type Setting struct{ Key, Value string }

// userinfo matches the user and the password in an address.
var userinfo = regexp.MustCompile(`://[^/@\s"]*@`)

// Settings lists all keys with their values, in the order of the file.
func (c Config) Settings() []Setting { return settingsOf("", reflect.ValueOf(c)) }

func settingsOf(path string, section reflect.Value) (all []Setting) {
	for _, e := range entries(section) {
		at := join(path, e.key)
		if isGroup(e.value) {
			all = append(all, settingsOf(at, e.value)...)
			continue
		}
		all = append(all, Setting{at, userinfo.ReplaceAllString(settingText(e.value), "://"+hidden+"@")})
	}
	return all
}

// settingText returns a value as text. Secrets and addresses of stores mask themselves.
func settingText(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return "auto"
		}
		return settingText(v.Elem())
	case reflect.Slice, reflect.Map, reflect.Struct:
		if v.IsZero() {
			return ""
		}
		if text, err := json.MarshalIndent(v.Interface(), "", "  "); err == nil {
			return string(text)
		}
	}
	return fmt.Sprint(v.Interface())
}
