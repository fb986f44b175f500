// Package record has the forms in which SQL stores keep values. They are the same in every store, so that rows can be moved
// from one to another. What is stored, stays: an older version wrote it.
package record
