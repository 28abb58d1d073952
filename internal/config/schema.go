package config

import (
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"

	"graced/internal/plan"
	"graced/signals"
)

// block is what a kind of block may have. The schema is the contract's
// section 4 as data; the decoder, the messages and the reference of the file
// all come from it.
type block struct {
	name   string
	label  string // what its label is; "": it has none
	many   bool   // it may stand there more than once
	unique bool   // and then no label twice
	check  func(label string) []mistake
	attrs  []attribute
	blocks []block
}

// attribute is a setting in a block.
type attribute struct {
	name     string
	example  string // a right value, as it stands in the file
	without  string // what is in force where nobody sets it, of those without a flag; "": nothing is
	required bool
	read     reader
}

// none is in force where there is nothing unless somebody says so.
const none = "none"

// The least of the file's other durations. A probe more often than every
// 10ms would be a load of its own.
const (
	leastEvery = 10 * time.Millisecond
	leastTime  = time.Millisecond
)

var (
	starts  = []string{"never", "failure", "always"}
	outputs = []string{"inherit", "prefix"}
	methods = []string{"GET", "POST", "PUT", "PATCH", "DELETE"}
	probed  = []string{"ready", "live", "startup"}
)

// schema is the whole file.
func (l *loader) schema() block {
	return block{
		attrs: []attribute{
			{name: "platform", example: `"kubernetes"`, read: asText(oneOf(platformNames()))},
			{name: "grace", example: `"30s"`, read: asDuration(leastGrace)},
			{name: "margin", example: `"2s"`, read: asDuration(leastMargin)},
			{name: "grace_spent", example: `"5s"`, read: asDuration(0)},
		},
		blocks: []block{
			l.shutdownSchema(),
			l.processSchema(),
			{name: "hook", label: "name", many: true, unique: true, check: checkLabel, attrs: []attribute{
				{name: "at", example: `"post_stop"`, required: true, read: asText(oneOf(plan.Points))},
				{name: "command", example: `["./flush"]`, required: true, read: asCommand()},
				{name: "timeout", example: `"10s"`, required: true, read: asDuration(leastTime)},
			}},
			{name: "announce", label: "name", many: true, unique: true, check: checkLabel, attrs: []attribute{
				{name: "http", example: `"https://lb.internal/v1/pools/prod"`, read: asText(parseURL)},
				{name: "file", example: `"/var/run/draining"`, read: asText(parsePath)},
				{name: "agent", example: `"127.0.0.1:8991"`, read: asText(parseDial)},
				{name: "method", example: `"PATCH"`, read: asText(oneOf(methods))},
				{name: "headers", example: `{ Authorization = "Bearer ${env("LB_TOKEN")}" }`, read: asMap(isText, addHeader)},
				{name: "body", example: `jsonencode({ state = "draining" })`, read: asText(parseAny)},
				{name: "retries", example: `3`, read: asNumber(0, 100)},
			}},
			{name: "http", attrs: []attribute{
				{name: "listen", example: `":8990"`, read: asText(parseListen)},
				{name: "ready", example: `["/readyz"]`, without: "/readyz, /healthz", read: asList(parseURLPath)},
				{name: "live", example: `["/livez"]`, without: "/livez", read: asList(parseURLPath)},
				{name: "startup", example: `["/startupz"]`, without: "/startupz", read: asList(parseURLPath)},
			}},
			{name: "metrics", attrs: []attribute{
				{name: "path", example: `"/metrics"`, without: "/metrics", read: asText(parseOptionalURLPath)},
				{name: "textfile", example: `"/var/lib/node_exporter/graced.prom"`, without: none, read: asText(parseOptionalPath)},
				{name: "push", example: `"http://pushgateway:9091"`, without: none, read: asText(l.parsePush)},
			}},
			{name: "control", attrs: []attribute{
				{name: "socket", example: `"auto"`, read: asText(l.parseSocket)},
			}},
			{name: "report", attrs: []attribute{
				{name: "path", example: `"/dev/termination-log"`, read: asText(parseOptionalPath)},
			}},
			{name: "log", attrs: []attribute{
				{name: "format", example: `"json"`, read: asText(oneOf(logFormats))},
				{name: "level", example: `"info"`, read: asText(parseLevel)},
			}},
			{name: "exit", attrs: []attribute{
				{name: "codes", example: `{ "143" = 0, "stopped" = 0 }`, read: asMap(isNumeric, addExitCode)},
			}},
		},
	}
}

func (l *loader) shutdownSchema() block {
	return block{name: "shutdown",
		attrs: []attribute{
			{name: "signals", example: `["SIGTERM", "SIGINT"]`, read: asListOf(parseStop, checkStops)},
			{name: "repeat", example: `"ignore"`, read: asText(oneOf(plan.Repeats))},
			{name: "delay", example: `"5s"`, read: asDelay()},
			{name: "cleanup", example: `"2s"`, read: asDuration(leastCleanup)},
		},
		blocks: []block{{name: "drain", attrs: []attribute{
			{name: "until", example: `"idle"`, read: asText(oneOf(plan.Drains))},
			{name: "max", example: `"10s"`, read: asDuration(leastDrain)},
			{name: "quiet", example: `"2s"`, without: short(plan.DefaultQuiet), read: asDuration(0)},
			{name: "unsure", example: `"5s"`, without: short(plan.DefaultUnsure), read: asDuration(0)},
			{name: "ports", example: `[8080]`, without: "every port that the processes listen on", read: asPorts()},
		}}},
	}
}

