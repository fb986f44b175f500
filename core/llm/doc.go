// Package llm defines the input and output of language models, independently of the provider: requests, messages,
// streamed chunks, usage and failures. Models are implemented elsewhere; the core calls them through the small
// interfaces of this package.
package llm
