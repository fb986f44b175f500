// Package pacing measures how old the text is that readers see. It has only tests.
package pacing
