package config

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"graced/internal/plan"
)

// flagValue makes a row a flag.Value. It only notes what was typed: the texts
// are read once it is known which of them count.
type flagValue struct {
	l   *loader
	row *row
	at  *int
}

func (v flagValue) String() string { return "" }

func (v flagValue) Set(text string) error {
	before := v.row.flag
	now := &given{text: text, from: plan.Source{Kind: plan.ByFlag, Name: "--" + v.row.name}, at: *v.at}
	if before != nil && v.row.many {
		now.text, now.at = before.text+","+text, before.at
	} else if before != nil {
		v.l.typed(now.from.Name, *v.at, "is given twice: "+quote(before.text)+", then "+quote(text), "give it once")
	}
	v.row.flag = now
	return nil
}

// readFlags splits the arguments into flags and command. What is no flag is
// told, and reading goes on behind it.
func (l *loader) readFlags(extra []func(*flag.FlagSet)) {
	words := l.in.Args
	if i := slices.Index(words, dashes); i >= 0 {
		words, l.command, l.dashes = words[:i], words[i+1:], true
	}
	if len(words) == 0 && len(extra) == 0 {
		return // graced -- COMMAND, the usual start
	}
	at := 0
	set := l.flagSet(&at)
	for _, define := range extra {
		define(set)
	}
	for at < len(words) {
		word := words[at]
		name, joined := flagName(word)
		known := set.Lookup(name)
		switch {
		case name == "h" || name == "help":
			l.problems.help = true
			return
		case name == "" && l.stray(words[at:], at):
			return
		case name == "":
			at++
		case known == nil:
			at += l.unknownFlag(set, words[at:], at)
		case !joined && !isBool(known) && (at+1 == len(words) || l.isFlag(set, words[at+1])):
			l.typed(dashed(name), at, "has no value", l.exampleOf(known.Name))
			at++
		default:
			n := 1
			if !joined && !isBool(known) {
				n = 2
			}
			if err := set.Parse(words[at : at+n]); err != nil {
				l.typed(dashed(name), at, err.Error(), "")
			}
			at += n
		}
	}
}

// flagSet has the table as flags. at is where reading is.
func (l *loader) flagSet(at *int) *flag.FlagSet {
	set := flag.NewFlagSet("graced", flag.ContinueOnError)
	set.SetOutput(io.Discard) // problems are told by Problems.Write
	for i := range l.rows {
		r := &l.rows[i]
		v := flagValue{l, r, at}
		set.Var(v, r.name, "")
		if r.short != "" {
			set.Var(v, r.short, "")
		}
	}
	return set
}

// flagName takes the name out of --name, -name or --name=value; it is "" for
// a word that is no flag. The flag package has the same rules.
func flagName(word string) (name string, joined bool) {
	name, ok := strings.CutPrefix(word, "-")
	if !ok {
		return "", false
	}
	name = strings.TrimPrefix(name, "-")
	if name, _, joined = strings.Cut(name, "="); strings.HasPrefix(name, "-") {
		return "", false
	}
	return name, joined
}

// isFlag says whether a word that stands where a value should is the next
// flag: no setting has a value that begins with two dashes.
func (l *loader) isFlag(set *flag.FlagSet, word string) bool {
	name, _ := flagName(word)
	return strings.HasPrefix(word, "--") || name != "" && set.Lookup(name) != nil
}

func isBool(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// dashed is a flag as it is typed: -c, --config.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// typed records what is wrong with a word of the command line.
func (l *loader) typed(name string, at int, summary, detail string) {
	l.problems.Add(Problem{Summary: summary, Detail: detail, Source: plan.Source{Kind: plan.ByFlag, Name: name}, at: at})
}

// exampleOf shows the flag with a right value.
func (l *loader) exampleOf(name string) string {
	for i := range l.rows {
		if r := &l.rows[i]; r.name == name || r.short == name {
			return r.asFlag("")
		}
	}
	return ""
}

// stray tells of a word that is neither a flag nor a flag's value. Without a
// "--" it begins the command, and nothing behind it is graced's to read.
func (l *loader) stray(words []string, at int) (end bool) {
	word := words[0]
	if strings.HasPrefix(word, "-") {
		l.typed("", at, quote(word)+" is no flag", "graced run --help lists them")
		return false
	}
	if l.dashes {
		l.typed("", at, "what is "+quote(word)+"? Between the flags and -- stands nothing", "graced run --grace 30s -- "+commandLine(l.command))
		return false
	}
	l.command, l.dashes = words, true
	l.typed("", at, "the command stands behind --", "for example: graced run -- "+commandLine(words))
	return true
}

// unknownFlag tells of a flag that does not exist, and says how many words to
// skip: every flag has a value, so the next word is taken for this one's.
func (l *loader) unknownFlag(set *flag.FlagSet, words []string, at int) (skip int) {
	name, joined := flagName(words[0])
	if isTini(words[0]) {
		return l.tiniFlag(words, at)
	}
	var names []string
	set.VisitAll(func(f *flag.Flag) {
		if len(f.Name) > 1 {
			names = append(names, f.Name)
		}
	})
	detail := "graced run --help lists them"
	if near := nearest(name, names); near != "" {
		detail = "did you mean --" + near + "?"
	}
	l.typed(dashed(name), at, "unknown flag", detail)
	if !joined && len(words) > 1 && !strings.HasPrefix(words[1], "-") && (l.dashes || len(words) > 2) {
		return 2
	}
	return 1
}

// commandLine shows a command as it would be typed into a shell.
func commandLine(command []string) string {
	if len(command) == 0 {
		return "nginx -g 'daemon off;'"
	}
	const most = 8
	if len(command) > most {
		return shellWords(command[:most]) + " …"
	}
	return shellWords(command)
}

// shellWords writes words as a shell takes them.
func shellWords(list []string) string {
	var words []string
	for _, word := range list {
		if word == "" || strings.ContainsAny(word, " \t\n'\"\\$;&|<>()*?[]{}#~`!") {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		if len(word) > shown || strconv.Quote(word) != `"`+word+`"` && strings.ContainsFunc(word, func(r rune) bool { return !strconv.IsPrint(r) }) {
			word = quote(word)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// asFlag shows the row as a flag with a value, or with its example.
func (r *row) asFlag(value string) string {
	if value == "" {
		value = r.example
	}
	return fmt.Sprintf("for example: --%s %s", r.name, value)
}

// asVariable shows the row as a variable with a value, or with its example.
func (r *row) asVariable(value string) string {
	if value == "" {
		value = r.example
	}
	return fmt.Sprintf("for example: %s=%s", variable(r.name), value)
}
