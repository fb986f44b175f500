package discordfake

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// SpecFile is the name of Discord's OpenAPI description in a directory of
// specifications (discord/discord-api-spec, specs/openapi.json).
const SpecFile = "discord-openapi.json"

// Spec is Discord's own description of its HTTP API. It is not changed after
// loading, and may be used by many servers at once.
type Spec struct {
	schemas map[string]schema
	bodies  map[Route]schema // nil: the route takes no JSON body
	queries map[Route]map[string]schema
}

// ErrSpec is what every difference between a request and the description is.
var ErrSpec = errors.New("differs from the API description")

// LoadSpec reads [SpecFile] in a directory.
func LoadSpec(dir string) (*Spec, error) {
	raw, err := os.ReadFile(filepath.Join(dir, SpecFile))
	if err != nil {
		return nil, fmt.Errorf("load Discord's API description: %w", err)
	}
	var doc openAPI
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("load Discord's API description: %w", err)
	}
	spec := &Spec{
		schemas: doc.Components.Schemas,
		bodies:  map[Route]schema{}, queries: map[Route]map[string]schema{},
	}
	for path, item := range doc.Paths {
		for method, rawOperation := range item {
			if !slices.Contains([]string{"get", "post", "put", "patch", "delete"}, method) {
				continue // "parameters" of the whole path
			}
			var op operation
			if err := json.Unmarshal(rawOperation, &op); err != nil {
				return nil, fmt.Errorf("load Discord's API description: %s %s: %w", method, path, err)
			}
			spec.add(Route(strings.ToUpper(method)+" "+path), op)
		}
	}
	return spec, nil
}

// SharedSpec returns the description in the directory that PARLEY_SPECS names, or nil if it is not set. The file is large, and read once.
func SharedSpec() (*Spec, error) { return sharedSpec() }

var sharedSpec = sync.OnceValues(func() (*Spec, error) {
	if dir := os.Getenv("PARLEY_SPECS"); dir != "" {
		return LoadSpec(dir)
	}
	return nil, nil
})

// openAPI is as much of the format as the check needs.
type openAPI struct {
	Paths      map[string]map[string]json.RawMessage `json:"paths"`
	Components struct {
		Schemas map[string]schema `json:"schemas"`
	} `json:"components"`
}

type operation struct {
	Parameters []struct {
		Name   string `json:"name"`
		In     string `json:"in"`
		Schema schema `json:"schema"`
	} `json:"parameters"`
	Body struct {
		Content map[string]struct {
			Schema schema `json:"schema"`
		} `json:"content"`
	} `json:"requestBody"`
}

func (s *Spec) add(route Route, op operation) {
	s.queries[route] = map[string]schema{}
	for _, p := range op.Parameters {
		if p.In == "query" {
			s.queries[route][p.Name] = p.Schema
		}
	}
	s.bodies[route] = nil
	if body, ok := op.Body.Content["application/json"]; ok {
		s.bodies[route] = body.Schema
	}
}

// CheckBody compares a JSON body with what a route takes. Fields that the
// description does not name are an error, though Discord would ignore them.
func (s *Spec) CheckBody(route Route, body []byte) error {
	want, known := s.bodies[route]
	switch {
	case !known:
		return fmt.Errorf("%w: no operation %q", ErrSpec, route)
	case want == nil && len(body) == 0:
		return nil
	case want == nil:
		return fmt.Errorf("%w: %q takes no body", ErrSpec, route)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return fmt.Errorf("%w: body: %w", ErrSpec, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("%w: body: more than one JSON value", ErrSpec)
	}
	if problem := s.check(want, value, "body"); problem != "" {
		return fmt.Errorf("%w: %s", ErrSpec, problem)
	}
	return nil
}

// CheckQuery compares a query with the parameters of a route.
func (s *Spec) CheckQuery(route Route, query url.Values) error {
	for name, values := range query {
		want, known := s.queries[route][name]
		if !known {
			return fmt.Errorf("%w: unknown query parameter %q", ErrSpec, name)
		}
		for _, v := range values {
			isBool := v == "true" || v == "false"
			if s.check(want, v, name) != "" && s.check(want, json.Number(v), name) != "" && (!isBool || s.check(want, v == "true", name) != "") {
				return fmt.Errorf("%w: query parameter %s=%q", ErrSpec, name, v)
			}
		}
	}
	return nil
}
