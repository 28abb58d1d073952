package main

import (
	"fmt"
	"os/exec"
	"strings"
)

// The run's own network: a bridge with the balancer and the load on it, and a
// pair of virtual interfaces for each container, as Docker has it. A container
// that ends takes its interface along, so that what it had still to deliver is
// lost, and what is sent to it goes nowhere.
const (
	bridge     = "br0"
	labAddr    = "10.213.0.1"
	frontPort  = 8000
	appPort    = 8080
	gracedPort = 8990 // where graced serves readiness by default
)

// containerAddr and containerMAC stay the same from one container to the next:
// the replace is in place.
func containerAddr(index int) string { return fmt.Sprintf("10.213.0.%d", 11+index) }
func containerMAC(index int) string  { return fmt.Sprintf("02:00:0a:d5:00:%02x", 11+index) }

// makeNetwork lays out the network namespace that this process is alone in.
func makeNetwork() error {
	return ip(
		"link set lo up",
		"link add "+bridge+" type bridge",
		"addr add "+labAddr+"/24 dev "+bridge,
		"link set "+bridge+" up",
	)
}

// plug connects the network namespace of a process to the bridge.
func plug(pid, index, generation int) error {
	name := fmt.Sprintf("v%dg%d", index, generation)
	return ip(
		fmt.Sprintf("link add %s type veth peer name eth0 address %s netns %d", name, containerMAC(index), pid),
		fmt.Sprintf("link set %s master %s up", name, bridge),
	)
}

// comeUp gives the container that this process is in its address.
func comeUp(addr string) error {
	return ip(
		"link set lo up",
		"addr add "+addr+"/24 dev eth0",
		"link set eth0 up",
		"route add default via "+labAddr,
	)
}

func ip(commands ...string) error {
	cmd := exec.Command("ip", "-batch", "-")
	cmd.Stdin = strings.NewReader(strings.Join(commands, "\n") + "\n")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ip %q: %w: %s", commands, err, text)
	}
	return nil
}
