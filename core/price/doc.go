// Package price computes what calls of models cost, in US dollars. Amounts are whole numbers: sums are exact.
package price
