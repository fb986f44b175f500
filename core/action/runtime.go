package action

import "encoding/json"

// A SchemaCompiler compiles the JSON schema of an object to a check, whose errors name the field and the violation. The
// check is safe for concurrent use.
type SchemaCompiler func(schema json.RawMessage) (check func(params json.RawMessage) error, err error)
