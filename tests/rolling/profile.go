package main

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// initProfile is what stands between the platform and the program.
type initProfile struct {
	argv       []string      // {app} is the program's own words
	health     string        // PORT/PATH where readiness is asked
	deregister time.Duration // the platform takes the server out of the balancer so long after the stop began; 0: it does not
}

var inits = map[string]initProfile{
	"bare":      {argv: []string{"{app}"}},
	"tini":      {argv: []string{"tini", "--", "{app}"}},
	"dumb-init": {argv: []string{"dumb-init", "--", "{app}"}},
	// a start script that sleeps on SIGTERM, as a preStop hook does
	"sleep5": {argv: []string{"sh", "{apps}/prestop.sh", "5", "{app}"}},
	// the same where the platform tells the balancer, as Kubernetes does
	"sleep5-told": {argv: []string{"sh", "{apps}/prestop.sh", "5", "{app}"}, deregister: time.Second},
	"graced":      {argv: []string{"{graced}", "--grace", "{grace}", "{options}", "{app}"}, health: "8990/readyz"},
}

// appProfile is a program.
type appProfile struct {
	argv    []string
	config  string   // the template that is filled in for it, in app
	needs   string   // what has to be installed
	static  bool     // serves files: the answer to a POST is not looked at
	server  string   // more words of HAProxy about a server
	unpool  string   // those that keep HAProxy from holding idle connections to a server that is down
	mix     string   // instead of the usual requests
	options []string // graced's flags for it
	graced  []string // what follows graced's flags, instead of -- and argv
}

var apps = map[string]appProfile{
	"python":     {argv: []string{"/usr/bin/python3", "{apps}/legacy.py", "{port}"}},
	"node":       {argv: []string{"node", "{apps}/plain.js", "{port}"}, needs: "node"},
	"nginx":      {argv: []string{"nginx", "-p", "{run}", "-e", "{run}/error.log", "-c", "{run}/nginx.conf", "-g", "daemon off;"}, config: "nginx.conf", static: true},
	"shwrap":     {argv: []string{"sh", "{apps}/wrap.sh", "{apps}/legacy.py", "{port}"}},
	"ignoreterm": {argv: []string{"/usr/bin/python3", "{apps}/legacy.py", "{port}", "--ignore-term"}},
	"httpd":      {argv: []string{"apache2", "-d", "{run}", "-f", "{run}/httpd.conf", "-D", "FOREGROUND"}, config: "httpd.conf", needs: "apache2", static: true},
	"go-drain":   {argv: []string{"{self}", "-listen", ":{port}", "-lameduck", "4s"}},
	"go-naive":   {argv: []string{"{self}", "-listen", ":{port}", "-lameduck", "0s"}},
	"php": {argv: []string{"sh", "{apps}/php.sh", "{run}"}, config: "php.conf", needs: "php-fpm8.2",
		graced: []string{"--config", "{run}/graced.hcl"}},
	"websocket": {argv: []string{"{self}", "-listen", ":{port}"}, options: []string{"--drain", "closed"}, unpool: "pool-max-conn 0",
		mix: "short=50,new=15,slow=7,socket=13,post=15"},
	"h2c": {argv: []string{"{self}", "-listen", ":{port}"}, options: []string{"--drain", "closed"}, server: "proto h2 check-proto h1", unpool: "pool-max-conn 0"},
}

//go:embed app
var embedded embed.FS

// unpackApps writes the programs to a folder of the run's own.
func unpackApps(dir string) error {
	files, err := fs.Sub(embedded, "app")
	if err != nil {
		return err
	}
	return os.CopyFS(dir, files)
}

// prepareServer lays out the folder of one server and says how it is started.
func prepareServer(j *job, dir, apps string) (argv []string, err error) {
	in, ok := inits[j.Spec.Init]
	if !ok {
		return nil, fmt.Errorf("no init %q", j.Spec.Init)
	}
	app, err := j.Spec.app()
	if err != nil {
		return nil, err
	}
	fill := strings.NewReplacer("{port}", fmt.Sprint(appPort), "{apps}", apps, "{run}", dir,
		"{graced}", j.Graced, "{grace}", j.Spec.Grace.String(), "{php-fpm}", "php-fpm8.2")
	www := filepath.Join(dir, "www")
	if err := os.MkdirAll(www, 0o755); err != nil {
		return nil, err
	}
	files := map[string]string{"ok.txt": "ok", "fast.txt": strings.Repeat("x", shortLen), "slow.txt": strings.Repeat("x", fileLen)}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(www, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	if app.config != "" {
		if err := fillIn(fill, filepath.Join(apps, app.config), dir); err != nil {
			return nil, err
		}
	}
	for _, word := range in.argv {
		switch {
		case word == "{options}":
			argv = append(append(argv, app.options...), j.Spec.Options...)
		case word == "{app}" && j.Spec.Init == "graced" && app.graced != nil:
			argv = append(argv, app.graced...)
		case word == "{app}" && j.Spec.Init == "graced":
			argv = append(append(argv, "--"), app.argv...)
		case word == "{app}":
			argv = append(argv, app.argv...)
		default:
			argv = append(argv, word)
		}
	}
	var out []string
	for _, word := range argv {
		if word == "{self}" {
			// this program, as the server that it can be
			out = append(out, "env", stageVar+"=serve", j.Self)
			continue
		}
		out = append(out, fill.Replace(word))
	}
	return out, nil
}

// fillIn fills in a template, or all of a folder.
func fillIn(fill *strings.Replacer, from, dir string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, d.Name()), []byte(fill.Replace(string(text))), 0o644)
	})
}

func (s *Spec) app() (appProfile, error) {
	app, ok := apps[s.App]
	if !ok {
		return app, fmt.Errorf("no app %q", s.App)
	}
	return app, nil
}

// health is where readiness is asked: the init's, if it has one of its own,
// else the program's.
func (s *Spec) health() (port int, path string) {
	if _, err := fmt.Sscanf(inits[s.Init].health, "%d%s", &port, &path); err != nil {
		return appPort, "/healthz"
	}
	return port, path
}

// stopSignal is the platform's.
const stopSignal = syscall.SIGTERM
