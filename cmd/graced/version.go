package main

import (
	"fmt"
	"io"
	"runtime/debug"
	"strings"
)

// version is set at build time: -ldflags "-X main.version=1.2.3". Where it is
// not, see ownVersion.
var version string

// ownVersion is graced's version: what the build has set, or else what Go has
// written into the binary. It is put together when it is asked for; most starts
// do not.
func ownVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unversioned
	}
	return versionOf(info)
}

// unversioned is a build of which nothing is known, such as that of a test.
const unversioned = "dev"

// versionOf is the module's version, which Go makes of the tag or the commit:
// 1.2.3, 0.0.0-20261130005322-5b83045f2c3d+dirty. An older Go has only noted the
// commit.
func versionOf(info *debug.BuildInfo) string {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return strings.TrimPrefix(v, "v")
	}
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "+dirty"
		}
	}
	if revision == "" {
		return unversioned
	}
	return revision + modified
}

const versionUsage = `Usage: graced version

It prints graced's version.
`

func showVersion(args []string, stdout, _ io.Writer) int {
	if helpAsked(args) {
		fmt.Fprint(stdout, versionUsage)
		return 0
	}
	fmt.Fprintln(stdout, "graced", ownVersion())
	return 0
}
