// Package chat holds what the whole program talks about: ids, rooms, messages, people, what happens on platforms, runs and questions. It holds
// data and pure functions; whoever stores or sends it is elsewhere.
package chat
