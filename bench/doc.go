// Package bench measures what the gateway costs: see README.md. Its tests without -bench are that what an answer
// costs grows with its length and no faster.
package bench
