// Package text cuts, cleans and quotes text, and estimates how many tokens it has. Everything that comes from outside passes through it before it
// is stored, shown or put into a prompt. All functions are pure.
package text
