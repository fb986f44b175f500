// Package quota holds calls of models to daily limits: what a call can cost is reserved before it is made and settled afterwards, by person, by
// room and in total.
package quota
