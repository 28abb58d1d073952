package config

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"graced/internal/plan"
)

// Problem is one thing that is wrong with the settings.
type Problem struct {
	// Summary is one line: what is wrong, in words that follow the setting's
	// name (Source.Name), if there is one.
	Summary string
	// Detail is what would be right, with an example.
	Detail string
	// Source is the flag, the variable or the place in the file.
	Source plan.Source
	// Related are other places of the file that have a part in it.
	Related []Related

	at int // the order within the kind of source: the word of a flag, the row of a variable
}

// Related is a place of the file and what stands there.
type Related struct {
	Text   string
	Source plan.Source
}

// title is the Problem's first line: the setting and what is wrong with it.
func (p Problem) title() string {
	if p.Source.Name == "" {
		return p.Summary
	}
	return p.Source.Name + ": " + p.Summary
}

// Problems is everything that is wrong with the settings: first the flags as
// they were typed, then the variables, then the file from its top. It is an error.
type Problems struct {
	list []Problem
	text *text
	help bool
}

// Add appends a problem.
func (p *Problems) Add(problem Problem) { p.list = append(p.list, problem) }

// Len is how many there are.
func (p *Problems) Len() int { return len(p.list) }

// any says whether there is one from a kind of source.
func (p *Problems) any(kind plan.SourceKind) bool {
	return slices.ContainsFunc(p.list, func(one Problem) bool { return one.Source.Kind == kind })
}

// All returns them in order.
func (p *Problems) All() []Problem {
	list := slices.Clone(p.list)
	slices.SortStableFunc(list, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(b.Source.Kind, a.Source.Kind), // ByFlag is the highest
			cmp.Compare(a.at, b.at),
			cmp.Compare(a.Source.Start, b.Source.Start),
		)
	})
	return list
}

// most is how many problems are told. More of them are one and the same, such
// as a file of another program.
const most = 50

// told returns the problems that are told, and the line that says how many
// are not.
func (p *Problems) told() (list []Problem, rest string) {
	list = p.All()
	if n := len(list); n > most {
		return list[:most], fmt.Sprintf("and %d more problems", n-most)
	}
	return list, ""
}

// Error has one line for each problem.
func (p *Problems) Error() string {
	var lines []string
	list, rest := p.told()
	for _, problem := range list {
		line := problem.title()
		if problem.Source.Kind == plan.ByFile {
			line = Where(problem.Source) + ": " + line
		}
		lines = append(lines, line)
	}
	if rest != "" {
		lines = append(lines, rest)
	}
	if len(lines) == 0 && p.help {
		return flag.ErrHelp.Error()
	}
	return strings.Join(lines, "\n")
}

// Is makes errors.Is(problems, flag.ErrHelp) tell that help was asked for.
func (p *Problems) Is(target error) bool { return p.help && target == flag.ErrHelp }

// Write tells the problems to a person. What is wrong with the command line
// or a variable is one line each; what is wrong with the file has its line, its
// column and the text there. Detail is wrapped at width, 0 for never; color is for a terminal.
func (p *Problems) Write(w io.Writer, width int, color bool) error {
	list, rest := p.told()
	for _, problem := range list {
		var err error
		if problem.Source.Kind == plan.ByFile && problem.Source.Line > 0 {
			err = p.text.write(w, problem, width, color)
		} else {
			line := "graced: " + problem.title()
			if problem.Detail != "" {
				line += "; " + problem.Detail
			}
			if line += "\n"; len(problem.Related) > 0 {
				line += "\n"
			}
			_, err = io.WriteString(w, line)
		}
		if err == nil {
			err = p.writeRelated(w, problem.Related, color)
		}
		if err != nil {
			return err
		}
	}
	if rest != "" {
		_, err := io.WriteString(w, "graced: "+rest+"\n")
		return err
	}
	return nil
}

// writeRelated shows the other places of a problem, as many as a person reads.
func (p *Problems) writeRelated(w io.Writer, list []Related, color bool) error {
	const most = 20
	for i, r := range list {
		if i == most {
			_, err := fmt.Fprintf(w, "  and %d more\n\n", len(list)-most)
			return err
		}
		if err := p.text.related(w, r, color); err != nil {
			return err
		}
	}
	return nil
}
