package chat

// Said is the id of the memory that holds what the run said.
func (r Run) Said() MemoryID { return MemoryID(r.ID) }
