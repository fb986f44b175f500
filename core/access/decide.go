package access

// Decision says whether a message is answered.
type Decision uint8

const (
	No          Decision = iota
	ContextOnly          // not by itself; but it may belong to what its author has just said
	Yes                  // rules alone say so: its turn may be claimed at once
	Maybe                // the model is asked, when the room's turn is its
)
