package chat

// Agent is who answers.
type Agent struct {
	ID     AgentID
	Name   string
	Names  []string // others it is called by in groups; may be empty
	System string   // the system prompt
	// Templates replace those of the plugins and the built-in ones, by [prompt.TemplateName]; may be empty.
	Templates map[string]string
	Character Character
}

// Entity is the agent as an author.
func (a Agent) Entity() EntityID { return EntityID(a.ID) }
