package config

import (
	"encoding/json"
	"net/netip"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/invopop/jsonschema"

	"parley/core/quota"
	"parley/internal/golden"
	"parley/internal/require"
	"parley/internal/sections"
)

// Patterns of the values that are text in the file but not any text.
const (
	durationPattern  = `^[0-9.]+(ns|us|ms|s|m|h)([0-9.]+(ns|us|ms|s|m|h))*$|^0$`
	prefixPattern    = `^[0-9A-Fa-f:.]+/[0-9]{1,3}$`
	priceRef         = "#/$defs/price"
	referencePattern = `\$\{` // anywhere: telegram:${env:ID} is fine
)

// orReference allows a reference where the value is not free text anyway.
func orReference(s *jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s, {Type: "string", Pattern: referencePattern}}}
}

// schemaOf maps the types that stand for one value; nil leaves structs and lists to the reflector.
func schemaOf(t reflect.Type) *jsonschema.Schema {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch zero := reflect.Zero(t).Interface().(type) {
	case time.Duration:
		return orReference(&jsonschema.Schema{Type: "string", Pattern: durationPattern})
	case Object:
		return &jsonschema.Schema{Type: "object"}
	case quota.Rate, quota.USD:
		return orReference(&jsonschema.Schema{Type: "number", Minimum: "0"})
	case Price:
		return &jsonschema.Schema{Ref: priceRef}
	case netip.Prefix:
		return orReference(&jsonschema.Schema{Type: "string", Pattern: prefixPattern})
	case Account:
		return idSchema(account, local)
	case Member:
		return idSchema(account, append(Connectors(catalog).patterns(roles, role), local)...)
	case Chat:
		return idSchema(room, Connectors(catalog).patterns(servers, server)...)
	case Place:
		return idSchema(room, Connectors(catalog).patterns(":", account)...)
	case Provider:
		words := []any{""}
		for _, name := range blank(catalog).providerNames() {
			words = append(words, name)
		}
		return orReference(&jsonschema.Schema{Type: "string", Enum: words})
	case enum:
		var words []any
		for _, word := range zero.Words() {
			words = append(words, word)
		}
		return orReference(&jsonschema.Schema{Type: "string", Enum: words})
	}
	switch t.Kind() {
	case reflect.Bool:
		return orReference(&jsonschema.Schema{Type: "boolean"})
	case reflect.Int:
		return orReference(&jsonschema.Schema{Type: "integer", Minimum: "0"})
	case reflect.Float64:
		return orReference(&jsonschema.Schema{Type: "number"})
	case reflect.String:
		return &jsonschema.Schema{Type: "string"}
	}
	return nil
}

func idSchema(kind func(sections.Section) sections.ID, more ...string) *jsonschema.Schema {
	pattern, _ := Connectors(catalog).ids(kind, more...)
	return orReference(&jsonschema.Schema{Type: "string", Pattern: pattern})
}

// priceSchema allows auto, 0, or a section.
func priceSchema() *jsonschema.Schema {
	all := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema}
	for _, e := range entries(reflect.ValueOf(Price{})) {
		if e.key == "as" {
			all.Properties.Set(e.key, orReference(&jsonschema.Schema{Type: "string", Pattern: "^[^/]+/.+$"}))
			continue
		}
		amount := schemaOf(e.value.Type())
		amount.AnyOf = append(amount.AnyOf, &jsonschema.Schema{Type: "string", Enum: []any{"auto"}})
		all.Properties.Set(e.key, amount)
	}
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string", Enum: []any{"auto"}}, {Type: "number", Enum: []any{0}}, all}}
}

// generate builds the schema from the structs, their tags and their comments.
func generate(t *testing.T) *jsonschema.Schema {
	t.Helper()
	r := jsonschema.Reflector{FieldNameTag: "yaml", Anonymous: true, DoNotReference: true, RequiredFromJSONSchemaTags: true, Mapper: schemaOf}
	comments := func(dir string) {
		require.NoError(t, r.AddGoComments("parley/config", dir, jsonschema.WithFullComment()))
	}
	comments(".")
	comments("../connectors") // of what the sections share
	schema := r.Reflect(Config{})
	connectors, _ := schema.Properties.Get("connectors")
	connectors.Type, connectors.Items = "object", nil
	connectors.Properties, connectors.AdditionalProperties = jsonschema.NewProperties(), jsonschema.FalseSchema
	providers, _ := schema.Properties.Get("providers")
	for _, s := range catalog {
		of := reflect.TypeOf(s.Values).Elem()
		comments("../" + strings.TrimPrefix(of.PkgPath(), "parley/"))
		property := r.ReflectFromType(of)
		property.Version, property.Description = "", s.About
		if s.Can != nil {
			providers.Properties.Set(s.Name, property)
		} else {
			connectors.Properties.Set(s.Name, property)
		}
	}
	schema.Title = "The configuration of Parley"
	schema.Definitions = jsonschema.Definitions{"price": priceSchema()}
	complete(schema, reflect.ValueOf(blank(catalog)))
	return schema
}

