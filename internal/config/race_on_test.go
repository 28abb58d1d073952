//go:build race

package config

const slower = 10
