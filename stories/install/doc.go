// Package install tests the files of a release: it follows the printed ways to install one as a new user would, on a machine
// without Go.
package install
