package llm

// PastFile is a file that a call has shown. Its content is read from [storage.Files].
type PastFile struct {
	N    int    `json:"n"` // its index among the answer's files, from 0
	Name string `json:"name,omitempty"`
	Type string `json:"type"`
	Size int    `json:"size"` // in bytes
}
