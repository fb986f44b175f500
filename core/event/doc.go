// Package event holds what observers are told: plugins, metrics and embedding programs. Events carry copies that nobody changes.
package event
