// Package stories tests the whole gateway, by subject. A story runs a gateway with a fake Discord, Telegram and model server
// around it, on a simulated clock, and ends by checking the invariants of docs/engineering/invariants.md. It begins with
// story_test.go, and sites_test.go for the chat platforms; real_test.go uses real sockets and a real clock.
package stories
