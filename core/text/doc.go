// Package text cuts, cleans and quotes text, and estimates its number of tokens. All external text passes through it
// before it is stored, shown or put into a prompt. All functions are pure.
package text
