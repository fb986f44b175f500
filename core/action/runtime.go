package action

import "encoding/json"

// SchemaCompiler turns a JSON schema of an object into a check that names the field and the reason of what is wrong. The
// check is safe for concurrent use.
type SchemaCompiler func(schema json.RawMessage) (check func(params json.RawMessage) error, err error)
