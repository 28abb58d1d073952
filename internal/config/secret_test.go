package config

import (
	"fmt"
	"strings"
	"testing"

	"graced/internal/plan"
)

// TestNoValueOfTheEnvironmentIsTold puts a secret into the environment and a file, leads
// it into every attribute in several ways, and looks for it in everything
// that is told.
func TestNoValueOfTheEnvironmentIsTold(t *testing.T) {
	const secret = "hunter2secret"
	ways := []string{
		`env("SECRET")`, `file("secret.txt")`, `"${env("SECRET")}"`, `"x${env("SECRET")}y"`, `upper(env("SECRET"))`,
		`[env("SECRET")]`, `{ (env("SECRET")) = env("SECRET") }`, `{ a = env("SECRET"), (env("SECRET")) = 1, (env("SECRET")) = 2 }`,
		`jsondecode(env("SECRET"))`, `jsondecode("[\"${env("SECRET")}")`, `format("%d", env("SECRET"))`, `format(env("SECRET"), 1)`, `format("%z${env("SECRET")}")`,
		`min(env("SECRET"), 2)`, `coalesce(env("SECRET"))`, `join(env("SECRET"), [env("SECRET"), env("SECRET")])`, `join(1, env("SECRET"))`,
		`{ a = 1 }[env("SECRET")]`, `[1][env("SECRET")]`, `env(env("SECRET"))`, `file(env("SECRET"))`, `lower([env("SECRET")])`,
		`env("SECRET") ? 1 : 2`, `env("SECRET") < 1`, `!env("SECRET")`, `env("SECRET").a`, `jsonencode(env("SECRET"))`, `env("NOT_SET", env("SECRET"))`,
		`true ? env("SECRET") : [1]`, `"${[env("SECRET")]}"`, `env("SECRET", "default", "more")`, `format("%s%s", env("SECRET"), env("NOT_SET"))`,
	}
	schema := newLoader(world()).schema()
	walk(&schema, "", func(path string, a *attribute) {
		for _, way := range ways {
			text := fileWith(path, way)
			in := withFile(text)
			if !strings.Contains(text, "process ") {
				in = withFile(text, "--", "x")
			}
			read := in.ReadFile
			in.ReadFile = func(path string) ([]byte, error) {
				if path == "secret.txt" {
					return []byte(secret + "\n"), nil
				}
				return read(path)
			}
			in.Environ = []string{"SECRET=" + secret}
			c, p := Load(in)
			all := ""
			if p != nil {
				all = told(t, p) + p.Error() + fmt.Sprint(p.All())
			} else {
				for _, o := range c.Sources {
					all += fmt.Sprintln(o.Setting, o.Value, o.From)
				}
				if p, err := plan.New(c.Spec); err == nil {
					all += fmt.Sprintln(c.Values(p))
				}
			}
			if strings.Contains(strings.ToLower(all), secret[:7]) {
				t.Errorf("%s = %s tells the secret:\n%s", path, way, all)
			}
		}
	})
}

// TestSecretsArrive: what is not told is there all the same.
func TestSecretsArrive(t *testing.T) {
	in := withFile("process \"web\" {\n  command = [\"x\", \"${env(\"TOKEN\")}\"]\n  env = { A = env(\"EMPTY\", \"d\"), B = env(\"UNSET\", \"d\") }\n}\nreport {\n  path = env(\"TOKEN\")\n}\n")
	in.Environ = []string{"TOKEN=first", "TOKEN=second", "EMPTY="}
	c := load(t, in)
	p := c.Spec.Processes[0]
	if got := fmt.Sprint(p.Command, p.Env, c.Report.V, origin(c, "report").Value); got != "[x first] [A= B=d]first"+notShown {
		t.Error(got)
	}
}
