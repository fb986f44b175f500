// Package event defines the events for observers: plugins, metrics and embedding programs. Events carry copies that
// must not be modified.
package event
