package llm

// RemoteCall is one piece of a tool call that the model's own side makes, such as an external agent with tools of its own.
// The runtime shows it and never makes it. Its pieces come in this order: the first one, parameters, Running, Ended.
type RemoteCall struct {
	ID         string // the same in every piece of the call, and unique within the answer
	Name       string // in the first piece
	Parameters string // the next piece, of JSON
	Running    bool   // the parameters are complete
	Ended      bool
	Result     string // with Ended
	Error      string // with Ended: why it failed, for the record; empty if it succeeded
}
