package chat

// Agent is the identity and configuration of the agent.
type Agent struct {
	ID     AgentID
	Name   string
	Names  []string // other names that address it in groups; can be empty
	System string   // the system prompt
	// Templates override those of the plugins and the built-in ones, by [prompt.TemplateName]; can be empty.
	Templates map[string]string
	Character Character
}

// Entity returns the agent's id as an author.
func (a Agent) Entity() EntityID { return EntityID(a.ID) }
