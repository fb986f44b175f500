package telegramfake

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
)

// kind is the type of a parameter on the wire.
type kind int

const (
	isString kind = iota
	isInt
	isBool
	isChat
	isObject
	isArray
)

// Rejection is a request that the fake refused as malformed.
type Rejection struct {
	Method string
	Params map[string]string
	Reason string
}

// Rejected returns the requests refused for their form: unknown parameters, wrong types, features that this fake does
// not model. With a correct client it is empty.
func (s *Server) Rejected() []Rejection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.rejected)
}

func (s *Server) reject(c *call, why error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rejectLocked(c, why)
}

func (s *Server) rejectLocked(c *call, why error) error {
	s.rejected = append(s.rejected, Rejection{Method: c.name, Params: maps.Clone(c.params), Reason: why.Error()})
	return badRequest("%s", why)
}

// check compares the parameters with the method's table, then with the specification.
func (s *Server) check(c *call) error {
	params := c.unattached()
	for _, name := range slices.Sorted(maps.Keys(params)) {
		k, known := c.method.params[name]
		if !known {
			return fmt.Errorf("unknown parameter %q", name)
		}
		if err := k.check(params[name]); err != nil {
			return fmt.Errorf("parameter %q: %w", name, err)
		}
	}
	if s.spec == nil {
		return nil
	}
	return s.spec.Check(c.name, params)
}

func (k kind) check(value string) error {
	switch k {
	case isInt:
		if _, err := strconv.ParseInt(value, 10, 64); err != nil {
			return fmt.Errorf("%q is not an integer", value)
		}
	case isBool:
		if value != "true" && value != "false" {
			return fmt.Errorf("%q is not true or false", value)
		}
	case isChat:
		if _, err := strconv.ParseInt(value, 10, 64); err != nil && (len(value) < 2 || value[0] != '@') {
			return fmt.Errorf("%q is neither a chat id nor an @username", value)
		}
	case isObject:
		var v map[string]json.RawMessage
		return decode(value, &v)
	case isArray:
		var v []json.RawMessage
		return decode(value, &v)
	}
	return nil
}

// decode is strict: unknown fields and trailing text are errors.
func decode(value string, v any) error {
	dec := json.NewDecoder(bytes.NewReader([]byte(value)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("can't parse JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("text after the JSON value")
	}
	return nil
}

// object decodes an optional nested parameter; a wrong one is a rejection.
func object[T any](s *Server, c *call, name string) (*T, error) {
	value, given := c.params[name]
	if !given {
		return nil, nil
	}
	v := new(T)
	if err := decode(value, v); err != nil {
		return nil, s.rejectLocked(c, fmt.Errorf("parameter %q: %w", name, err))
	}
	return v, nil
}
