// Package chat defines the data types that the whole program shares: ids, rooms, messages, people, platform events,
// runs and questions. It contains data and pure functions; storage and transport live in other packages.
package chat
