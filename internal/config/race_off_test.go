//go:build !race

package config

// slower is how much more time a test may take under the race detector.
const slower = 1
