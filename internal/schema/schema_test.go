package schema

import (
	"encoding/json"
	"parley/internal/require"
	"strings"
	"testing"
)

const order = `{"type":"object","required":["count"],"additionalProperties":false,"properties":{
	"count":{"type":"integer","minimum":2},
	"size":{"enum":["small","large"]},
	"a/b":{"type":"string","maxLength":3},
	"items":{"type":"array","items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"}}}}}}`

// LM-04, LM-05: what does not fit is named with its field and the reason.
func TestCheck(t *testing.T) {
	check := require.Value(Compile(json.RawMessage(order)))(t)
	for object, want := range map[string]string{
		`{"count":2,"size":"large","items":[{"name":"x"}]}`: "",
		`{"count":3.0}`:                        "",
		`{}`:                                   `required: missing properties: ["count"]`,
		`{"count":"2"}`:                        `count: type: 2 has type "string", want "integer"`,
		`{"count":1.5}`:                        `count: type: 1.5 has type "number", want "integer"`,
		`{"count":null}`:                       `count: type: null has type "null"`,
		`{"count":1}`:                          `count: minimum: `,
		`{"count":2,"size":"huge"}`:            `size: enum: huge does not equal any of: [small large]`,
		`{"count":2,"other":1}`:                `unexpected additional properties ["other"]`,
		`{"count":2,"a/b":"long"}`:             `a/b: maxLength: `,
		`{"count":2,"items":[{}]}`:             `items[]: required: missing properties: ["name"]`,
		`{"count":2,"items":[{"name":"x"},7]}`: `items[]: type: 7 has type`,
		`{"count":2,"items":[{"name":7}]}`:     `items[].name: type: 7 has type`,
		`[]`:                                   `type: `,
		`{"count":2`:                           `not JSON`,
	} {
		got := ""
		if err := check(json.RawMessage(object)); err != nil {
			got = err.Error()
		}
		if want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", object, got, want)
		}
	}
}

func TestWrongSchemas(t *testing.T) {
	for schema, want := range map[string]string{
		``:                                  "read the schema",
		`{`:                                 "read the schema",
		`null`:                              "not one of an object",
		`{}`:                                "not one of an object",
		`{"type":"array"}`:                  "not one of an object",
		`{"type":"object","properties":[]}`: "read the schema",
		`{"type":"object","required":"x"}`:  "read the schema",
		`{"type":"object","properties":{"a":{"type":"text"}}}`:                                    `type "text"`,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":["string","int"]}}}}`: `type "int"`,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"nothing"}]}}}`:   `type "nothing"`,
		`{"type":"object","properties":{"a":{"pattern":"("}}}`:                                    "resolve the schema",
		`{"type":"object","properties":{"a":{"$ref":"https://schemas.example.org/a"}}}`:           "resolve the schema",
		`{"type":"object","properties":{"a":{"type":"integer","default":"one"}}}`:                 "resolve the schema",
	} {
		if _, err := Compile(json.RawMessage(schema)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", schema, err, want)
		}
	}
}
