// Package tree tests the repository as a whole: which package imports which, the lengths of files, the links, names and code in
// the docs, the catalog of failures, and the dependencies. Its tests run in the top folder.
package tree
