package telegramfake

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// SpecFile is the name of the machine-readable specification (PaulSonOfLars/telegram-bot-api-spec).
const SpecFile = "telegram-bot-api.json"

// newer adds to the specification what Bot API 10.3 has and 10.1, the version that CI downloads, has not. Items and
// fields that the file in use knows already are skipped, so the result is the same with either.
//
//go:embed testdata/bot-api-10.3.json
var newer []byte // never changed

// Spec knows the parameters of all methods and the fields of all objects. It does not change and may be shared.
type Spec struct {
	methods, types map[string]specItem
}

type specItem struct {
	Fields            []specField
	Subtypes, Returns []string
}

type specField struct {
	Name     string
	Types    []string
	Required bool
	Optional bool // of an addition: it is no longer required
}

// specDocument is the form of the file and of the addition.
type specDocument struct{ Methods, Types map[string]specItem }

// LoadSpec reads [SpecFile] from dir and adds newer methods and types.
func LoadSpec(dir string) (*Spec, error) {
	path := filepath.Join(dir, SpecFile)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read specification: %w", err)
	}
	var file, more specDocument
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("read specification %s: %w", path, err)
	}
	if len(file.Methods) == 0 || len(file.Types) == 0 {
		return nil, fmt.Errorf("read specification %s: no methods or no types", path)
	}
	if err := json.Unmarshal(newer, &more); err != nil {
		return nil, fmt.Errorf("read the additions to the specification: %w", err)
	}
	extend(file.Methods, more.Methods)
	extend(file.Types, more.Types)
	return &Spec{methods: file.Methods, types: file.Types}, nil
}

// extend adds the items of more, and to items that exist the fields and subtypes that they lack.
func extend(items, more map[string]specItem) {
	for name, add := range more {
		item := items[name]
		for _, f := range add.Fields {
			i := slices.IndexFunc(item.Fields, func(k specField) bool { return k.Name == f.Name })
			if i < 0 {
				item.Fields = append(item.Fields, f)
			} else if f.Optional {
				item.Fields[i].Required = false
			}
		}
		for _, s := range add.Subtypes {
			if !slices.Contains(item.Subtypes, s) {
				item.Subtypes = append(item.Subtypes, s)
			}
		}
		if len(item.Returns) == 0 {
			item.Returns = add.Returns
		}
		items[name] = item
	}
}

// Fields returns the names of a type's fields, each with its possible types; nil for an unknown type.
func (s *Spec) Fields(typ string) map[string][]string {
	var all map[string][]string
	for _, f := range s.types[typ].Fields {
		if all == nil {
			all = map[string][]string{}
		}
		all[f.Name] = f.Types
	}
	return all
}

// SharedSpec returns the specification in the directory that PARLEY_SPECS names, or nil if it is not set. The file is large, and read once.
func SharedSpec() (*Spec, error) { return sharedSpec() }

var sharedSpec = sync.OnceValues(func() (*Spec, error) {
	if dir := os.Getenv("PARLEY_SPECS"); dir != "" {
		return LoadSpec(dir)
	}
	return nil, nil
})

// Check compares the parameters of a request, as they are in a form, with the method's.
func (s *Spec) Check(method string, params map[string]string) error {
	m, ok := s.methods[method]
	if !ok {
		return fmt.Errorf("specification: no method %q", method)
	}
	given := map[string]json.RawMessage{}
	for name, value := range params {
		i := slices.IndexFunc(m.Fields, func(f specField) bool { return f.Name == name })
		if i < 0 {
			return fmt.Errorf("specification: %s has no parameter %q", method, name)
		}
		given[name] = asJSON(m.Fields[i].Types, value)
	}
	if err := s.fields(m.Fields, given); err != nil {
		return fmt.Errorf("specification: %s: %w", method, err)
	}
	return nil
}

// CheckResult compares the result of a method with the type it declares.
func (s *Spec) CheckResult(method string, result json.RawMessage) error {
	if err := s.any(s.methods[method].Returns, result); err != nil {
		return fmt.Errorf("specification: result of %s: %w", method, err)
	}
	return nil
}

// CheckValue compares a JSON value with a type, as "Message" or "Array of Update".
func (s *Spec) CheckValue(typ string, value json.RawMessage) error { return s.value(typ, value) }

// asJSON quotes what is text in a form.
func asJSON(types []string, value string) json.RawMessage {
	if slices.Contains(types, "String") {
		if _, err := strconv.ParseInt(value, 10, 64); err != nil || !slices.Contains(types, "Integer") {
			quoted, _ := json.Marshal(value) // strings always can
			return quoted
		}
	}
	return json.RawMessage(value)
}

func (s *Spec) any(types []string, value json.RawMessage) error {
	var errs []error
	for _, t := range types {
		err := s.value(t, value)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (s *Spec) value(typ string, value json.RawMessage) error {
	if inner, ok := strings.CutPrefix(typ, "Array of "); ok {
		var list []json.RawMessage
		if err := json.Unmarshal(value, &list); err != nil {
			return fmt.Errorf("not an %s: %w", typ, err)
		}
		for i, v := range list {
			if err := s.value(inner, v); err != nil {
				return fmt.Errorf("[%d]: %w", i, err)
			}
		}
		return nil
	}
	var err error
	switch typ {
	case "Integer":
		err = json.Unmarshal(value, new(int64))
	case "Float":
		err = json.Unmarshal(value, new(float64))
	case "Boolean":
		err = json.Unmarshal(value, new(bool))
	case "String", "InputFile":
		err = json.Unmarshal(value, new(string))
	default:
		return s.object(typ, value)
	}
	if err != nil {
		return fmt.Errorf("not %s: %w", typ, err)
	}
	return nil
}

func (s *Spec) object(typ string, value json.RawMessage) error {
	t, ok := s.types[typ]
	switch {
	case !ok:
		return fmt.Errorf("no type %q", typ)
	case len(t.Subtypes) > 0:
		return s.any(t.Subtypes, value)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(value, &fields); err != nil {
		return fmt.Errorf("not a %s: %w", typ, err)
	}
	if err := s.fields(t.Fields, fields); err != nil {
		return fmt.Errorf("%s: %w", typ, err)
	}
	return nil
}

func (s *Spec) fields(known []specField, given map[string]json.RawMessage) error {
	left := len(given)
	for _, f := range known {
		v, ok := given[f.Name]
		if !ok {
			if f.Required {
				return fmt.Errorf("%q is required", f.Name)
			}
			continue
		}
		left--
		if err := s.any(f.Types, v); err != nil {
			return fmt.Errorf("%q: %w", f.Name, err)
		}
	}
	if left == 0 {
		return nil
	}
	for name := range given {
		if !slices.ContainsFunc(known, func(f specField) bool { return f.Name == name }) {
			return fmt.Errorf("unknown field %q", name)
		}
	}
	return nil
}
