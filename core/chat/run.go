package chat

// Said returns the id of the memory that holds the run's answer.
func (r Run) Said() MemoryID { return MemoryID(r.ID) }
