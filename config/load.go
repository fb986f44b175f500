package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"parley/internal/sections"
)

// maxFile is the maximum size of the configuration file.
const maxFile = 256 << 10

// Load reads the file at path. getenv is os.LookupEnv, or a substitute for it; platforms describe the sections below
// connectors and providers. If the file can't be read, the error wraps the cause (fs.ErrNotExist if it is missing); if
// it is invalid, the error is [Problems].
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

// Parse reads a configuration from data. name is used in errors; the relative paths of ${file:PATH} start at dir.
// Missing keys have their defaults. An error is [Problems], with everything that is wrong.
func Parse(name string, data []byte, dir string, getenv func(string) (string, bool), platforms ...sections.Section) (Config, error) {
	root, wrong := readYAML(data)
	if wrong != nil {
		wrong.File = name
		return Config{}, Problems{*wrong}
	}
	return build(name, root, resolver{dir: dir, getenv: getenv}, platforms)
}

// Default returns the configuration without a file, which is also that of the shipped config.yaml in the same
// environment. It fails with [Problems] in values of the environment.
func Default(getenv func(string) (string, bool), platforms ...sections.Section) (Config, error) {
	return build("", &node{kind: section}, resolver{getenv: getenv}, platforms)
}

// build decodes and checks root. Knowledge is loaded only if there is no problem.
func build(name string, root *node, refs resolver, platforms []sections.Section) (Config, error) {
	c := blank(platforms)
	refs.opened = &[]string{}
	d := &decoder{file: name, refs: refs, config: &c, marks: map[string]*mark{}}
	c.Warnings = d.withCharacter(root)
	d.decode("", root, reflect.ValueOf(&c).Elem())
	checker{d}.check(&c)
	if len(d.problems) > 0 {
		return Config{}, d.problems.sorted()
	}
	c.Places = d.places(c.Agent.Templates)
	var left []string
	c.Files = *refs.opened
	if d.character != "" {
		c.Files, c.Prompts = append(c.Files, d.character), append(c.Prompts, d.character)
	}
	c.Agent.Sources = d.sources(name, c.Agent)
	c.Agent.Documents, left = c.Agent.Sources.Read(nil)
	c.Warnings = append(c.Warnings, left...)
	if c.Providers.OpenAI.BaseURL == "" && c.Providers.OpenAI.APIKey != "" {
		c.Providers.OpenAI.BaseURL = openAIBase
	}
	return c, nil
}

// WithListen returns c with another web.listen, for a command line flag. It fails with a [Problem] by the rules of the
// file: other machines require web.public.
func (c Config) WithListen(address string) (Config, error) {
	local, wrong := listensLocally(address)
	switch {
	case wrong != nil:
		return c, Problem{Message: "the address to listen on " + wrong.message, Hint: wrong.hint}
	case !local && !c.Web.Public:
		return c, Problem{Message: "the address to listen on can be reached from other machines",
			Hint: "listen on 127.0.0.1, or set web.public: true with web.origins and web.limits"}
	}
	c.Web.Listen = address
	return c, nil
}