// complete adds what the reflector does not know: defaults, and auto for what may be absent.
func complete(schema *jsonschema.Schema, of reflect.Value) {
	for _, e := range entries(of) {
		property, _ := schema.Properties.Get(e.key)
		of := e.value.Type()
		if e.restart {
			property.Description += " A change needs a restart."
		}
		form := Connectors(catalog).formOf(of)
		switch {
		case of.Kind() == reflect.Map, of == reflect.TypeFor[Object]():
		case form.kind == section:
			complete(property, e.value)
		case form.kind == list:
			property.Default = []any{}
			if item := of.Elem(); Connectors(catalog).formOf(item).kind == section {
				complete(property.Items, reflect.Zero(item))
			}
		case of.Kind() == reflect.Pointer:
			property.AnyOf = append(property.AnyOf, &jsonschema.Schema{Type: "string", Enum: []any{"auto"}})
			property.Default = "auto"
		default:
			property.Default = defaultOf(e, form)
		}
	}
}

func defaultOf(e entry, form form) any {
	if e.fallback == "" {
		return reflect.Zero(e.value.Type()).Interface()
	}
	if form.kind == text {
		return e.fallback
	}
	value, _ := form.parse(e.fallback)
	return value
}

func TestSchemaIsCurrent(t *testing.T) {
	got := require.Value(json.MarshalIndent(generate(t), "", "  "))(t)
	if strings.Count(string(got), `"description"`) < 20 {
		t.Errorf("the comments of the structs are missing:\n%s", got)
	}
	golden.Check(t, "schema.json", string(got)+"\n")
}

func readSchema(t *testing.T) *shape {
	t.Helper()
	data := require.Value(os.ReadFile("schema.json"))(t)
	s := &shape{}
	if err := s.UnmarshalJSON(data); err != nil {
		t.Fatalf("the schema uses a keyword that the test does not check: %v", err)
	}
	s.resolve(s.Defs)
	return s
}

func violations(t *testing.T, s *shape, document string) []string {
	t.Helper()
	var value any
	if err := yaml.Unmarshal([]byte(document), &value); err != nil {
		t.Fatalf("%v in\n%s", err, document)
	}
	return s.check("", value)
}

func TestSchemaAcceptsTheDeliveredFile(t *testing.T) {
	data := require.Value(os.ReadFile("../config.yaml"))(t)
	if wrong := violations(t, readSchema(t), string(data)); len(wrong) > 0 {
		t.Errorf("config.yaml against schema.json:\n%s", strings.Join(wrong, "\n"))
	}
	if !strings.HasPrefix(string(data), "# yaml-language-server: $schema=config/schema.json\n") {
		t.Error("config.yaml does not point editors at its schema")
	}
}

// TestSchemaAgreesWithParse: an editor and the gateway must not contradict each other.
func TestSchemaAgreesWithParse(t *testing.T) {
	schema := readSchema(t)
	tests := []struct {
		document string
		valid    bool
	}{
		{"web: {public: '${env:T}', origins: ['https://a.example']}", true},
		{"web: {public: true, origins: ['https://a.example'], limits: {messages_per_minute: '${env:N:-3}'}}", true},
		{"models: {large: {temperature: 0.5}}", true},
		{"models: {large: {temperature: auto, provider: ''}}", true},
		{"models: {large: {price: {input: 0.15, cached: 0.075, output: 1}}}", true},
		{"models: {large: {price: 0}}", true},
		{"models: {large: {price: auto}}", true},
		{"models: {large: {price: 1}}", false},
		{"models: {large: {price: cheap}}", false},
		{"models: {large: {price: [1]}}", false},
		{"models: {large: {price: {input: -1, output: 1}}}", false},
		{"models: {large: {price: {in: 1, out: 1}}}", false},
		{"turns: {idle: 1m30s, timeout: '${env:X:-5m}', direct: '${env:X:-queue}'}", true},
		{"people: {owners: ['telegram:1', '${env:X:-discord:2}', 'telegram:${env:N:-3}']}", true},
		{"connectors: {discord: {token: a.b.c}}", true},
		{"access: {overrides: [{rooms: ['telegram:-1'], group: off}, {rooms: ['discord:server:1'], tools: [ROLL], group: auto}]}", true},
		{"people: {allowed: ['discord:role:1', 'discord:role:${env:N:-3}']}", true},
		{"people: {allowed: ['telegram:role:1']}", false},
		{"access: {overrides: [{rooms: ['telegram:-1'], grup: off}]}", false},
		{"access: {overrides: [{rooms: ['telegram:-1'], group: never}]}", false},
		{"access: {rooms: ['here']}", false},
		{"wbe: {}", false},
		{"web: {pubic: true}", false},
		{"web: {public: 'true'}", false},
		{"web: {public: }", false},
		{"web: {public: auto}", false},
		{"web: {limits: {messages_per_minute: '3'}}", false},
		{"web: {limits: {messages_per_minute: -3}}", false},
		{"web: {trusted_proxies: [10.0.0.1]}", false},
		{"turns: {idle: 30}", false},
		{"turns: {idle: long}", false},
		{"turns: {direct: later}", false},
		{"people: {owners: [123456789]}", false},
		{"people: {owners: ['123456789']}", false},
		{"people: {owners: telegram:1}", false},
		{"log: text", false},
		{"agent: {name: 3}", false},
	}
	variables := environment(map[string]string{"T": "true"})
	for _, test := range tests {
		wrong := violations(t, schema, test.document)
		_, err := Parse("", []byte(test.document), "", variables, catalog...)
		if (len(wrong) == 0) != test.valid || (err == nil) != test.valid {
			t.Errorf("%s: valid %v, schema says %q, Parse says %v", test.document, test.valid, wrong, err)
		}
	}
}
