// Package docker_test runs graced as what it is made for: PID 1 of a container.
//
// Each test is one everyday use, or one condition that a platform imposes, and
// reads as such: a container is started, something happens to it, and then
// something must be true. What is observed comes from three sides, with one
// clock: what the program announces (see app), graced's own log, and the docker
// command.
//
// The images are made FROM scratch, so no registry is needed. Where a test
// needs programs of a distribution, the machine's own are mounted read-only.
package docker_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience bounds whatever a test waits for, on a machine that does something
// else too. No test waits for so long if all is well.
const patience = 30 * time.Second

// most is how many containers there are at one time.
const most = 3

// run names everything that this run of the tests makes.
var run = "graced-test-" + random()

func random() string {
	b := make([]byte, 4)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, image := range images.made {
		_, _ = docker(context.Background(), "rmi", "--force", image)
	}
	os.Exit(code)
}

// skip skips a test that this machine cannot run, and says so. With
// GRACED_TEST_NO_SKIP=1, where everything has to be there, it fails.
func skip(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv("GRACED_TEST_NO_SKIP") == "1" {
		t.Fatalf("cannot run here, and GRACED_TEST_NO_SKIP=1: %s", reason)
	}
	t.Skipf("SKIPPED: %s", reason)
}

// docker runs the docker command and gives what it prints.
func docker(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 4*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "docker", args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("docker %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(errs.String()))
	}
	return strings.TrimSpace(out.String()), nil
}

// images are made once, when the first test needs them.
var images struct {
	once sync.Once
	err  error
	made []string
}

// Two images of graced (/graced) and the program (/app, and as /opt/bin/java): as
// the README has it, and with what only a Dockerfile can say.
var dockerfiles = map[string]string{
	"plain": `FROM scratch
COPY . /
ENTRYPOINT ["/graced", "--"]
`,
	"whole": `FROM scratch
COPY . /
STOPSIGNAL SIGQUIT
HEALTHCHECK --interval=300ms --timeout=5s --retries=2 CMD ["/graced", "health"]
ENTRYPOINT ["/graced", "--"]
CMD ["/app", "exit", "42"]
`,
}

func image(name string) string { return run + ":" + name }

func makeImages() error {
	if out, err := docker(context.Background(), "version", "--format", "{{.Server.Os}}"); err != nil || out != "linux" {
		return errors.Join(errNoDocker, err)
	}
	dir, err := os.MkdirTemp("", run)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	root := filepath.Join(dir, "root")
	for path, pkg := range map[string]string{"graced": "graced/cmd/graced", "app": "graced/tests/docker/app", "opt/bin/java": "graced/tests/docker/app"} {
		build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(root, path), pkg)
		build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOFLAGS=-buildvcs=false")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
		}
	}
	for name, text := range dockerfiles {
		file := filepath.Join(dir, "Dockerfile."+name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
		images.made = append(images.made, image(name))
		if _, err := docker(context.Background(), "build", "--quiet", "--tag", image(name), "--file", file, root); err != nil {
			return err
		}
	}
	return nil
}

var errNoDocker = errors.New("docker does not answer")

// places are for containers; a test takes what it needs at once, so that no
// two wait for one another.
var places = struct {
	sync.Mutex
	free chan struct{}
}{free: make(chan struct{}, most)}

// inDocker is the first line of every test: it runs beside others, as soon as
// there is room for its containers.
func inDocker(t *testing.T, containers int) {
	t.Helper()
	images.once.Do(func() { images.err = makeImages() })
	switch {
	case errors.Is(images.err, errNoDocker):
		skip(t, images.err.Error())
	case images.err != nil:
		t.Fatal(images.err)
	}
	t.Parallel()
	places.Lock()
	for range containers {
		places.free <- struct{}{}
	}
	places.Unlock()
	t.Cleanup(func() {
		for range containers {
			<-places.free
		}
	})
}

// userland gives the flags that put the machine's own programs into a
// container, and skips the test if one of those that it needs is not there.
func userland(t *testing.T, programs ...string) []string {
	t.Helper()
	if host := os.Getenv("DOCKER_HOST"); host != "" && !strings.HasPrefix(host, "unix://") {
		skip(t, "the programs of this machine cannot be mounted by a docker that runs elsewhere")
	}
	for _, program := range programs {
		if _, err := os.Stat(program); err != nil {
			skip(t, program+" is not installed")
		}
	}
	var flags []string
	for _, dir := range []string{"/bin", "/sbin", "/lib", "/lib64", "/usr"} {
		if _, err := os.Stat(dir); err == nil {
			flags = append(flags, "--volume", dir+":"+dir+":ro")
		}
	}
	return append(flags, "--env", "PATH=/usr/sbin:/usr/bin:/sbin:/bin")
}
