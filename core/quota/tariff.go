package quota

// Tariff is what a model is called in totals, and what its calls cost.
type Tariff struct {
	Name  string // such as openai/gpt-4o-mini; empty: not listed
	Price Price
	Known bool // the price is known
}

// Tariffs are the tariffs of the models of a [parley/core/llm.Models].
type Tariffs struct {
	Chat                                           map[string]Tariff // by the names of those that can answer
	Small, Vision, Transcription, Image, Embedding Tariff
}
