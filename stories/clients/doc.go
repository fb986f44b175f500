// Package clients tests the gateway with the chat clients that npm publishes: each runs unchanged in Node.js. docs/clients.md has
// the table of their results.
package clients
