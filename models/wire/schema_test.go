package wire_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/schema"
	"parley/models/modelfake"
	"parley/models/wire"
)

func TestSchema(t *testing.T) {
	for raw, want := range map[string]string{
		`{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer"}}}`: `{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer"}}}`, // as it is
		`{"type":"object"}`: `{"properties":{},"type":"object"}`,
		`{"type":"object","properties":{"a":{"type":"array"}},"required":["a"]}`:                                                                                    `{"properties":{"a":{"items":{},"type":"array"}},"required":["a"],"type":"object"}`,
		`{"type":"object","properties":{"n":{"const":9007199254740993},"o":{"type":"object"}}}`:                                                                     `{"properties":{"n":{"const":9007199254740993},"o":{"properties":{},"type":"object"}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/x","description":"<one>"}},"$defs":{"x":{"type":"string","description":"x"}}}`:                         `{"properties":{"a":{"description":"<one>","type":"string"}},"type":"object"}`,
		`{"type":"object","anyOf":[{"properties":{"k":{"const":1},"a":{"type":"string"}},"required":["k","a"]},{"properties":{"k":{"const":2}},"required":["k"]}]}`: `{"properties":{"a":{"type":"string"},"k":{"anyOf":[{"const":1},{"const":2}]}},"required":["k"],"type":"object"}`,
		`{"type":"object","allOf":[{"properties":{"a":{}},"required":["a"]},{"properties":{"b":{}},"required":["b"]}]}`:                                             `{"properties":{"a":{},"b":{}},"required":["a","b"],"type":"object"}`,
		`{"type":"array"}`: `{"type":"object","properties":{}}`,
	} {
		if diff := cmp.Diff(want, string(wire.Schema(json.RawMessage(raw)))); diff != "" {
			t.Errorf("%s:\n%s", raw, diff)
		}
	}
	// Definitions that refer to each other in many ways stay small.
	var many strings.Builder
	for _, c := range "abcdefghijklmnop" {
		many.WriteString(`"` + string(c) + `":{"type":"object","properties":{"x":{"$ref":"#/$defs/` + string(c+1) + `"},"y":{"$ref":"#/$defs/` + string(c+1) + `"}}},`)
	}
	raw := `{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{` + many.String() + `"q":{"type":"string"}}}`
	if made := wire.Schema(json.RawMessage(raw)); len(made) > 256<<10 {
		t.Errorf("%d bytes", len(made))
	}
}

// Whatever a schema is, a strict server takes the result, making it again changes nothing, and it is one that calls are
// checked with.
func FuzzSchema(f *testing.F) {
	for _, raw := range []string{
		`{"type":"object","properties":{"a":{"type":["array","null"],"items":[true,{"$ref":"#"}]}},"oneOf":[{"required":["b"]},false]}`,
		`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}}`, `{"type":"object","required":["a"],"exclusiveMinimum":true}`, `{"type":"object","allOf":[{"allOf":[{}]}],"properties":{"x":null}}`,
	} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		made := wire.Schema(json.RawMessage(raw))
		if bad := modelfake.CheckSchema(made, false); bad != "" {
			t.Errorf("%s: %s; want none", bad, made)
		}
		if again := wire.Schema(made); string(again) != string(made) {
			t.Errorf("%s became %s", made, again)
		}
		if _, err := schema.Compile(json.RawMessage(raw)); err != nil {
			return
		}
		if _, err := schema.Compile(made); err != nil {
			t.Errorf("%v: %s", err, made)
		}
	})
}
