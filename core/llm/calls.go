package llm

// PastFile is a file that a call has shown. What it holds is read from [core.Files].
type PastFile struct {
	N    int    `json:"n"` // among those of the answer, from 0
	Name string `json:"name,omitempty"`
	Type string `json:"type"`
	Size int    `json:"size"` // bytes
}
