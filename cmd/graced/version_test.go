package main

import (
	"runtime/debug"
	"testing"
)

// TestVersion: the version is the build's, the module's or the commit's.
func TestVersion(t *testing.T) {
	of := func(main string, settings ...debug.BuildSetting) string {
		return versionOf(&debug.BuildInfo{Main: debug.Module{Version: main}, Settings: settings})
	}
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "5b83045f2c3d7a1b9e8f00112233445566778899"}
	clean, dirty := debug.BuildSetting{Key: "vcs.modified", Value: "false"}, debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for _, tt := range []struct{ got, want string }{
		{of("v1.2.3", commit, clean), "1.2.3"},
		{of("v0.0.0-20261130005322-5b83045f2c3d+dirty", commit, dirty), "0.0.0-20261130005322-5b83045f2c3d+dirty"},
		{of("(devel)", commit, clean), "5b83045f2c3d"},
		{of("(devel)", dirty, commit), "5b83045f2c3d+dirty"},
		{of("", commit), "5b83045f2c3d"},
		{of("(devel)", debug.BuildSetting{Key: "vcs.revision", Value: "12ab"}), "12ab"},
		{of("(devel)", dirty), "dev"},
		{of(""), "dev"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s, want %s", tt.got, tt.want)
		}
	}
	call("version").want(t, 0, "graced "+ownVersion()+"\n", "")
	defer func(before string) { version = before }(version)
	version = "1.2.3" // as by -ldflags "-X main.version=1.2.3"
	call("version").want(t, 0, "graced 1.2.3\n", "")
	call("--version").want(t, 0, "graced 1.2.3\n", "")
}
