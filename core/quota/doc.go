// Package quota enforces daily limits on model calls: the cost of a call is reserved before it and settled after it, by
// person, by room and in total.
package quota
