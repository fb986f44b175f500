package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"parley/internal/sections"
)

// maxFile bounds the configuration file.
const maxFile = 256 << 10

// Load reads the file at path. getenv is os.LookupEnv, or a stand-in for it. A
// file that cannot be read gives an error that wraps the cause (fs.ErrNotExist
// when there is none); one that is wrong gives Problems. platforms describe the
// sections below connectors.
func Load(path string, getenv func(string) (string, bool), platforms ...sections.Section) (Config, error) {
	file, err := os.Open(path)
	if err != nil {
		return Config{}, fmt.Errorf("read the configuration: %w", err)
	}
	defer file.Close()
	data, err := readAtMost(file, maxFile)
	if err != nil {
		return Config{}, fmt.Errorf("read the configuration %s: %w", path, err)
	}
	return Parse(path, data, filepath.Dir(path), getenv, platforms...)
}

// Parse reads a configuration from data. name stands in errors, dir is where the
// relative paths of ${file:PATH} start. Keys that are missing have the defaults
// of Default. The error, if any, is Problems: everything that is wrong.
func Parse(name string, data []byte, dir string, getenv func(string) (string, bool), platforms ...sections.Section) (Config, error) {
	root, wrong := readYAML(data)
	if wrong != nil {
		wrong.File = name
		return Config{}, Problems{*wrong}
	}
	return build(name, root, resolver{dir: dir, getenv: getenv}, platforms)
}

// Default returns what the delivered config.yaml gives in the same environment.
func Default(getenv func(string) (string, bool), platforms ...sections.Section) (Config, error) {
	return build("", &node{kind: section}, resolver{getenv: getenv}, platforms)
}

func build(name string, root *node, refs resolver, platforms []sections.Section) (Config, error) {
	c := Config{Connectors: fresh(platforms)}
	refs.opened = &[]string{}
	d := &decoder{file: name, refs: refs, config: &c, marks: map[string]*mark{}}
	c.Warnings = d.withCharacter(root)
	d.decode("", root, reflect.ValueOf(&c).Elem())
	d.check(&c)
	if len(d.problems) > 0 {
		return Config{}, d.problems.sorted()
	}
	c.Places = d.places(c.Agent.Templates)
	var left []string
	c.Agent.Documents, left = d.knowledge(name, c.Agent)
	c.Warnings = append(c.Warnings, left...)
	if c.Providers.OpenAI.BaseURL == "" && c.Providers.OpenAI.APIKey != "" {
		c.Providers.OpenAI.BaseURL = openAIBase
	}
	return c, nil
}
