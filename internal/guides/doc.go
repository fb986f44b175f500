// Package guides compares the guides for contributors with the code that they show. It has only tests.
package guides
