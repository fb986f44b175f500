// Package access decides which messages are answered, based on accounts, roles and rooms only, never on a message's
// text.
package access
