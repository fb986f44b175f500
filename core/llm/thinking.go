package llm

// Thinking is what people see while a model reasons before it answers.
type Thinking string

// The ways. The empty Thinking is [ThinkingStatus].
const (
	ThinkingOff    Thinking = "off"    // nothing
	ThinkingStatus Thinking = "status" // that it does
	ThinkingFull   Thinking = "full"   // also its reasoning, where that can be collapsed: never in messages
)

// Words returns the words of the configuration.
func (Thinking) Words() []string {
	return []string{string(ThinkingOff), string(ThinkingStatus), string(ThinkingFull)}
}
