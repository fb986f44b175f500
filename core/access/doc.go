// Package access decides who is answered where, from accounts, roles and rooms alone. What a message says never counts.
package access
