package chat

import "encoding/json"

// PersonalPage is a part of what is stored about a person.
type PersonalPage struct {
	Section string            // what the records are, such as "messages"
	Records []json.RawMessage // JSON objects
	Next    string            // where the next page begins; empty: this was the last one
}

// PersonalDeletion is what came of a step of the deletion of a person.
type PersonalDeletion struct {
	Deleted map[string]int // how many records of each section were deleted
	More    bool           // there is more to delete
	Open    int            // answers to the person that have not ended yet; their records stay until they have
}
