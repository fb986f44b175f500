// Package llm holds what a language model is asked and what it says, whichever provider serves it: requests, messages, streamed chunks,
// usage and failures. Models are implemented elsewhere; the core calls them through the small interfaces of this package.
package llm
