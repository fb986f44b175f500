package modeltest

import (
	"encoding/json"
	"fmt"

	"parley/models/modelfake"
)

// judgeTools returns why a server refuses one of the tools of a request, or "". Their schemas are in the first of
// schemas that is there.
func judgeTools(tools json.RawMessage) string {
	var all []struct {
		Name       string
		Parameters json.RawMessage `json:"parameters"`
		Input      json.RawMessage `json:"input_schema"`
		Google     json.RawMessage `json:"parametersJsonSchema"`
		Functions  json.RawMessage `json:"functionDeclarations"`
	}
	if len(tools) == 0 {
		return ""
	}
	if err := json.Unmarshal(tools, &all); err != nil {
		return err.Error()
	}
	for i, t := range all {
		if t.Functions != nil {
			return judgeTools(t.Functions)
		}
		for _, schema := range []json.RawMessage{t.Parameters, t.Input, t.Google} {
			if schema == nil {
				continue
			}
			if bad := modelfake.CheckSchema(schema, t.Google != nil); bad != "" {
				return fmt.Sprintf("tools[%d]: Invalid schema for function '%s': %s", i, t.Name, bad)
			}
		}
	}
	return ""
}
