package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"parley/internal/version"
)

// openapiPath is the address of the description.
const openapiPath = "/openapi.json"

// object is a JSON object of the description.
type object map[string]any

// openapi describes the routes in OpenAPI 3.1.
func openapi(all []endpoint) []byte {
	d := describer{schemas: object{}}
	paths := object{}
	for _, e := range all {
		method, path, _ := strings.Cut(strings.ReplaceAll(e.route, "...", ""), " ")
		item, ok := paths[path].(object)
		if !ok {
			item = object{}
			paths[path] = item
		}
		item[strings.ToLower(method)] = d.operation(e, path)
	}
	text, err := json.Marshal(object{
		"openapi": "3.1.0",
		"info": object{"title": "Parley", "version": version.Release,
			"description": "The web API, without the bodies of other clients' formats. New fields and types of events can appear: ignore the unknown ones."},
		"paths": paths,
		"components": object{"schemas": d.schemas, "securitySchemes": object{"bearer": object{
			"type": "http", "scheme": "bearer", "description": "The token of a visitor, an account or a program."}}},
		"security": []object{{}, {"bearer": []string{}}},
	})
	if err != nil {
		panic(err) // the types are constants
	}
	return text
}

// describer collects the schemas of the bodies.
type describer struct{ schemas object }

var pathValue = regexp.MustCompile(`\{(\w+)\}`)

func (d describer) operation(e endpoint, path string) object {
	parameters := []object{}
	for _, found := range pathValue.FindAllStringSubmatch(path, -1) {
		parameters = append(parameters, object{"name": found[1], "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	for _, name := range strings.Fields(e.query) {
		parameters = append(parameters, object{"name": name, "in": "query", "schema": object{"type": "string"}})
	}
	success := object{"description": e.about}
	switch kind := e.kind; {
	case e.out != nil && kind == "":
		success["content"] = object{"application/json": object{"schema": d.ref(e.out)}}
	case e.out != nil:
		success["content"] = object{kind: object{"schema": d.ref(e.out)}} // the data of each event
	case kind != "":
		success["content"] = object{kind: object{}}
	}
	status := "2XX"
	if e.made {
		status = "201"
	}
	failed := object{"application/json": object{"schema": d.ref(failure{})}}
	if kind, _ := formOf(path)(http.StatusNotFound, "", ""); !strings.HasPrefix(kind, "application/json") {
		failed = object{"text/plain": object{}}
	} else if strings.HasPrefix(path, "/v1/") {
		failed = object{"application/json": object{}}
	}
	op := object{"summary": e.about, "parameters": parameters, "responses": object{status: success,
		"default": object{"description": "An error: a sentence for users, and a code that does not change", "content": failed}}}
	if e.in != nil {
		op["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": d.ref(e.in)}}}
	}
	return op
}

// ref returns a reference to the schema of a value's type.
func (d describer) ref(of any) object {
	t := reflect.TypeOf(of)
	if t.Kind() == reflect.Slice { // has no name
		return object{"type": "array", "items": d.ref(reflect.Zero(t.Elem()).Interface())}
	}
	if _, ok := d.schemas[t.Name()]; !ok {
		picture, err := jsonschema.For[picture](nil)
		if err != nil {
			panic(err)
		}
		s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[image](): picture}})
		if err != nil {
			panic(fmt.Errorf("describe %s: %w", t, err)) // tests make the description
		}
		allowOthers(s)
		d.schemas[t.Name()] = s
	}
	return object{"$ref": "#/components/schemas/" + t.Name()}
}

// allowOthers allows unknown members, because clients must ignore them, and so does the gateway.
func allowOthers(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Properties) > 0 {
		s.AdditionalProperties = nil
	}
	for _, p := range s.Properties {
		allowOthers(p)
	}
	allowOthers(s.Items)
	allowOthers(s.AdditionalProperties)
}
