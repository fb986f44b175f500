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
	"price":{"type":"number","exclusiveMinimum":0,"maximum":99.5,"multipleOf":0.25},
	"code":{"type":"string","pattern":"^[a-z]+$"},
	"gift":{"anyOf":[{"type":"string"},{"type":"number","maximum":10},{"type":"null"}]},
	"a/b":{"type":"string","maxLength":3},
	"items":{"type":"array","items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"}}}}}}`

// LM-04, LM-05: what does not fit is named with its field and the reason.
func TestCheck(t *testing.T) {
	check := require.Value(Compile(json.RawMessage(order)))(t)
	for object, want := range map[string]string{
		`{"count":2,"size":"large","items":[{"name":"x"}]}`: "",
		`{"count":3.0}`:                        "",
		`{}`:                                   `missing properties: ["count"]`,
		`{"count":"2"}`:                        `count: 2 has type "string", want "integer"`,
		`{"count":1.5}`:                        `count: 1.5 has type "number", want "integer"`,
		`{"count":null}`:                       `count: null has type "null", want "integer"`,
		`{"count":1}`:                          `count: 1 is less than 2`,
		`{"count":2,"size":"huge"}`:            `size: huge does not equal any of: [small large]`,
		`{"count":2,"price":2000}`:             `price: 2000 is greater than 99.5`,
		`{"count":2,"price":0.3}`:              `price: 0.3 is not a multiple of 0.25`,
		`{"count":2,"price":-0.25}`:            `price: -0.25 is less than or equal to 0`,
		`{"count":2,"code":"A: b"}`:            `code: "A: b" does not match regular expression "^[a-z]+$"`,
		`{"count":2,"gift":null}`:              "",
		`{"count":2,"gift":11}`:                `gift: 11 has type "integer", want "string"; 11 is greater than 10; 11 has type "integer", want "null"`,
		`{"count":2,"c: d":1}`:                 `unexpected additional properties ["c: d"]`,
		`{"count":2,"other":1}`:                `unexpected additional properties ["other"]`,
		`{"count":2,"a/b":"long"}`:             `a/b: "long" contains 4 characters, more than 3`,
		`{"count":2,"items":[{}]}`:             `items[]: missing properties: ["name"]`,
		`{"count":2,"items":[{"name":"x"},7]}`: `items[]: 7 has type`,
		`{"count":2,"items":[{"name":7}]}`:     `items[].name: 7 has type`,
		`[]`:                                   `[] has type "array", want "object"`,
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
