// Package replicas plays seeds: each is a story of several gateways on one store, with people who write to them through a
// network that loses, repeats and delays messages, while gateways are cut off, pause, die before or after an effect, and are
// replaced. Afterwards checkers read the log of all effects. It runs on the clock of a testing/synctest bubble.
//
// One seed is played again by
//
//	PARLEY_SEED=7 go test ./sim/replicas -run TestSeed -v
//
// and PARLEY_SEEDS_FOR=10m plays fresh seeds for ten minutes.
package replicas
