// Package prompt makes what models are asked: templates filled with the turn, the conversation and what providers return, cut to what fits. What
// people, files and pages say stands in it as quoted data.
package prompt
