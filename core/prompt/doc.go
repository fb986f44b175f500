// Package prompt builds the input of models: templates filled with the turn, the conversation and the results of
// providers, trimmed to the token budget. Content of users, files and web pages is quoted as data.
package prompt
