// Package record defines the forms in which the SQL stores keep values: JSON columns, times, ids that the stores
// compute, and the lists of columns with the functions that scan them. Both stores use it, so their tables hold the
// same values, rows can be moved from one store to the other, and searches find the same messages in both.
//
// What is stored stays: rows were written by earlier versions, and during a rolling deployment earlier versions read
// the rows of this one. So a form is only ever extended: with JSON fields that can be missing, or with columns that a
// migration adds.
//
// Nothing here has state; all functions are safe for concurrent use.
package record