func (l *loader) processSchema() block {
	return block{name: "process", label: "name", many: true, unique: true, check: checkLabel,
		attrs: []attribute{
			{name: "command", example: `["nginx", "-g", "daemon off;"]`, without: "what stands behind --", read: asCommand()},
			{name: "after", example: `["php"]`, without: none, read: asList(parseName)},
			{name: "main", example: `true`, without: "true for the last process", read: asBool},
			{name: "env", example: `{ TZ = "UTC" }`, without: none, read: asMap(isPlain, addEnv)},
			{name: "dir", example: `"/srv"`, without: "graced's own", read: asText(parseFolder)},
			{name: "user", example: `"www-data"`, read: asName(l.parseUser)},
			{name: "group", example: `"www-data"`, without: "the user's", read: asName(l.parseGroup)},
			{name: "target", example: `"process"`, read: asText(oneOf(plan.Targets))},
			{name: "rewrite", example: `{ USR1 = "HUP", USR2 = "" }`, read: asMap(isText, func(r signals.Rewrite, from, to string) (signals.Rewrite, []mistake) {
				if r == nil {
					r = signals.Rewrite{}
				}
				return r, addRewrite(r, from, to)
			})},
			{name: "output", example: `"inherit"`, without: outputs[0], read: asText(l.parseOutput)},
		},
		blocks: []block{
			{name: "stop", label: "signal", many: true, check: func(label string) []mistake {
				_, mistakes := parseRungSignal(label)
				return mistakes
			}, attrs: []attribute{
				{name: "wait", example: `"8s"`, read: asDuration(shortestRung)},
			}},
			{name: "restart", attrs: []attribute{
				{name: "when", example: `"failure"`, without: starts[0], read: asText(oneOf(starts))},
				{name: "backoff", example: `"100ms"`, read: asDuration(leastTime)},
				{name: "max", example: `"30s"`, read: asDuration(leastTime)},
				{name: "limit", example: `5`, read: asNumber(1, 1_000_000)},
				{name: "within", example: `"1m"`, read: asDuration(leastTime)},
			}},
			{name: "probe", label: "kind", many: true, unique: true, check: func(label string) []mistake {
				_, mistakes := oneOf(probed)(label)
				return mistakes
			}, attrs: []attribute{
				{name: "http", example: `"http://127.0.0.1:80/ping"`, read: asText(parseURL)},
				{name: "tcp", example: `"127.0.0.1:80"`, read: asText(parseDial)},
				{name: "exec", example: `["/bin/app-started"]`, read: asCommand()},
				{name: "grpc", example: `"127.0.0.1:9000"`, read: asText(parseDial)},
				{name: "file", example: `"/run/app.ready"`, read: asText(parsePath)},
				{name: "notify", example: `true`, read: asBool},
				{name: "listening", example: `true`, read: asBool},
				{name: "started", example: `true`, read: asBool},
				{name: "every", example: `"1s"`, read: asDuration(leastEvery)},
				{name: "timeout", example: `"500ms"`, read: asDuration(leastTime)},
				{name: "rise", example: `1`, read: asNumber(1, 1000)},
				{name: "fall", example: `3`, read: asNumber(1, 1000)},
			}},
		},
	}
}

// body is the schema in HCL's terms. That an attribute is required is left to
// the decoder, which can show an example.
func (b *block) body() *hcl.BodySchema {
	s := &hcl.BodySchema{}
	for _, a := range b.attrs {
		s.Attributes = append(s.Attributes, hcl.AttributeSchema{Name: a.name})
	}
	for _, inner := range b.blocks {
		header := hcl.BlockHeaderSchema{Type: inner.name}
		if inner.label != "" {
			header.LabelNames = []string{inner.label}
		}
		s.Blocks = append(s.Blocks, header)
	}
	return s
}

// names lists the attributes and blocks of a block.
func (b *block) names() []string {
	var names []string
	for _, a := range b.attrs {
		names = append(names, a.name)
	}
	for _, inner := range b.blocks {
		names = append(names, inner.name)
	}
	return names
}

// has says whether there is an attribute or block of that name.
func (b *block) has(name string) bool { return slices.Contains(b.names(), name) }

// home finds the block that has an attribute or block of that name. path is
// b's own.
func (b *block) home(name, path string) string {
	for i := range b.blocks {
		inner := &b.blocks[i]
		if inner.has(name) {
			return dotted(path, inner.name)
		}
		if home := inner.home(name, dotted(path, inner.name)); home != "" {
			return home
		}
	}
	return ""
}
