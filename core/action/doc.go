// Package action holds what a plugin brings: actions, providers and evaluators, and the calls of actions with which they show people how they
// fare. Nothing in it knows the runtime.
package action
