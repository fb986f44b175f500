// Package stories tests the whole gateway, by subject. Its tests run a gateway with a fake Discord, Telegram and model server
// around it, on a simulated clock, and end by checking the invariants of docs/engineering/invariants.md. The harness is in
// harness_test.go and chat_harness_test.go; docs/engineering/testing.md explains it. real_test.go uses real sockets and a real clock.
package stories
