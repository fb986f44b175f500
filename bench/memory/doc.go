// Package memory measures the search for earlier messages in large stores. It has only tests and benchmarks.
package memory
