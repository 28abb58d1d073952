package config

import (
	"cmp"
	"strconv"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// reader turns an evaluated attribute into a Go value. It tells the mistakes
// itself, where they stand; ok says that there are none.
type reader func(f *field) (v any, ok bool)

// field is an attribute under way.
type field struct {
	d      *decoder
	name   string // with its blocks: process.web.dir
	attr   *attribute
	expr   hcl.Expression
	value  cty.Value // known and not null
	hidden bool      // env or file had a part in it
}

// wrong tells mistakes at a place of the value. What stands in the file is
// repeated; what was read from outside of it is not.
func (f *field) wrong(at hcl.Range, mistakes ...mistake) {
	for _, m := range mistakes {
		if f.hidden {
			m = mistake{wrong: "is not right; its value is not shown, since env or file had a part in it"}
		}
		detail := "For example: " + f.attr.name + " = " + cmp.Or(m.right, f.attr.example)
		if m.leave {
			detail = "Leave it out."
		}
		f.d.problem(f.name, at, m.wrong, detail)
	}
}

// wrongType tells that the value has another type than it should.
func (f *field) wrongType(at hcl.Range, v cty.Value, want string) {
	f.wrong(at, mistake{wrong: "is " + describe(v) + ", not " + want})
}

// quoted makes a right value out of the text of one.
func quoted(mistakes []mistake) []mistake {
	for i, m := range mistakes {
		if m.right != "" {
			mistakes[i].right = strconv.Quote(m.right)
		}
	}
	return mistakes
}

// asText reads a string by a parser.
func asText[T any](parse parser[T]) reader {
	return func(f *field) (any, bool) {
		if f.value.Type() != cty.String {
			f.wrongType(f.expr.Range(), f.value, "text in quotes")
			return nil, false
		}
		v, mistakes := parse(f.value.AsString())
		f.wrong(f.expr.Range(), quoted(mistakes)...)
		return v, len(mistakes) == 0
	}
}

// asDuration reads a duration in quotes.
func asDuration(least time.Duration) reader { return withUnit(asText(duration(least))) }

// asDelay reads "auto" or a duration in quotes.
func asDelay() reader { return withUnit(asText(parseDelay)) }

// withUnit tells of a bare number what it lacks.
func withUnit(text reader) reader {
	return func(f *field) (any, bool) {
		if f.value.Type() != cty.Number {
			return text(f)
		}
		number := numberText(f.value)
		f.wrong(f.expr.Range(), quoted([]mistake{{
			wrong: "is the number " + number + ": add a unit (ms, s, m or h) and quotes",
			right: checked(number + "s"),
		}})...)
		return nil, false
	}
}

// asName reads a name in quotes or a number without.
func asName(parse parser[string]) reader {
	text := asText(parse)
	return func(f *field) (any, bool) {
		if f.value.Type() == cty.Number {
			f.value = cty.StringVal(numberText(f.value))
		}
		return text(f)
	}
}

// asBool reads true or false.
func asBool(f *field) (any, bool) {
	if f.value.Type() != cty.Bool {
		f.wrongType(f.expr.Range(), f.value, "true or false")
		return nil, false
	}
	return f.value.True(), true
}

// asNumber reads a whole number.
func asNumber(least, most int) reader {
	return func(f *field) (any, bool) {
		n, mistakes := wholeNumber(f.value, least, most)
		f.wrong(f.expr.Range(), mistakes...)
		return n, len(mistakes) == 0
	}
}

// wholeNumber reads a number between two.
func wholeNumber(v cty.Value, least, most int) (int, []mistake) {
	between := "a whole number from " + strconv.Itoa(least) + " to " + strconv.Itoa(most)
	if v.Type() != cty.Number {
		return 0, wrong("is " + describe(v) + ", not " + between)
	}
	n, err := strconv.Atoi(numberText(v))
	if err != nil || n < least || n > most {
		return 0, wrong("is " + numberText(v) + ", not " + between)
	}
	return n, nil
}

// asList reads a list of strings by a parser.
func asList[T any](parse parser[T]) reader {
	return asListOf(parse, func([]T) []mistake { return nil })
}

// asListOf is asList with a check of the whole.
func asListOf[T any](parse parser[T], check func([]T) []mistake) reader {
	return func(f *field) (any, bool) {
		var list []T
		ok := f.each("text in quotes", func(v cty.Value, at hcl.Range) bool {
			if v.Type() != cty.String {
				f.wrongType(at, v, "text in quotes")
				return false
			}
			one, mistakes := parse(v.AsString())
			for i, m := range quoted(mistakes) {
				if m.right != "" {
					mistakes[i].right = "[" + m.right + "]"
				}
			}
			f.wrong(at, mistakes...)
			list = append(list, one)
			return len(mistakes) == 0
		})
		if !ok {
			return nil, false
		}
		mistakes := check(list)
		f.wrong(f.expr.Range(), mistakes...)
		return list, len(mistakes) == 0
	}
}

// asCommand reads a program and its arguments.
func asCommand() reader {
	list := asListOf(parseWord, func(words []string) []mistake {
		if words[0] == "" {
			return wrong("begins with an empty word")
		}
		return nil
	})
	return func(f *field) (any, bool) {
		if f.value.Type() == cty.String {
			f.wrong(f.expr.Range(), mistake{wrong: "is one text, not a list of words; no shell splits it"})
			return nil, false
		}
		return list(f)
	}
}

// asPorts reads a list of TCP ports.
func asPorts() reader {
	return func(f *field) (any, bool) {
		var ports []uint16
		ok := f.each("ports", func(v cty.Value, at hcl.Range) bool {
			n, mistakes := wholeNumber(v, 1, 65535)
			f.wrong(at, mistakes...)
			ports = append(ports, uint16(n))
			return len(mistakes) == 0
		})
		return ports, ok
	}
}

// each calls do for the elements of a list that is not empty, and says
// whether all were right.
func (f *field) each(what string, do func(v cty.Value, at hcl.Range) bool) bool {
	if t := f.value.Type(); !t.IsTupleType() && !t.IsListType() && !t.IsSetType() {
		f.wrongType(f.expr.Range(), f.value, "a list of "+what)
		return false
	}
	elements := f.value.AsValueSlice()
	if len(elements) == 0 {
		f.wrong(f.expr.Range(), mistake{wrong: "is an empty list; leave it out"})
		return false
	}
	// Where the list is written out, each element has a place of its own.
	written, diags := hcl.ExprList(f.expr)
	right := true
	for i, v := range elements {
		at := f.expr.Range()
		if !diags.HasErrors() && len(written) == len(elements) {
			at = written[i].Range()
		}
		if v.IsNull() || !v.IsKnown() {
			f.wrong(at, mistake{wrong: "has an element that is null"})
			right = false
		} else if !do(v, at) {
			right = false
		}
	}
	return right
}
