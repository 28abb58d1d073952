package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"graced/internal/config"
	"graced/internal/manifest"
	"graced/internal/plan"
)

// settings are what a platform has to agree with.
func settings(cfg *config.Config, p *plan.Plan) manifest.Settings {
	s := manifest.Settings{Plan: p, Ready: cfg.ReadyPaths, Live: cfg.LivePaths, Startup: cfg.StartupPaths}
	for _, o := range cfg.Sources {
		if o.From.Kind == plan.ByFlag || o.From.Kind == plan.ByEnv {
			s.Variables = append(s.Variables, manifest.Variable{Name: o.Variable(), Value: o.Value})
		}
	}
	if cfg.Listen.V != config.Off {
		if _, port, err := net.SplitHostPort(cfg.Listen.V); err == nil {
			s.Port, _ = strconv.Atoi(port)
		}
	}
	return s
}

// against checks a platform's description. Each container's own flags and
// variables count, under those that were given here.
func against(file string, args []string, stdout, stderr io.Writer) int {
	name, data, err := readManifest(file)
	if err != nil {
		fmt.Fprintf(stderr, "graced: --against: %s cannot be read: %v\n", name, err)
		return codeUnreadable
	}
	own, program := args, []string(nil)
	if i := slices.Index(args, "--"); i >= 0 {
		own, program = args[:i], args[i+1:]
	}
	findings, err := manifest.Check(name, data, func(c manifest.Container) (manifest.Settings, error) {
		var flags planFlags
		argv := slices.Concat(given(c.Args, own), own)
		if len(program) > 0 {
			c.Program = program
		}
		if len(c.Program) > 0 {
			argv = slices.Concat(argv, []string{"--"}, c.Program)
		}
		in := config.Input{Args: argv, Environ: c.Env, CommandOptional: true, Elsewhere: true,
			Exists: func(string) bool { return false }}
		if !slices.ContainsFunc(in.Args, func(a string) bool { return strings.Contains(a, "-platform") }) {
			in.Environ = append(slices.Clone(c.Env), "GRACED_PLATFORM="+c.Platform)
		}
		cfg, problems := config.Load(in, flags.define)
		if cfg == nil {
			return manifest.Settings{}, problems
		}
		p, err := plan.New(cfg.Spec)
		if err != nil {
			return settings(cfg, nil), err
		}
		return settings(cfg, p), nil
	})
	if err != nil {
		fmt.Fprintf(stderr, "graced: --against: %v\n", err)
		return codeUnreadable
	}
	for _, f := range findings {
		fmt.Fprintln(stdout, f)
	}
	if !manifest.Fits(findings) {
		return 1
	}
	if len(findings) == 0 {
		fmt.Fprintf(stdout, "%s: fits\n", name)
	}
	return 0
}

// codeUnreadable: the file of --against is none that graced understands.
const codeUnreadable = 2

// readManifest reads a platform's description; - is standard input, which may be
// a pipe. Any other file has to be a regular one: opening a FIFO would wait for
// whoever writes it.
func readManifest(file string) (name string, data []byte, err error) {
	if file != "-" {
		data, err = config.ReadUpTo(file, manifest.MaxFile)
		return file, data, bare(err)
	}
	data, err = io.ReadAll(io.LimitReader(os.Stdin, manifest.MaxFile+1))
	return "standard input", data, err
}

// bare is an error of the file system without the path, which stands before it.
func bare(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// given are the flags of a container that are not given here too; a flag that
// is there twice would be an error.
func given(container, own []string) []string {
	name := func(arg string) string {
		n, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if n == "c" {
			return "config"
		}
		return n
	}
	var kept []string
	for i := 0; i < len(container); i++ {
		arg := container[i]
		overruled := strings.HasPrefix(arg, "-") && slices.ContainsFunc(own, func(o string) bool { return strings.HasPrefix(o, "-") && name(o) == name(arg) })
		value := !strings.Contains(arg, "=") && i+1 < len(container)
		if !overruled {
			kept = append(kept, arg)
			if value {
				kept = append(kept, container[i+1])
			}
		}
		if value {
			i++
		}
	}
	return kept
}
