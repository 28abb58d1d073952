package tests

import (
	"fmt"
	"testing"
	"time"
)

// neighbours are a shell's functions for several graceds in one PID namespace, as
// in a pod with shareProcessNamespace or on a plain host: within runs a command in a
// control group, ask says what `graced health` answers there and what it says.
const neighbours = `
a=$1 b=$2 c=$3
within() { dir=$1; shift; echo 0 >"$dir/cgroup.procs"; exec "$@"; }
up() { until graced health "$1" --listen "$2" 2>/dev/null; do sleep 0.01; done; }
ask() { name=$1 dir=$2; shift 2; said=$( (within "$dir" "$@" graced health ready) 2>&1 ); echo "$name=$? $said"; }
`

// alone lets a shell with these functions run to its end.
func alone(t *testing.T, script string) *running {
	t.Helper()
	sandbox(t)
	a, b, c := newCgroup(t, "freezer"), newCgroup(t, "freezer"), newCgroup(t, "freezer")
	r := start(t, "sh", "-c", neighbours+script, "sh", a.dir, b.dir, c.dir)
	r.exits(t, 0, 30*time.Second)
	return r
}

// told checks what was answered in each place.
func (r *running) told(t *testing.T, want map[string]string) {
	t.Helper()
	for name, answer := range want {
		if r.stdout.count(fmt.Sprintf("^%s=%s", name, answer)) != 1 {
			t.Errorf("in %s it is not %q:\n%s", name, answer, r.stdout.text())
		}
	}
}

// Of several graceds the one in the control group of whoever asks is meant: that is
// the container's own. Nobody else's is asked where there is none.
func TestHealthAsksTheGracedOfItsOwnGroup(t *testing.T) {
	r := alone(t, `
		(within $a graced --listen 127.0.0.1:9101 --ready started -- sleep 60) &
		(within $b graced --listen 127.0.0.1:9102 -- sleep 60) &
		up ready 127.0.0.1:9101; up live 127.0.0.1:9102
		ask a $a; ask b $b; ask neither $c
	`)
	r.told(t, map[string]string{
		"a": "0 $", "b": "1 graced: /readyz: starting: no listening port",
		"neither": "1 graced: no graced answers at :8990: .*; set --listen or GRACED_LISTEN",
	})
}

// PID 1 may be another container's, with docker run --pid container:NAME.
func TestHealthAsksItsOwnGroupBeforePID1(t *testing.T) {
	sandbox(t)
	a, b, c := newCgroup(t, "freezer"), newCgroup(t, "freezer"), newCgroup(t, "freezer")
	r := setup{enter: in(a)}.start(t, "graced", "--ready", "started", "--", "sh", "-c", neighbours+`
		(within $b graced --listen 127.0.0.1:9102 -- sleep 60) &
		up ready 127.0.0.1:8990; up live 127.0.0.1:9102
		ask a $a; ask b $b; ask neither $c
	`, "sh", a.dir, b.dir, c.dir)
	r.exits(t, 0, 30*time.Second)
	// a container whose program has moved into a group of its own has its PID 1
	r.told(t, map[string]string{"a": "0 $", "b": "1 graced: /readyz: starting: no listening port", "neither": "0 $"})
}

// On a plain host several can be in one group. Which one is meant has to be said
// then; one that another has started is not meant.
func TestHealthOfSeveralInOneGroup(t *testing.T) {
	r := alone(t, `
		(within $a graced --listen 127.0.0.1:9101 --ready started -- graced --listen 127.0.0.1:9102 -- sleep 60) &
		up ready 127.0.0.1:9101; up live 127.0.0.1:9102
		ask outer $a
		(within $a graced --listen 127.0.0.1:9103 -- sleep 60) &
		up live 127.0.0.1:9103
		ask several $a; ask flag $a env GRACED_LISTEN=127.0.0.1:9103
	`)
	r.told(t, map[string]string{
		"outer":   "0 $",
		"several": `1 graced: several run here: [0-9]+ \(--listen 127.0.0.1:9101\), [0-9]+ \(--listen 127.0.0.1:9103\); set --listen or GRACED_LISTEN to that of the one you mean`,
		"flag":    "1 graced: /readyz: starting: no listening port",
	})
}
