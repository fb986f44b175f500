// Package quota computes the cost of model calls in US dollars, and enforces daily limits on them: the cost of a call is reserved
// before it and settled after it, by person, by room and in total.
package quota
