// Package bench measures what the gateway costs: see README.md. Its only test without -bench is that the cost of an
// answer grows with its length and no faster.
package bench
