// Package tests has the end-to-end tests of graced: they run the real, static
// binary as PID 1 of new namespaces around small programs that stand for what
// users wrap, and look at what comes out. Each namespace has a network of its
// own, so that nobody else's connections count.
//
// Read testdata/script first: each script there is one behaviour, in the words
// of a user. What needs more than a script (terminals, thousands of processes,
// measurements) is a Go test; walls_test.go holds the architecture.
//
//	go test ./tests                          the normal run, a few minutes
//	go test -short ./tests                   fewer repetitions
//	GRACED_TEST_LONG=1 go test -timeout 1h ./tests   as often as is promised
//	GRACED_TEST_NO_SKIP=1 go test ./tests    a test that cannot run here fails
//	GRACED_BIN=/path/graced go test ./tests  tests that binary
//	go test -run TestScripts/exit-code ./tests
//
// The tests want root, or user namespaces for everybody; a C compiler for the
// programs in children/c; and, each for one test, tini and nginx. What is
// missing is skipped, and said.
package tests
