// Package prompt builds the input of models: templates filled with the turn, the conversation and the results of
// providers, trimmed to the token budget. Content of users, files and web pages is quoted as data.
//
// A [Composer] is made once, and a [Builder] for each turn. Natively, [Builder.Request] returns separate messages and
// tools; [Builder.Prompt] returns a template as one text, for the text format and for the small questions.
//
// Two rules shape the prompts. What stays the same comes first, and history is dropped in large steps, so that the
// prompts of consecutive turns begin alike and the provider's cache applies. And nothing that others wrote can look
// like a part of the prompt: the tags that delimit its parts are escaped in all values, see guard. That protects the
// structure of the prompt; it does not make a model immune to instructions in the text.
package prompt
