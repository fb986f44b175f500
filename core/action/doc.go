// Package action defines what plugins provide: actions, providers and evaluators, and the [Call] through which an
// action shows its progress. It does not depend on the runtime.
package action
