package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// WithDotEnv returns getenv with the variables of the file at path, which can be missing. Variables of getenv take
// precedence. Each line is NAME=VALUE; the value can be in single or double quotes, and nothing in it is expanded. Empty
// lines, and those that begin with #, are skipped. Errors don't contain values.
func WithDotEnv(path string, getenv func(string) (string, bool)) (func(string) (string, bool), error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return getenv, nil
	} else if err != nil {
		return nil, fmt.Errorf("read the environment file: %w", err)
	}
	defer file.Close()
	data, err := readAtMost(file, maxFile)
	if err != nil {
		return nil, fmt.Errorf("read the environment file %s: %w", path, err)
	}
	values := map[string]string{}
	for i, line := range strings.Split(strings.TrimPrefix(string(data), "\ufeff"), "\n") {
		name, value, is, ok := DotEnvLine(line)
		if !ok {
			return nil, fmt.Errorf("%s:%d: not NAME=VALUE; correct the line, or put a # before it", path, i+1)
		}
		if is {
			values[name] = value
		}
	}
	return func(name string) (string, bool) {
		if value, ok := getenv(name); ok {
			return value, true
		}
		value, ok := values[name]
		return value, ok
	}, nil
}

// DotEnvLine reads a line of such a file. It reports false for is if there is no variable in it, and for ok if it is
// malformed.
func DotEnvLine(line string) (name, value string, is, ok bool) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return "", "", false, true
	}
	name, value, found := strings.Cut(strings.TrimPrefix(line, "export "), "=")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !found || !variableName.MatchString(name) {
		return "", "", false, false
	}
	if n := len(value); n > 0 && (value[0] == '"' || value[0] == '\'') {
		if n < 2 || value[n-1] != value[0] {
			return "", "", false, false
		}
		value = value[1 : n-1]
	}
	return name, value, true, true
}
